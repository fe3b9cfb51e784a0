"""The engine: rules, a mode and a place in, decisions out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from caliban_common.permission import Action, DecidedBy, Decision, JudgedPaths, PermissionMode
from caliban_common.tool import ToolSpec
from caliban_permissions.characters import refused_text
from caliban_permissions.explanation import Explanation, parts_of
from caliban_permissions.facts import JudgedTool
from caliban_permissions.judge import bound, judge_call, judge_claims
from caliban_permissions.judgement import HumanOnly, Judgement, refusal, strictest
from caliban_permissions.modes import ModeVerdict, apply_mode, plan_refusal
from caliban_permissions.names import PLAN_LEAVER, READER
from caliban_permissions.paths import PathContext, real_path, resolve
from caliban_permissions.remedy import LIBRARY_WORDS, RemedyWords, Trial, headless_reason
from caliban_permissions.rules.chain import RuleChain
from caliban_permissions.rules.rule import Rule, RuleSet, Scope
from caliban_permissions.subjects import PathSubject
from caliban_permissions.suggest import suggest

if TYPE_CHECKING:
    from caliban_permissions.commands.command import ShellCommand


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Engine:
    """Decides tool calls. Immutable: another mode or another rule is another engine.

    `workspace` is what relative paths of file tools mean, `cwd` (the workspace unless given) what they mean
    in commands. A face without a person is not `interactive`: its decisions are never "ask". `auto_allow` is
    the mode dontAsk for the run. `roots` are further directories that count as the workspace; `search_path`
    are those in which commands are looked for, `web_hosts` what a person opened beside the public web (`name`
    or `name:port`). `sandboxed` says, when it is asked, whether every Bash call runs in the full sandbox and
    the user wants it unasked there; `unsandboxed` are patterns of commands that run outside of it, and for
    which it says nothing: globs that compile. `auto_allow_read_only` lets commands run without a rule that
    provably only read inside the workspace. `vouched` are the tools whose specs are believed; what any other
    tool says of itself only binds it, and none of their names is open to another (ADR 0024). `words` name
    what would help against a denial. An allowed command runs as it was read: `Decision.updated_input`
    (ADR 0031).
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
        search_path: tuple[str, ...] = (),
        web_hosts: frozenset[str] = frozenset(),
        sandboxed: bool | Callable[[], bool] = False,
        unsandboxed: tuple[str, ...] = (),
        vouched: Iterable[ToolSpec] = (),
        auto_allow_read_only: bool = True,
        words: RemedyWords = LIBRARY_WORDS,
    ) -> None:
        self.mode: PermissionMode = _unasked(mode) if auto_allow else mode
        self.interactive = interactive
        self._auto_allow = auto_allow
        self._clock = clock
        self._place = PathContext.of(workspace, cwd, home or Path.home(), roots, search_path, web_hosts)
        self._vouched = {spec.name: JudgedTool(spec, vouched=True) for spec in vouched}
        known = self._vouched.values()
        self._take(rules)
        self._policy = RuleChain(RuleSet(managed=rules.managed), self._place, known)
        self._sandboxed = sandboxed
        self._unsandboxed = unsandboxed
        self._reads_free = auto_allow_read_only
        self._words = words
        self._plan_is_own = False

    def in_mode(self, mode: PermissionMode, *, own: bool = False) -> Engine:
        """The same engine in another mode; `own` says that the model itself asked for it.

        Where nobody can be asked, a plan mode of its own is one that it may leave: that opens nothing.
        """
        other = copy(self)
        other.mode = _unasked(mode) if self._auto_allow else mode
        other._plan_is_own = own
        return other

    def asking(self) -> Engine:
        """The same engine for a face with a person: its decisions may be "ask"."""
        other = copy(self)
        other.interactive = True
        return other

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The final verdict for this face; without a person an ask is a deny that says what would help."""
        judged = self._judged(tool)
        judgement, verdict = self._verdict(judged, args)
        if verdict.action == "ask" and not self.interactive:
            suggestions = suggest(judged, args, self._place, judgement)
            unasked = apply_mode(
                judgement, _unasked(self.mode), judged, sandboxed=self._in_sandbox(judgement)
            )
            trial = Trial(judged, args, self._place, self._would_allow, unasked.action == "allow")
            reason = headless_reason(judgement, suggestions, trial, self._words)
            return Decision(
                action="deny", reason=reason, rule=judgement.rule, match=judgement.match, by="headless"
            )
        printed = self._printed(judged, args, judgement) if verdict.action == "allow" else None
        return Decision(
            action=verdict.action,
            reason=verdict.reason,
            rule=judgement.rule,
            match=judgement.match,
            by=_decided_by(judgement, verdict, self.mode),
            updated_input=printed,
            suggestions=self._lasting(judged, args, judgement) if verdict.action == "ask" else (),
            paths=_paths(judged, args, judgement),
        )

    def allows(self, tool: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether `decide` would allow the call: without its words, which cost more than the verdict."""
        return self._verdict(self._judged(tool), args)[1].action == "allow"

    def allowed(
        self, tool: ToolSpec, args: Mapping[str, Any], reason: str, *, by: DecidedBy, asked: Decision
    ) -> Decision:
        """An allow of a call by somebody else than the rules, who `asked` about it; it runs as read."""
        judged = self._judged(tool)
        judgement, _ = self._verdict(judged, args)
        printed = self._printed(judged, args, judgement)
        return Decision(
            action="allow",
            reason=reason,
            rule=judgement.rule,
            match=judgement.match,
            by=by,
            updated_input=printed,
            paths=asked.paths,
        )

    def with_answers(self, rules: Iterable[Rule]) -> Engine:
        """The same engine with rules that a person made in this session, above all others.

        An allow among them lifts what asks, and no deny that is written.
        """
        other = copy(self)
        other._take(replace(self.rules, runtime=(*rules, *self.rules.runtime)))
        return other

    def without_answer(self, pattern: str, action: Action) -> Engine:
        """The same engine without a rule that a person made in this session."""
        kept = (rule for rule in self.rules.runtime if (rule.pattern, rule.action) != (pattern, action))
        other = copy(self)
        other._take(replace(self.rules, runtime=tuple(kept)))
        return other

    def explain(self, tool: ToolSpec, args: Mapping[str, Any]) -> Explanation:
        """Everything behind the verdict, before interactivity."""
        judged = self._judged(tool)
        judgement, verdict = self._verdict(judged, args)
        chain = self._policy if self.mode == "disabled" else self._chain
        return Explanation(
            action=verdict.action,
            reason=verdict.reason or verdict.note,
            rule=judgement.rule,
            match=judgement.match,
            by=_decided_by(judgement, verdict, self.mode),
            updated_input=self._printed(judged, args, judgement) if verdict.action == "allow" else None,
            mode=self.mode,
            parts=parts_of(judgement, chain, self._clock()),
            opaque=judgement.opaque,
            human_only=tuple(only.text for only in judgement.human_only if only.kind != "outside"),
            guards=tuple((only.kind, only.text) for only in judgement.human_only),
            suggestions=self._lasting(judged, args, judgement) if verdict.action == "ask" else (),
        )

    @property
    def guards_files(self) -> bool:
        """Whether a deny or ask rule is about some files: commands are searched then for what they reach."""
        return self._chain.guards_reads or self._chain.guards_edits

    def layers(self) -> tuple[tuple[Scope, tuple[Rule, ...]], ...]:
        """The rules that count, by their scopes, in the order of evaluation; the built-in ones last."""
        return (self._policy if self.mode == "disabled" else self._chain).layers()

    def runs_outside(self, tool: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether a command, if it may run, runs outside of a sandbox (security.md SB8); it allows none."""
        judged = self._judged(tool)
        if not self._unsandboxed or judged.command is None or not judged.vouched:
            return False
        command = self._read_shell(judged, judged.command, args)
        return not isinstance(command, Judgement) and self._leaves(command)

    def suggest(self, tool: ToolSpec, args: Mapping[str, Any]) -> tuple[str, ...]:
        """The patterns that "always allow" would write for this call; none where no rule should last."""
        judged = self._judged(tool)
        return self._lasting(judged, args, self._verdict(judged, args)[0])

    def may_read(self, path: str, *, canonical: bool = False) -> bool:
        """Whether no deny or ask rule for Read means this path: what search tools may show of it.

        One that is known to be `canonical` is not looked up on the disk, which is most of the work.
        """
        names = resolve(path, self._place, on_disk=True, canonical=canonical)
        if names.refused is not None:
            return False
        if not self._chain.guards_reads:
            return True
        ruling = self._chain.decide(PathSubject((READER,), names), self._clock())
        return ruling.action == "allow" or not ruling.explicit

    def offers(self, tool: ToolSpec) -> bool:
        """Whether the model should be told of the tool: false when every call of it is denied."""
        if tool.name in self._vouched and self._own(tool) is None:
            return False
        return not any(chain.denies_all(tool.name, self._clock) for chain in (self._chain, self._policy))

    def _lasting(self, tool: JudgedTool, args: Mapping[str, Any], judgement: Judgement) -> tuple[str, ...]:
        """The suggestions, where the call would run with them: none that a floor makes idle."""
        patterns = suggest(tool, args, self._place, judgement)
        if not patterns:
            return ()
        rules = (Rule(pattern=pattern, action="allow") for pattern in patterns)
        lasting = self.with_answers(rules)._verdict(tool, args)[1].action == "allow"
        return patterns if lasting else ()

    def _would_allow(self, tool: ToolSpec, args: Mapping[str, Any], allow: tuple[str, ...]) -> bool:
        """Whether the call would run with more allow rules than this engine was given."""
        return self._with_allows(allow).allows(tool, args)

    def _with_allows(self, allow: tuple[str, ...]) -> Engine:
        """The same engine with more allow rules on the command line."""
        other = copy(self)
        rules = tuple(Rule(pattern=pattern, action="allow") for pattern in allow)
        other._take(replace(self.rules, cli=(*self.rules.cli, *rules)))
        return other

    def _take(self, rules: RuleSet) -> None:
        """Judge by `rules`. What a person allowed in the session is left out of `_written`."""
        known = self._vouched.values()
        self.rules = rules
        before: RuleChain | None = getattr(self, "_chain", None)
        self._chain = RuleChain(rules, self._place, known, before)
        lasting = tuple(rule for rule in rules.runtime if rule.action != "allow")
        differs = len(lasting) != len(rules.runtime)
        written = replace(rules, runtime=lasting)
        self._written = RuleChain(written, self._place, known, self._chain) if differs else self._chain

    def _judged(self, spec: ToolSpec) -> JudgedTool:
        own = self._own(spec)
        return JudgedTool(spec, vouched=False) if own is None else own

    def _own(self, spec: ToolSpec) -> JudgedTool | None:
        """The tool of this kind that somebody vouches for."""
        # By identity first: to compare two equal specs takes 2 µs, and a JudgedTool made anew as much again.
        own = self._vouched.get(spec.name)
        return own if own is not None and (own.spec is spec or own.spec == spec) else None

    def _impostor(self, tool: JudgedTool) -> bool:
        """Whether a tool goes by the name of another that rules and people mean by it."""
        return not tool.vouched and tool.name in self._vouched

    def _verdict(self, tool: JudgedTool, args: Mapping[str, Any]) -> tuple[Judgement, ModeVerdict]:
        refused = f"{tool.name} is the name of another tool than this one" if self._impostor(tool) else None
        if refused is None and self.mode == "plan":
            refused = plan_refusal(tool, can_ask=PLAN_LEAVER in self._vouched)
        if refused is not None:
            return refusal(tool.name, refused), ModeVerdict("deny", refused)
        if self.mode == "disabled":
            judgement = self._judge(tool, args, self._policy)
            if judgement.explicit or (judgement.action == "deny"):
                return judgement, ModeVerdict(judgement.action, judgement.reason)
            return judgement, ModeVerdict("allow", "", "permissions are disabled")
        judgement = self._judge(tool, args, self._written)
        if self._written is not self._chain and judgement.action != "deny":
            judgement = self._judge(tool, args, self._chain)  # an answer lifts what asks, and no deny
        if self.mode == "plan" and judgement.action != "deny":
            judgement = _in_plan(tool, judgement, may_leave=self._plan_is_own and not self.interactive)
        return judgement, apply_mode(judgement, self.mode, tool, sandboxed=self._in_sandbox(judgement))

    def _judge(self, tool: JudgedTool, args: Mapping[str, Any], chain: RuleChain) -> Judgement:
        now = self._clock()
        if tool.command is None:
            judgement = judge_call(tool, args, chain, self._place, now)
        else:
            judgement = self._judge_shell(tool, tool.command, args, chain)
        if judgement.action == "deny":
            return judgement
        claimed = [*judge_claims(tool, args, chain, self._place, now)]
        for name, role in tool.claims:
            if role == "command":
                claimed += self._judge_shell(tool, name, args, chain).parts
        return bound(judgement, claimed)

    def _printed(
        self, tool: JudgedTool, args: Mapping[str, Any], judgement: Judgement
    ) -> Mapping[str, Any] | None:
        """The input with the command as it was read, where it reads otherwise than it was typed."""
        command = judgement.command
        if command is None or tool.command is None or self.mode in ("disabled", "bypassPermissions"):
            return None
        printed = command.printed
        if printed is None or printed == command.text:
            return None
        return {**args, tool.command: printed}

    def _judge_shell(
        self, tool: JudgedTool, argument: str, args: Mapping[str, Any], chain: RuleChain
    ) -> Judgement:
        command = self._read_shell(tool, argument, args)
        if isinstance(command, Judgement):
            return command
        from caliban_permissions.commands.judge import judge_bash

        return judge_bash(command, chain, self._clock(), reads_free=self._reads_free and tool.vouched)

    def _read_shell(
        self, tool: JudgedTool, argument: str, args: Mapping[str, Any]
    ) -> ShellCommand | Judgement:
        text, directory = args.get(argument), args.get(tool.directory)
        if not isinstance(text, str):
            return refusal(tool.name, "the command is missing or not text")
        if directory is None:
            cwd = self._place.cwd
        elif isinstance(directory, str) and refused_text(directory) is None:
            cwd = real_path(os.path.join(self._place.cwd, directory))  # noqa: PTH118 - a str in, a str out
        else:
            return refusal(tool.name, "the working directory is not a path")
        # The shell's half of the package is loaded by the first command: a start without one saves 19 ms.
        from caliban_permissions.commands.judge import read_command

        return read_command(text, cwd, self._place, tool.name)

    def _in_sandbox(self, judgement: Judgement) -> bool:
        """Whether what was judged runs in the full sandbox, and needs no question there."""
        sandboxed = self._sandboxed() if callable(self._sandboxed) else self._sandboxed
        return sandboxed and not (judgement.command is not None and self._leaves(judgement.command))

    def _leaves(self, command: ShellCommand) -> bool:
        if not self._unsandboxed:
            return False
        from caliban_permissions.commands.outside import runs_outside

        return runs_outside(command, self._unsandboxed)


def _paths(tool: JudgedTool, args: Mapping[str, Any], judgement: Judgement) -> JudgedPaths | None:
    """What the paths of the call were; the directory of a command is one."""
    command, directory = judgement.command, args.get(tool.directory)
    if command is None or not isinstance(directory, str):
        return judgement.paths
    return {directory: (command.cwd,)}


def _decided_by(judgement: Judgement, verdict: ModeVerdict, mode: PermissionMode) -> DecidedBy:
    """Who had the last word: the mode where it changed what the rules say."""
    if verdict.action != judgement.action or verdict.note:
        return "plan" if mode == "plan" else "mode"
    if judgement.rule is None and judgement.action != "allow":
        return "plan" if mode == "plan" else "check"
    ruling = strictest(judgement.parts).ruling
    return "rule" if ruling.explicit else "default"


def _unasked(mode: PermissionMode) -> PermissionMode:
    """The mode that `--auto-allow` makes of a mode."""
    return "dontAsk" if mode in ("default", "acceptEdits", "auto") else mode


def _in_plan(tool: JudgedTool, judgement: Judgement, *, may_leave: bool) -> Judgement:
    """Plan mode is left by a person, whatever rules say, and a person believes a tool that it only reads."""
    if tool.spec.ends_plan and not may_leave:
        reason = "leaving plan mode needs the user's approval of the plan"
    elif tool.harmless:
        return judgement
    else:
        reason = f"only {tool.name} itself says that it does no more than read"
    part = replace(judgement.parts[0], action="ask", notes=(reason,), human_only=(HumanOnly("plan", reason),))
    action: Action = "ask"
    return replace(judgement, action=action, reason=reason, parts=(part,))
