"""The rules of a run in the auto mode: what they leave to a person, lists and a model may answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from caliban.compose.asking.classifier import Classifier
from caliban.compose.permissions import Permissions
from caliban_agent_core.ports import Rules
from caliban_common.errors import CalibanError
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec
from caliban_drive.notice import Notice, Report
from caliban_permissions import Engine
from caliban_permissions.auto.judge import AutoJudge, AutoRuling
from caliban_permissions.auto.lists import AutoLists
from caliban_permissions.auto.memory import Breaker, VerdictCache, VerdictKey
from caliban_permissions.auto.verdict import ClassifierVerdict

Source: TypeAlias = Literal["classifier", "cache"]
MAX_SHOWN_CHARS = 120
HARMLESS = ("read", "session")


class AutoMode:
    """What the auto mode of one run has: its lists, its classifier, what it remembers, who hears of it."""

    def __init__(self, lists: AutoLists, classifier: Classifier, report: Report) -> None:
        self.lists = lists
        self.classifier = classifier
        self.report = report
        self.cache = VerdictCache()
        self.breaker = Breaker()
        self.generation = 0


class AutoRules:
    """`permissions`, with `auto` before the person while the mode is `auto`; see `Rules`.

    With nobody to ask (`interactive` is false) what is left to a person is denied. Never lifted are a deny,
    an ask that a person wrote, and what only a person may approve.
    """

    def __init__(self, permissions: Permissions, auto: AutoMode, *, interactive: bool) -> None:
        self._permissions = permissions
        self._auto = auto
        self._interactive = interactive
        self._judge: AutoJudge | None = None
        self._judged_for: Engine | None = None

    async def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The verdict on a call. Decisions that may change something end what earlier verdicts stand on."""
        decision = await self._decided(tool, args)
        if decision.action != "deny" and tool.kind not in HARMLESS:
            self._auto.generation += 1
        return decision

    def without_model(self) -> Rules:
        """See `RulesWithModel`."""
        return self._permissions.asking() if self._interactive else self._permissions

    async def _decided(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        engine = self._permissions.engine_for(tool)
        if engine.mode != "auto":
            return (engine.asking() if self._interactive else engine).decide(tool, args)
        ruling = self._judge_of(engine).judge(tool, args)
        decision = ruling.decision
        breaker = self._auto.breaker
        if ruling.standing == "open":
            decision = await self._classified(engine, ruling, tool, args)
            if self._permissions.engine_for(tool) is not engine:
                return await self._decided(tool, args)  # the rules are others now than those it was asked by
        elif ruling.standing == "listed" and decision.action == "allow":
            if breaker.why is not None:
                decision = self._asked(engine.asking().decide(tool, args), breaker.why)
            breaker.allowed()
        elif ruling.standing == "listed":
            self._refused()
        if decision.action == "ask" and not self._interactive:
            return self._denied(engine, tool, args, decision)
        return decision

    def _judge_of(self, engine: Engine) -> AutoJudge:
        if self._judge is None or self._judged_for is not engine:
            self._judge, self._judged_for = AutoJudge(engine, self._auto.lists), engine
        return self._judge

    async def _classified(
        self, engine: Engine, ruling: AutoRuling, tool: ToolSpec, args: Mapping[str, Any]
    ) -> Decision:
        auto, plain = self._auto, ruling.decision
        if auto.breaker.why is not None:
            return self._asked(plain, auto.breaker.why)
        key = VerdictKey.of(ruling.question, engine.mode, auto.generation)
        verdict, source = auto.cache.get(key), "cache"
        if verdict is None:
            try:
                verdict, source = await auto.classifier.ask(ruling.question), "classifier"
            except CalibanError as error:
                why = one_line(error.message, max_chars=300)
                self._tell(tool, args, "ask", why, "classifier")
                self._refused()
                return self._asked(plain, why)
            auto.cache.put(key, verdict)
        self._tell(
            tool, args, verdict.decision, verdict.reason, "classifier" if source != "cache" else "cache"
        )
        return self._answered(engine, plain, verdict, tool, args)

    def _answered(
        self,
        engine: Engine,
        plain: Decision,
        verdict: ClassifierVerdict,
        tool: ToolSpec,
        args: Mapping[str, Any],
    ) -> Decision:
        match verdict.decision:
            case "allow":
                self._auto.breaker.allowed()
                reason = f"the classifier allowed it: {verdict.reason}"
                return engine.allowed(tool, args, reason, by="classifier", asked=plain)
            case "soft_deny":
                self._refused()
                return self._asked(plain, f"the classifier leaves it to you: {verdict.reason}")
            case "hard_deny":
                self._refused()
                reason = f"the auto mode's classifier refuses it: {verdict.reason}"
                return replace(plain, action="deny", reason=reason, by="classifier", suggestions=())

    def _refused(self) -> None:
        breaker = self._auto.breaker
        was_closed = breaker.why is None
        breaker.refused()
        if was_closed and breaker.why is not None:
            more = "the rest of this run asks" if self._interactive else "the rest of this run denies instead"
            self._auto.report(Notice(subtype="auto_mode_paused", message=f"{breaker.why}; {more}"))

    def _tell(
        self, tool: ToolSpec, args: Mapping[str, Any], verdict: str, reason: str, source: Source
    ) -> None:
        main = args.get(tool.main_argument or "")
        what = f"{tool.name} {main}" if isinstance(main, str) else tool.name
        shown = one_line(what, max_chars=MAX_SHOWN_CHARS)
        self._auto.report(
            Notice(
                subtype="auto_mode",
                message=f"auto mode: {verdict}: {shown}: {reason}",
                details={"tool_name": tool.name, "decision": verdict, "reason": reason, "source": source},
            )
        )

    def _asked(self, plain: Decision, why: str) -> Decision:
        return replace(plain, reason=f"{plain.reason} (auto mode: {why})", by="classifier")

    def _denied(self, engine: Engine, tool: ToolSpec, args: Mapping[str, Any], asked: Decision) -> Decision:
        """The deny in the place of an ask: why it was not allowed, and what a person can do about it."""
        plain, denied = engine.asking().decide(tool, args), engine.decide(tool, args)
        remedy = denied.reason.removeprefix(plain.reason)
        by = asked.by if asked.by in ("auto", "classifier") else "headless"
        reason = f"{asked.reason}{remedy}"
        return replace(denied, reason=reason, rule=asked.rule, match=asked.match, by=by)
