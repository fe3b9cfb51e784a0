"""The engine: rules, a mode and a place in, decisions out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caliban_common.permission import Action, Decision, PermissionMode
from caliban_common.tool import ToolSpec
from caliban_permissions.calls import PathSubject
from caliban_permissions.evaluate import RuleChain
from caliban_permissions.explain import Explanation, parts_of
from caliban_permissions.gate import refused_text
from caliban_permissions.judge import judge_call
from caliban_permissions.modes import ModeVerdict, apply_mode, plan_refusal
from caliban_permissions.outcome import HumanOnly, Outcome, refusal
from caliban_permissions.paths import PathContext, resolve
from caliban_permissions.remedy import headless_reason
from caliban_permissions.rule import RuleSet
from caliban_permissions.suggest import suggest


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Engine:
    """Decides tool calls. Immutable: another mode or another rule is another engine.

    `workspace` is what relative paths of file tools mean, `cwd` (the workspace unless given) what they mean
    in commands. A face without a person is not `interactive`: its decisions are never "ask". `auto_allow` is
    `--auto-allow`: the mode dontAsk for the run. `roots` are further directories that count as the
    workspace. `sandboxed` promises that every Bash call runs in the full sandbox and that the user wants it
    unasked there.
    """

    def __init__(  # noqa: PLR0913 - the one place where everything a decision depends on comes together
        self,
        rules: RuleSet,
        *,
        mode: PermissionMode,
        workspace: Path,
        cwd: Path | None = None,
        interactive: bool,
        auto_allow: bool = False,
        clock: Callable[[], datetime] = _utc_now,
        home: Path | None = None,
        roots: tuple[Path, ...] = (),
        sandboxed: bool = False,
    ) -> None:
        self.rules = rules
        self.mode: PermissionMode = (
            "dontAsk" if auto_allow and mode in ("default", "acceptEdits", "auto") else mode
        )
        self.interactive = interactive
        self._auto_allow = auto_allow
        self._clock = clock
        self._place = PathContext.of(workspace, cwd, home or Path.home(), roots)
        self._book = RuleChain(rules, self._place)
        self._policy = RuleChain(RuleSet(managed=rules.managed), self._place)
        self._sandboxed = sandboxed

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The final verdict for this face; without a person an ask is a deny that says what would help."""
        outcome, verdict = self._verdict(tool, args)
        if verdict.action == "ask" and not self.interactive:
            suggestions = suggest(tool, args, self._place, outcome)
            reason = headless_reason(tool, outcome, suggestions)
            return Decision(action="deny", reason=reason, rule=outcome.rule)
        return Decision(action=verdict.action, reason=verdict.reason, rule=outcome.rule)

    def explain(self, tool: ToolSpec, args: Mapping[str, Any]) -> Explanation:
        """Everything behind the verdict, before interactivity."""
        outcome, verdict = self._verdict(tool, args)
        return Explanation(
            verdict=verdict.action,
            reason=verdict.reason or verdict.note,
            rule=outcome.rule,
            mode=self.mode,
            parts=parts_of(outcome),
            opaque=outcome.opaque,
            person=tuple(floor.text for floor in outcome.floors if floor.kind != "outside"),
            suggestions=suggest(tool, args, self._place, outcome) if verdict.action == "ask" else (),
            layers=(self._policy if self.mode == "disabled" else self._book).layers(),
        )

    def suggest(self, tool: ToolSpec, args: Mapping[str, Any]) -> tuple[str, ...]:
        """The patterns that "always allow" would write for this call; none where no rule should last."""
        return suggest(tool, args, self._place, self._verdict(tool, args)[0])

    def may_read(self, path: str) -> bool:
        """Whether no deny or ask rule for Read means this path: what search tools may show of it."""
        names = resolve(path, self._place)
        if names.refused is not None:
            return False
        if not self._book.guards_reads:
            return True
        hit = self._book.decide(PathSubject(("Read",), names), self._clock())
        return hit.action == "allow" or not hit.explicit

    def offers(self, tool: ToolSpec) -> bool:
        """Whether the model should be told of the tool: false when a rule denies every call of it."""
        now = self._clock()
        return not any(_denies_all(book, tool.name, now) for book in (self._book, self._policy))

    def _verdict(self, tool: ToolSpec, args: Mapping[str, Any]) -> tuple[Outcome, ModeVerdict]:
        if self.mode == "plan":
            refused = plan_refusal(tool)
            if refused is not None:
                return refusal(tool.name, refused), ModeVerdict("deny", refused)
        if self.mode == "disabled":
            outcome = self._outcome(tool, args, self._policy)
            if outcome.explicit or (outcome.action == "deny"):
                return outcome, ModeVerdict(outcome.action, outcome.reason)
            return outcome, ModeVerdict("allow", "", "permissions are disabled")
        outcome = self._outcome(tool, args, self._book)
        if self.mode == "plan" and tool.name == "ExitPlanMode" and outcome.action != "deny":
            outcome = _leaving_plan(outcome)
        verdict = apply_mode(outcome, self.mode, tool, sandboxed=self._sandboxed)
        return outcome, verdict

    def _outcome(self, tool: ToolSpec, args: Mapping[str, Any], book: RuleChain) -> Outcome:
        now = self._clock()
        if tool.name != "Bash":
            return judge_call(tool, args, book, self._place, now)
        command, directory = args.get("command"), args.get("cwd")
        if not isinstance(command, str):
            return refusal("Bash", "the command is missing or not text")
        if directory is None:
            cwd = self._place.cwd
        elif isinstance(directory, str) and refused_text(directory) is None:
            cwd = os.path.realpath(Path(self._place.cwd, directory))
        else:
            return refusal("Bash", "the working directory is not a path")
        # The shell's half of the package is loaded by the first command: a start without one is cheap.
        from caliban_permissions.judge_bash import judge_bash

        return judge_bash(command, cwd, book, self._place, now)


def _denies_all(book: RuleChain, tool: str, now: datetime) -> bool:
    """Whether no rule can allow a call of the tool before a bare deny is reached."""
    for rule in book.written:
        if rule.names(tool) and rule.in_force(now):
            if rule.bare:
                return rule.action == "deny"
            if rule.action != "deny":
                return False
    return False


def _leaving_plan(outcome: Outcome) -> Outcome:
    """Plan mode is left by a person, whatever rules say."""
    reason = "leaving plan mode needs the user's approval of the plan"
    unit = outcome.units[0]._replace(action="ask", notes=(reason,), floors=(HumanOnly("plan", reason),))
    action: Action = "ask"
    return outcome._replace(action=action, reason=reason, units=(unit,))
