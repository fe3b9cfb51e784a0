"""Events folded into the view: what is finished leaves it as blocks, once and in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from msgspec.structs import replace

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
from caliban_common.message import TextBlock, ToolUseBlock
from caliban_tui.blocks import (
    CallBlock,
    NoticeBlock,
    ReasoningBlock,
    ReplyBlock,
    SummaryBlock,
    TranscriptBlock,
)
from caliban_tui.view import ConversationView, RunningCall

Summarise = Callable[[ToolUseBlock], str]


def fold(
    view: ConversationView, event: AgentEvent, now_s: float, summarise: Summarise
) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    """The view after `event`, and the blocks that are finished with it."""
    match event:
        case AssistantTextDelta():
            view, blocks = _close_thinking(view, now_s)
            return replace(view, open_text=view.open_text + event.text), blocks
        case AssistantThinkingDelta():
            since = view.thinking_since_s if view.thinking else now_s
            return replace(view, thinking=view.thinking + event.text, thinking_since_s=since), ()
        case ToolCallReady():
            view, blocks = _close(view, now_s)
            call = RunningCall(
                tool_use_id=event.call.id, name=event.call.name, summary=summarise(event.call), began_s=now_s
            )
            return replace(view, calls=(*view.calls, call)), blocks
        case ToolCallEnd():
            return _end_call(view, event)
        case TurnEnd() | RunEnd():
            return _close(view, now_s)
        case HistoryReplaced():
            if not event.tokens_before:
                return view, ()
            block = SummaryBlock(
                reason=event.reason, tokens_before=event.tokens_before, tokens_after=event.tokens_after
            )
            return view, (block,)
        case Warned():
            hint = str(event.details.get("hint", ""))
            return view, (NoticeBlock(level="warning", text=event.message, hint=hint),)
        case ApiRetry():
            words = f"{event.message}; asked again in {event.delay_ms / 1000:.1f} s"
            return view, (NoticeBlock(level="warning", text=words),)
        case ReplyDiscarded():
            return replace(view, open_text="", thinking=""), ()
        case (
            TurnStart()
            | ToolCallStart()
            | ToolCallInputDelta()
            | ApprovalAsked()
            | ApprovalGiven()
            | ToolProgress()
            | ChildEvent()
            | TaskChanged()
            | MessageAdded()
            | HookFired()
        ):
            return view, ()
        case _:
            assert_never(event)


def _close_thinking(
    view: ConversationView, now_s: float
) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    if not view.thinking:
        return view, ()
    block = ReasoningBlock(text=view.thinking, duration_s=now_s - view.thinking_since_s)
    return replace(view, thinking=""), (block,)


def _close(view: ConversationView, now_s: float) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    view, blocks = _close_thinking(view, now_s)
    if not view.open_text.strip():
        return replace(view, open_text="", is_first=True), blocks
    reply = ReplyBlock(markdown=view.open_text, is_first=view.is_first)
    return replace(view, open_text="", is_first=True), (*blocks, reply)


def _end_call(
    view: ConversationView, event: ToolCallEnd
) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    id = event.result.tool_use_id
    running = next((call for call in view.calls if call.tool_use_id == id), None)
    rest = tuple(call for call in view.calls if call.tool_use_id != id)
    output = "".join(part.text for part in event.result.content if isinstance(part, TextBlock))
    failed = event.outcome == "ran" and event.result.is_error
    block = CallBlock(
        tool_use_id=id,
        name=event.name,
        summary=running.summary if running is not None else event.name,
        output=output,
        outcome="failed" if failed else event.outcome,
        reason=event.reason,
        details=event.details,
        duration_s=event.duration_ms / 1000,
    )
    return replace(view, calls=rest), (block,)
