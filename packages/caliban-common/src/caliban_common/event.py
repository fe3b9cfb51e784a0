"""What happens during a run, as values: every face, store and meter is a fold over these.

Order within one turn: `TurnStart`, then the reply's deltas, `ToolCallReady` per complete call,
`MessageAdded` for the reply, `ToolCallEnd` per call in the order they finish, `MessageAdded` for the
results, `TurnEnd`. `RunEnd` is always the last event, and there is exactly one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from caliban_common.message import Message, ToolResultBlock, ToolUseBlock
from caliban_common.stop import Stop, StopReason
from caliban_common.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart:
    """A turn begins; turns count from 0 within a run."""

    turn: int
    model: str
    type: Literal["turn_start"] = "turn_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantTextDelta:
    """A piece of the reply's text."""

    turn: int
    text: str
    type: Literal["assistant_text_delta"] = "assistant_text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantThinkingDelta:
    """A piece of the reply's reasoning."""

    turn: int
    text: str
    type: Literal["assistant_thinking_delta"] = "assistant_thinking_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStart:
    """The model has begun to write a tool call."""

    turn: int
    tool_use_id: str
    name: str
    type: Literal["tool_call_start"] = "tool_call_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallInputDelta:
    """A piece of a tool call's JSON."""

    turn: int
    tool_use_id: str
    partial_json: str
    type: Literal["tool_call_input_delta"] = "tool_call_input_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallReady:
    """A tool call is complete and about to be judged and run."""

    turn: int
    call: ToolUseBlock
    type: Literal["tool_call_ready"] = "tool_call_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnd:
    """A tool call has its result; `outcome` says whether the tool ran at all."""

    turn: int
    name: str
    result: ToolResultBlock
    outcome: Literal["ran", "denied", "invalid", "interrupted"] = "ran"
    reason: str = ""
    duration_ms: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    type: Literal["tool_call_end"] = "tool_call_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAdded:
    """The history grew by `message`; `injected` marks one that neither the user nor the model wrote."""

    message: Message
    injected: bool = False
    type: Literal["message_added"] = "message_added"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReplaced:
    """The history was rewritten (compaction): `messages` is the whole new one."""

    messages: tuple[Message, ...]
    reason: str
    type: Literal["history_replaced"] = "history_replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDiscarded:
    """What was streamed of the current reply does not count; the reply starts again."""

    turn: int
    reason: str
    type: Literal["reply_discarded"] = "reply_discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRetry:
    """The provider failed and is asked again after `delay_ms`; `attempt` counts from 1."""

    turn: int
    attempt: int
    max_retries: int
    delay_ms: int
    category: str
    message: str
    status: int | None = None
    type: Literal["api_retry"] = "api_retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something a person should know that ends nothing."""

    subtype: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    type: Literal["warned"] = "warned"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFired:
    """A hook event was decided."""

    name: str
    payload: Mapping[str, Any]
    type: Literal["hook_fired"] = "hook_fired"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """A turn is complete. `usage` is that of all its model calls, failed ones that were billed included."""

    turn: int
    message: Message
    results: tuple[ToolResultBlock, ...]
    stop_reason: StopReason
    usage: Usage
    api_ms: float = 0.0
    first_token_ms: float | None = None
    type: Literal["turn_end"] = "turn_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The run is over: `messages` is the whole history, valid to send again."""

    stop: Stop
    messages: tuple[Message, ...]
    usage: Usage
    turns: int
    turns_without_edit: int = 0
    no_edit_nudge_emitted: bool = False
    type: Literal["run_end"] = "run_end"


AgentEvent: TypeAlias = (
    TurnStart
    | AssistantTextDelta
    | AssistantThinkingDelta
    | ToolCallStart
    | ToolCallInputDelta
    | ToolCallReady
    | ToolCallEnd
    | MessageAdded
    | HistoryReplaced
    | ReplyDiscarded
    | ApiRetry
    | Warned
    | HookFired
    | TurnEnd
    | RunEnd
)
