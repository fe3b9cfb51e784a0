"""The stream-json face: one frame a line, in the guide's dialect."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any, assert_never

from msgspec import Struct

from caliban_common.codec import dumps
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
from caliban_common.message import Message
from caliban_common.usage import Usage
from caliban_drive.result import PromptResult
from caliban_headless import frames
from caliban_headless.frames import Init
from caliban_headless.notices import LOCAL_OUTPUT, QUESTIONS, RESPONSE, UNFRAMED, WITHDRAWN


class StreamOptions(Struct, frozen=True, kw_only=True):
    """Which optional frames are written."""

    partial: bool = False
    hooks: bool = False
    dispatch: bool = False
    replay_user: bool = False


class StreamEncoder:
    """Frames as things happen. `message` frames are absent where partial ones are asked for.

    A `warning/reply_discarded` frame then takes back the deltas of the reply so far.
    """

    def __init__(self, options: StreamOptions, clock: Callable[[], float] = perf_counter) -> None:
        self._options = options
        self._clock = clock
        self._started = clock()
        self._open: Message | None = None  # a reply whose turn has not ended
        self._prompt = ""  # the id of the prompt at work, which has its echo
        self._told = Usage()

    def use_clock(self, clock: Callable[[], float]) -> None:
        """Read `clock` from here on, before anything is encoded."""
        self._clock, self._started = clock, clock()

    def begin(self, init: Init) -> bytes:
        """The `system/init` frame."""
        return _line(frames.init_frame(init))

    def prompt(self, message: Message) -> bytes:
        """The echo of a prompt, if asked for."""
        self._prompt = message.id
        return _line(frames.user_frame(message)) if self._options.replay_user else b""

    def event(self, event: AgentEvent) -> bytes:
        """The frame for `event`, or nothing."""
        if type(event) is AssistantTextDelta:
            return _delta("text", event.text) if self._options.partial else b""
        frame = self._child_frame(event) if isinstance(event, ChildEvent) else self._frame(event)
        return b"" if frame is None else _line(frame)

    def result(self, result: PromptResult) -> bytes:
        """The `result` frame."""
        return _line(frames.result_frame(result))

    def _frame(self, event: AgentEvent) -> dict[str, Any] | None:
        match event:
            case AssistantThinkingDelta():
                return {"type": "thinking", "delta": event.text} if self._options.partial else None
            case ToolCallReady():
                return frames.tool_use_frame(event)
            case ToolCallEnd():
                return frames.tool_result_frame(event, self._elapsed_ms())
            case MessageAdded():
                if event.message.role == "assistant":
                    self._open = event.message
                return self._echo(event)
            case TurnEnd():
                self._open = None
                self._told += event.usage
                return None if self._options.partial else frames.message_frame(event.message, event.usage)
            case RunEnd():
                return self._cut_message(event)
            case HistoryReplaced():
                return frames.compact_frame(event) if event.tokens_before else None
            case ApiRetry():
                return frames.retry_frame(event)
            case ReplyDiscarded():
                return frames.discarded_frame(event) if self._options.partial else None
            case Warned():
                return _warned(event)
            case HookFired():
                return frames.hook_frame(event) if self._options.hooks else None
            case TaskChanged():
                return frames.task_frame(event)
            case (
                TurnStart()
                | AssistantTextDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolProgress()
                | ChildEvent()
                | ApprovalAsked()
                | ApprovalGiven()
            ):
                return None  # the dialect has no frame for them, or it is made elsewhere
            case _:
                assert_never(event)

    def _child_frame(self, child: ChildEvent) -> dict[str, Any] | None:
        """What a sub-agent calls and meets, marked as its own; its words are for who started it."""
        match child.event:
            case ChildEvent():
                return self._child_frame(child.event)
            case ToolCallReady() | ToolCallEnd() | HistoryReplaced() | ApiRetry() | Warned() | HookFired():
                frame = self._frame(child.event)
                return None if frame is None else frames.of_child(frame, child)
            case _:
                return None

    def _echo(self, event: MessageAdded) -> dict[str, Any] | None:
        """The echo of what was said to the run at work, if asked for."""
        message = event.message
        by_user = message.role == "user" and not event.injected and not message.tool_results
        is_new = by_user and self._options.replay_user and message.id != self._prompt
        return frames.user_frame(message) if is_new else None

    def _cut_message(self, event: RunEnd) -> dict[str, Any] | None:
        """The message of a turn that was cut off, which is in the history all the same."""
        message, self._open = self._open, None
        usage, self._told = event.usage - self._told, Usage()
        return None if message is None or self._options.partial else frames.message_frame(message, usage)

    def _elapsed_ms(self) -> float | None:
        return (self._clock() - self._started) * 1000 if self._options.dispatch else None


def _line(frame: dict[str, Any]) -> bytes:
    return dumps(frame) + b"\n"


def _warned(event: Warned) -> dict[str, Any] | None:
    if event.subtype == LOCAL_OUTPUT:
        return frames.local_frame(event.message)
    if event.subtype == RESPONSE:
        return {"type": RESPONSE, **event.details}
    if event.subtype in QUESTIONS:
        return frames.control_frame(event, withdraws=event.subtype == WITHDRAWN)
    return None if event.subtype in UNFRAMED else frames.warning_frame(event)


def _delta(kind: str, text: str) -> bytes:
    """A delta frame, written by hand: there can be fifty thousand of them."""
    try:
        return f'{{"type":"{kind}","delta":{json.dumps(text, ensure_ascii=False)}}}\n'.encode()
    except UnicodeEncodeError:
        return _line({"type": kind, "delta": text})
