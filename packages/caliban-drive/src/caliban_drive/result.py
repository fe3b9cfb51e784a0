"""What a prompt amounts to: a fold over the events of its runs, and the result made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, assert_never

from msgspec import Struct, field

from caliban_agent_core.recovery import TEXT_CUT
from caliban_common.event import (
    AgentEvent,
    ApiRetry,
    ApprovalAsked,
    ApprovalGiven,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    TaskChanged,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.message import Message, ToolUseBlock
from caliban_common.stop import Stop, StopKind
from caliban_common.usage import Usage

Subtype: TypeAlias = Literal["success", "error", "max_turns", "budget_exceeded", "cancelled", "max_tokens"]

SUBTYPES: Final[Mapping[StopKind, Subtype]] = MappingProxyType(
    {
        "end_of_turn": "success",
        "max_turns": "max_turns",
        "max_tokens": "max_tokens",
        "budget": "budget_exceeded",
        "cancelled": "cancelled",
    }
)
"""The ends that have a name of their own; all others are errors."""

REFUSALS: Final = ("refusal", "content_filter")


ModelUsage: TypeAlias = tuple[str, Usage, float | None]
"""A model or an agent, the tokens it used, and what they cost in US dollars; `None` for no known price."""


class PromptResult(Struct, frozen=True, kw_only=True):
    """The result of a prompt, or of several that one result answers.

    `text` is the last assistant message. `stop` is the end of the last run; without one there was none.
    `cost_usd` counts every model call of the process, those of sub-agents among them, whose share stands in
    `agent_usage` by their names. `structured` is the answer that fits its schema;
    `is_answer` says that `text` is no word between two calls; `pending` are the calls that wait for a person.
    """

    subtype: Subtype
    stop: Stop | None = None
    text: str = ""
    error: str | None = None
    hint: str | None = None
    session_id: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0
    model_usage: tuple[ModelUsage, ...] = ()
    duration_ms: float = 0.0
    api_ms: float = 0.0
    tool_calls_seen: int = 0
    denials: tuple[dict[str, Any], ...] = ()
    turns_without_edit: int = 0
    no_edit_nudge_emitted: bool = False
    has_structured: bool = False
    structured: Any = None
    is_answer: bool = False
    agent_usage: tuple[ModelUsage, ...] = ()
    pending: tuple[ToolUseBlock, ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether anything but success came of it."""
        return self.subtype != "success"


class Costs(Protocol):
    """Who knows what the model calls of this process cost."""

    def total_usd(self) -> float:
        """All of it, in US dollars; calls without a known price count 0."""
        ...

    def by_model(self) -> tuple[ModelUsage, ...]:
        """The same per model, with its tokens; `None` where no price is known."""
        ...

    def by_agent(self) -> tuple[ModelUsage, ...]:
        """The share of each sub-agent, likewise."""
        ...


class RunTotals(Struct, kw_only=True):
    """The sum of the events of one or more runs, counted from when it was made.

    Where somebody knows the `costs`, all tokens are theirs, so that no sum can differ from another: `before`
    and `agents_before` are what they knew when this was made. `is_answer` says that the last message makes
    no call.
    """

    model: str
    session_id: str = ""
    costs: Costs | None = None
    before: tuple[ModelUsage, ...] = ()
    agents_before: tuple[ModelUsage, ...] = ()
    text: str = ""
    earlier_text: str = ""
    is_answer: bool = False
    goes_on: bool = False
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    api_ms: float = 0.0
    calls_seen: int = 0
    open_calls: dict[str, ToolUseBlock] = field(default_factory=dict)
    child_calls: dict[tuple[str, str], ToolUseBlock] = field(default_factory=dict)
    denials: list[dict[str, Any]] = field(default_factory=list)
    turns_without_edit: int = 0
    no_edit_nudge_emitted: bool = False
    pending: tuple[ToolUseBlock, ...] = ()
    started_s: float = field(default_factory=perf_counter)
    clock: Callable[[], float] = perf_counter

    def add(self, event: AgentEvent) -> None:
        """Fold `event` in."""
        match event:
            case MessageAdded():
                self._add_message(event.message)
            case ToolCallReady():
                self.calls_seen += 1
                self.open_calls[event.call.id] = event.call
            case ToolCallEnd():
                if event.outcome == "denied":
                    call = self.open_calls.get(event.result.tool_use_id)
                    self.denials.append(_denial(event, call))
            case TurnEnd():
                self.open_calls.clear()
                self.api_ms += event.api_ms
                self.goes_on = self.goes_on or event.stop_reason == "pause_turn"
            case RunEnd():
                if event.stop.kind in REFUSALS and self.text == f"[{event.stop.message}]":
                    self.text = self.earlier_text  # our own note for the history is nobody's answer
                self.turns += event.turns
                self.pending = event.pending
                self.usage += event.usage
                self.turns_without_edit = event.turns_without_edit
                self.no_edit_nudge_emitted = self.no_edit_nudge_emitted or event.no_edit_nudge_emitted
            case ChildEvent():
                self._add_child(event)
            case (
                TurnStart()
                | AssistantTextDelta()
                | AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ApprovalAsked()
                | ApprovalGiven()
                | ToolProgress()
                | TaskChanged()
                | HistoryReplaced()
                | ReplyDiscarded()
                | ApiRetry()
                | Warned()
                | HookFired()
            ):
                pass
            case _:
                assert_never(event)

    def _add_message(self, message: Message) -> None:
        """Keep the last words of the model; those that go on after a cut or a pause are one answer."""
        if message.role == "assistant":
            self.earlier_text = self.text
            self.text = (self.text if self.goes_on else "") + message.text or self.text
            self.is_answer = not message.tool_uses
        self.goes_on = message.role == "user" and message.text == TEXT_CUT

    def _add_child(self, child: ChildEvent) -> None:
        """A child has a result of its own, which its tool sums up; its costs and denials count here."""
        key, event = child.tool_use_id, child.event
        match event:
            case ChildEvent():
                self._add_child(event)
            case ToolCallReady():
                self.child_calls[key, event.call.id] = event.call
            case ToolCallEnd():
                call = self.child_calls.pop((key, event.result.tool_use_id), None)
                if event.outcome == "denied":
                    self.denials.append({**_denial(event, call), "agent": child.agent})
            case RunEnd():
                self.usage += event.usage
            case _:
                pass

    def result(self, stop: Stop) -> PromptResult:
        """The result of runs of which the last ended with `stop`."""
        subtype = SUBTYPES.get(stop.kind, "error")
        error = None if subtype == "success" else stop.message
        return self._result(subtype, error, stop.hint, stop)

    def failed(self, message: str, *, hint: str | None = None) -> PromptResult:
        """The result, with the sums so far, where something else than a run put an end to it."""
        return self._result("error", message, hint, None)

    def _result(
        self, subtype: Subtype, error: str | None, hint: str | None, stop: Stop | None
    ) -> PromptResult:
        model_usage = self._model_usage()
        usage = sum((row[1] for row in model_usage), Usage())
        return PromptResult(
            subtype=subtype,
            stop=stop,
            text=self.text,
            error=error,
            hint=hint,
            session_id=self.session_id,
            turns=self.turns,
            usage=usage,
            cost_usd=self.costs.total_usd() if self.costs is not None else 0.0,
            model_usage=model_usage,
            is_answer=self.is_answer,
            duration_ms=(self.clock() - self.started_s) * 1000,
            api_ms=self.api_ms,
            tool_calls_seen=self.calls_seen,
            denials=tuple(self.denials),
            turns_without_edit=self.turns_without_edit,
            no_edit_nudge_emitted=self.no_edit_nudge_emitted,
            pending=self.pending,
            agent_usage=() if self.costs is None else _since(self.agents_before, self.costs.by_agent()),
        )

    def _model_usage(self) -> tuple[ModelUsage, ...]:
        if self.costs is None:
            return ((self.model, self.usage, 0.0),) if self.turns or self.usage != Usage() else ()
        rows = _since(self.before, self.costs.by_model())
        if rows or self.usage == Usage():
            return rows
        return ((self.model, self.usage, None),)  # a replay that stops where nobody had asked what it costs


def _since(before: tuple[ModelUsage, ...], now: tuple[ModelUsage, ...]) -> tuple[ModelUsage, ...]:
    """What was used of each since `before`, as far as that is anything."""
    known = {name: (usage, usd) for name, usage, usd in before}
    rows = []
    for name, usage, usd in now:
        old_usage, old_usd = known.get(name, (Usage(), None))
        if usage != old_usage:
            spent = None if usd is None else round(usd - (old_usd or 0.0), 10)
            rows.append((name, usage - old_usage, spent))
    return tuple(rows)


def _denial(event: ToolCallEnd, call: ToolUseBlock | None) -> dict[str, Any]:
    return {
        "tool_name": event.name,
        "tool_use_id": event.result.tool_use_id,
        "tool_input": dict(call.input) if call is not None else {},
        "reason": event.reason,
    }
