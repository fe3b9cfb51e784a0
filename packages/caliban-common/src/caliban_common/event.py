"""What happens during a run, as values: every face, store and meter is a fold over these.

Order within one turn: `TurnStart`, then the reply's deltas, `ToolCallReady` per complete call,
`MessageAdded` for the reply, `ToolCallEnd` per call in the order they finish, `MessageAdded` for the
results, `TurnEnd`. `RunEnd` is always the last event, and there is exactly one. While a call runs its tool
may speak: `ToolProgress` and `ChildEvent` come between the call's `ToolCallReady` and its `ToolCallEnd`, or
between the two `TaskChanged` of what the call has left to the background.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from msgspec import field

from caliban_common.errors import RunFailed
from caliban_common.message import Message, ToolResultBlock, ToolUseBlock
from caliban_common.stop import Stop, StopReason
from caliban_common.tagged import Tagged
from caliban_common.usage import Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=Any)
else:  # a default for who names no type is something that only checkers need to know of
    from typing import TypeVar

    OutputT = TypeVar("OutputT")

_NO_OUTPUT: Any = None


class TurnStart(Tagged, frozen=True, kw_only=True, tag="turn_start"):
    """A turn begins; turns count from 0 within a run."""

    turn: int
    model: str


class AssistantTextDelta(Tagged, frozen=True, kw_only=True, tag="assistant_text_delta"):
    """A piece of the reply's text."""

    turn: int
    text: str


class AssistantThinkingDelta(Tagged, frozen=True, kw_only=True, tag="assistant_thinking_delta"):
    """A piece of the reply's reasoning."""

    turn: int
    text: str


class ToolCallStart(Tagged, frozen=True, kw_only=True, tag="tool_call_start"):
    """The model has begun to write a tool call."""

    turn: int
    tool_use_id: str
    name: str


class ToolCallInputDelta(Tagged, frozen=True, kw_only=True, tag="tool_call_input_delta"):
    """A piece of a tool call's JSON."""

    turn: int
    tool_use_id: str
    partial_json: str


class ToolCallReady(Tagged, frozen=True, kw_only=True, tag="tool_call_ready"):
    """A tool call is complete and about to be judged and run."""

    turn: int
    call: ToolUseBlock


class ToolCallEnd(Tagged, frozen=True, kw_only=True, tag="tool_call_end"):
    """A tool call has its result; `outcome` says whether the tool ran at all."""

    turn: int
    name: str
    result: ToolResultBlock
    outcome: Literal["ran", "denied", "invalid", "interrupted"] = "ran"
    reason: str = ""
    duration_ms: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)


class ApprovalAsked(Tagged, frozen=True, kw_only=True, tag="approval_asked"):
    """Somebody is asked whether `call` may run, and its run waits; other calls of the reply go on."""

    turn: int
    call: ToolUseBlock
    reason: str


class ApprovalGiven(Tagged, frozen=True, kw_only=True, tag="approval_given"):
    """The answer; with `ask` it comes later, and the run ends without it."""

    turn: int
    tool_use_id: str
    action: Literal["allow", "deny", "ask"]
    reason: str = ""


class ToolProgress(Tagged, frozen=True, kw_only=True, tag="tool_progress"):
    """A running tool call says how far it is: for people only, no model reads it.

    `text` is what is new since the one before; `agent` is whose call it is, empty for the main one.
    """

    tool_use_id: str
    agent: str = ""
    text: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


class ChildEvent(Tagged, frozen=True, kw_only=True, tag="child_event"):
    """Something happened in the run of `agent`, which the tool call `tool_use_id` has started.

    It is not the parent's: a fold that looks inside keeps a state of its own per `tool_use_id`.
    """

    tool_use_id: str
    agent: str
    event: AgentEvent


class TaskChanged(Tagged, frozen=True, kw_only=True, tag="task_changed"):
    """Work that the call `tool_use_id` has left to the background begins or ends; `title` is for people."""

    tool_use_id: str
    name: str
    title: str
    status: Literal["started", "completed", "failed", "stopped"]


class MessageAdded(Tagged, frozen=True, kw_only=True, tag="message_added"):
    """The history grew by `message`; `injected` marks one that neither the user nor the model wrote."""

    message: Message
    injected: bool = False


class HistoryReplaced(Tagged, frozen=True, kw_only=True, tag="history_replaced"):
    """The history was rewritten: `messages` is the whole new one.

    A compaction says how large it was before and is now, in estimated tokens, and whether a person asked for
    it; other rewrites say 0.
    """

    messages: tuple[Message, ...]
    reason: str
    tokens_before: int = 0
    tokens_after: int = 0
    trigger: Literal["auto", "manual"] = "auto"


class ReplyDiscarded(Tagged, frozen=True, kw_only=True, tag="reply_discarded"):
    """What was streamed of the current reply does not count; the reply starts again."""

    turn: int
    reason: str


class ApiRetry(Tagged, frozen=True, kw_only=True, tag="api_retry"):
    """The provider failed and is asked again after `delay_ms`; `attempt` counts from 1."""

    turn: int
    attempt: int
    max_retries: int
    delay_ms: int
    category: str
    message: str
    status: int | None = None


class Warned(Tagged, frozen=True, kw_only=True, tag="warned"):
    """Something a person should know that ends nothing."""

    subtype: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


class HookFired(Tagged, frozen=True, kw_only=True, tag="hook_fired"):
    """A hook event was decided."""

    name: str
    payload: Mapping[str, Any]


class TurnEnd(Tagged, frozen=True, kw_only=True, tag="turn_end"):
    """A turn is complete. `usage` is that of all its model calls, failed ones that were billed included."""

    turn: int
    message: Message
    results: tuple[ToolResultBlock, ...]
    stop_reason: StopReason
    usage: Usage
    api_ms: float = 0.0
    first_token_ms: float | None = None


class RunEnd(Tagged, Generic[OutputT], frozen=True, kw_only=True, tag="run_end"):
    """The run is over: `messages` is the whole history, valid to send again.

    `text` is the model's last reply in this run, empty where there was none; `output` is the value in it
    where the run has an output type, `None` where it came to another end: `raise_for_stop` rules that out.
    `pending` are the calls that wait for an approval, where `stop` says so.
    """

    stop: Stop
    messages: tuple[Message, ...]
    usage: Usage
    turns: int
    turns_without_edit: int = 0
    no_edit_nudge_emitted: bool = False
    text: str = ""
    output: OutputT = _NO_OUTPUT
    pending: tuple[ToolUseBlock, ...] = ()

    def raise_for_stop(self) -> None:
        """Raise `RunFailed` unless the run came to the end that it was asked for."""
        if not self.stop.ok:
            raise RunFailed(self.stop)


AgentEvent: TypeAlias = (
    TurnStart
    | AssistantTextDelta
    | AssistantThinkingDelta
    | ToolCallStart
    | ToolCallInputDelta
    | ToolCallReady
    | ToolCallEnd
    | ApprovalAsked
    | ApprovalGiven
    | ToolProgress
    | ChildEvent
    | TaskChanged
    | MessageAdded
    | HistoryReplaced
    | ReplyDiscarded
    | ApiRetry
    | Warned
    | HookFired
    | TurnEnd
    | RunEnd
)
