"""What a prompt amounts to: a fold over the events of its runs, and the result made of it."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, assert_never

from msgspec import Struct, field

from caliban_common.event import (
    AgentEvent,
    ApiRetry,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.message import ToolUseBlock
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


class PromptResult(Struct, frozen=True, kw_only=True):
    """The result of a prompt, or of several that one result answers.

    `text` is the last assistant message. `stop` is the end of the last run; without one there was none.
    `cost_usd` counts every model call of the process. `structured` is the answer that fits its schema.
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
    model_usage: tuple[tuple[str, Usage, float | None], ...] = ()
    duration_ms: float = 0.0
    api_ms: float = 0.0
    tool_calls_seen: int = 0
    denials: tuple[dict[str, Any], ...] = ()
    turns_without_edit: int = 0
    no_edit_nudge_emitted: bool = False
    has_structured: bool = False
    structured: Any = None

    @property
    def is_error(self) -> bool:
        """Whether anything but success came of it."""
        return self.subtype != "success"


class Costs(Protocol):
    """Who knows what the model calls of this process cost."""

    def total_usd(self) -> float:
        """All of it, in US dollars; calls without a known price count 0."""
        ...

    def by_model(self) -> tuple[tuple[str, Usage, float | None], ...]:
        """The same per model, with its tokens; `None` where no price is known."""
        ...


class RunTotals(Struct, kw_only=True):
    """The sum of the events of one or more runs, counted from when it was made."""

    model: str
    session_id: str = ""
    costs: Costs | None = None
    text: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    api_ms: float = 0.0
    calls_seen: int = 0
    open_calls: dict[str, ToolUseBlock] = field(default_factory=dict)
    denials: list[dict[str, Any]] = field(default_factory=list)
    turns_without_edit: int = 0
    no_edit_nudge_emitted: bool = False
    started_s: float = field(default_factory=perf_counter)

    def add(self, event: AgentEvent) -> None:
        """Fold `event` in."""
        match event:
            case MessageAdded():
                if event.message.role == "assistant":
                    self.text = event.message.text or self.text
            case ToolCallReady():
                self.calls_seen += 1
                self.open_calls[event.call.id] = event.call
            case ToolCallEnd():
                if event.outcome == "denied":
                    self.denials.append(self._denial(event))
            case TurnEnd():
                self.open_calls.clear()
                self.api_ms += event.api_ms
            case RunEnd():
                self.turns += event.turns
                self.usage += event.usage
                self.turns_without_edit = event.turns_without_edit
                self.no_edit_nudge_emitted = self.no_edit_nudge_emitted or event.no_edit_nudge_emitted
            case ChildEvent():
                pass  # a child has a result of its own, which its tool sums up
            case (
                TurnStart()
                | AssistantTextDelta()
                | AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolProgress()
                | HistoryReplaced()
                | ReplyDiscarded()
                | ApiRetry()
                | Warned()
                | HookFired()
            ):
                pass
            case _:
                assert_never(event)

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
        return PromptResult(
            subtype=subtype,
            stop=stop,
            text=self.text,
            error=error,
            hint=hint,
            session_id=self.session_id,
            turns=self.turns,
            usage=self.usage,
            cost_usd=self.costs.total_usd() if self.costs is not None else 0.0,
            model_usage=self._model_usage(),
            duration_ms=(perf_counter() - self.started_s) * 1000,
            api_ms=self.api_ms,
            tool_calls_seen=self.calls_seen,
            denials=tuple(self.denials),
            turns_without_edit=self.turns_without_edit,
            no_edit_nudge_emitted=self.no_edit_nudge_emitted,
        )

    def _model_usage(self) -> tuple[tuple[str, Usage, float | None], ...]:
        if self.costs is not None:
            return self.costs.by_model()
        return ((self.model, self.usage, 0.0),) if self.turns or self.usage != Usage() else ()

    def _denial(self, event: ToolCallEnd) -> dict[str, Any]:
        call = self.open_calls.get(event.result.tool_use_id)
        return {
            "tool_name": event.name,
            "tool_use_id": event.result.tool_use_id,
            "tool_input": dict(call.input) if call is not None else {},
            "reason": event.reason,
        }
