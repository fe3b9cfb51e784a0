"""Events folded into the view: what is finished leaves it as blocks, once and in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

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
from caliban_common.message import ToolUseBlock
from caliban_tui.markdown.splitter import OpenReply, closed, fed
from caliban_tui.transcript.blocks import NoticeBlock, ReasoningBlock, SummaryBlock, TranscriptBlock
from caliban_tui.transcript.calls import (
    asked,
    discarded_calls,
    ended_call,
    given,
    progressed,
    ready,
    started,
    unfinished,
    written,
)
from caliban_tui.transcript.tasks import child_of, task_changed
from caliban_tui.transcript.view import ConversationView, ThinkingText
from caliban_tui.words import added_message, hook_words

Summarise = Callable[[ToolUseBlock], str]
Folded: TypeAlias = tuple[ConversationView, tuple[TranscriptBlock, ...]]

THINKING_PART_CHARS = 4_096


def fold(view: ConversationView, event: AgentEvent, now_s: float, summarise: Summarise) -> Folded:
    """The view after `event`, and the blocks that are finished with it."""
    view, blocks = _fold(view, event, now_s, summarise)
    return (replace(view, above=blocks[-1].type) if blocks else view), blocks


def left_open(view: ConversationView, now_s: float) -> Folded:
    """The view of which nothing more comes, and what was open in it: words that were read are not lost."""
    view, blocks = _close(view, now_s)
    left = unfinished(view, now_s)
    return replace(view, calls=(), tasks=()), (*blocks, *left)


def _fold(view: ConversationView, event: AgentEvent, now_s: float, summarise: Summarise) -> Folded:
    match event:
        case AssistantTextDelta():
            return _text(view, event.text, now_s)
        case AssistantThinkingDelta():
            return _thinking(view, event.text, now_s)
        case ToolCallInputDelta():
            return written(view, event), ()
        case ToolProgress():
            return progressed(view, event), ()
        case ChildEvent():
            return child_of(view, event, lambda inner: fold(inner, event.event, now_s, summarise), now_s)
        case ToolCallStart():
            view, blocks = _close(view, now_s)
            return started(view, event, now_s), blocks
        case ToolCallReady():
            view, blocks = _close(view, now_s)
            return ready(view, event, now_s, summarise(event.call)), blocks
        case ToolCallEnd():
            return ended_call(view, event)
        case ApprovalAsked():
            return asked(view, event, now_s, summarise), ()
        case ApprovalGiven():
            return given(view, event, now_s), ()
        case TaskChanged():
            return task_changed(view, event, now_s)
        case TurnStart() | TurnEnd() | RunEnd():
            return _turn(view, event, now_s)
        case HistoryReplaced() | Warned() | ApiRetry() | ReplyDiscarded() | MessageAdded() | HookFired():
            return _told(view, event)
        case _:
            assert_never(event)


def _told(
    view: ConversationView,
    event: HistoryReplaced | Warned | ApiRetry | ReplyDiscarded | MessageAdded | HookFired,
) -> Folded:
    """What happened to the conversation rather than in it."""
    match event:
        case HistoryReplaced():
            if not event.tokens_before:
                return view, ()
            before, after = event.tokens_before, event.tokens_after
            return view, (SummaryBlock(reason=event.reason, tokens_before=before, tokens_after=after),)
        case Warned():
            hint = str(event.details.get("hint", ""))
            return view, (NoticeBlock(level="warning", text=event.message, hint=hint),)
        case ApiRetry():
            of = f"{event.attempt}/{event.max_retries}"
            words = f"{event.message}; asking again in {event.delay_ms / 1000:.1f} s ({of})"
            return view, (NoticeBlock(level="warning", text=words),)
        case ReplyDiscarded():
            return _discarded(view, event)
        case MessageAdded():
            return view, added_message(event)
        case HookFired():
            return view, hook_words(event)
        case _:
            assert_never(event)


def _text(view: ConversationView, text: str, now_s: float) -> Folded:
    blocks: tuple[TranscriptBlock, ...] = ()
    if view.thinking.tail:
        view, blocks = _close_thinking(view, now_s)
    reply, done = fed(view.reply, text)
    if not done:
        return replace(view, reply=reply), blocks
    return replace(view, reply=reply, printed=view.printed + len(done)), (*blocks, *done)


def _thinking(view: ConversationView, text: str, now_s: float) -> Folded:
    """More reasoning. Behind text it closes that: what is said next is about it."""
    blocks: tuple[TranscriptBlock, ...] = ()
    if view.reply.text:
        view, blocks = _close_reply(view)
    before = view.thinking
    since_s = before.since_s if before.tail else now_s
    parts, tail = before.parts, before.tail + text
    if len(tail) > THINKING_PART_CHARS:
        parts, tail = (*parts, tail[:-1]), tail[-1:]
    return replace(view, thinking=ThinkingText(parts=parts, tail=tail, since_s=since_s)), blocks


def _turn(view: ConversationView, event: TurnStart | TurnEnd | RunEnd, now_s: float) -> Folded:
    if isinstance(event, RunEnd):
        return left_open(view, now_s)
    view, blocks = _close(view, now_s)
    match event:
        case TurnStart():
            return replace(view, turn=event.turn, printed=0), blocks
        case TurnEnd():
            return replace(view, output_tokens=view.output_tokens + event.usage.output_tokens), blocks
        case _:
            assert_never(event)


def _discarded(view: ConversationView, event: ReplyDiscarded) -> Folded:
    """The reply starts again. What was printed of it stays: a line says that it does not count."""
    words = f"the reply starts again: {event.reason}"
    if view.printed == 1:
        words += "; the block above of it does not count"
    elif view.printed:
        words += f"; the {view.printed} blocks above of it do not count"
    calls = discarded_calls(view, event.turn)
    view = replace(view, reply=OpenReply(), thinking=ThinkingText(), printed=0, calls=calls)
    return view, (NoticeBlock(level="warning", text=words),)


def _close(view: ConversationView, now_s: float) -> Folded:
    view, thought = _close_thinking(view, now_s)
    view, reply = _close_reply(view)
    return view, (*thought, *reply)


def _close_thinking(view: ConversationView, now_s: float) -> Folded:
    thinking = view.thinking
    if not thinking.tail:
        return view, ()
    block = ReasoningBlock(text=thinking.text, duration_s=now_s - thinking.since_s)
    return replace(view, thinking=ThinkingText()), (block,)


def _close_reply(view: ConversationView) -> Folded:
    if view.reply == OpenReply():
        return view, ()
    done = closed(view.reply)
    return replace(view, reply=OpenReply(), printed=view.printed + len(done)), done
