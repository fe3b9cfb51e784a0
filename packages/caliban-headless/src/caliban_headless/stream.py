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
from caliban_common.message import Message
from caliban_drive.result import PromptResult
from caliban_headless import frames
from caliban_headless.frames import Init
from caliban_headless.notices import UNFRAMED


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

    def begin(self, init: Init) -> bytes:
        """The `system/init` frame."""
        return _line(frames.init_frame(init))

    def prompt(self, message: Message) -> bytes:
        """The echo of a prompt, if asked for."""
        return _line(frames.user_frame(message)) if self._options.replay_user else b""

    def event(self, event: AgentEvent) -> bytes:
        """The frame for `event`, or nothing."""
        if type(event) is AssistantTextDelta:
            return _delta("text", event.text) if self._options.partial else b""
        frame = self._frame(event)
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
            case TurnEnd():
                return None if self._options.partial else frames.message_frame(event)
            case ApiRetry():
                return frames.retry_frame(event)
            case ReplyDiscarded():
                return frames.discarded_frame(event) if self._options.partial else None
            case Warned():
                return None if event.subtype in UNFRAMED else frames.warning_frame(event)
            case HookFired():
                return frames.hook_frame(event) if self._options.hooks else None
            case ToolProgress() | ChildEvent():
                return None  # the dialect has no frame for them: what a child does is not the run's own
            case (
                TurnStart()
                | AssistantTextDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | MessageAdded()
                | HistoryReplaced()
                | RunEnd()
            ):
                return None
            case _:
                assert_never(event)

    def _elapsed_ms(self) -> float | None:
        return (self._clock() - self._started) * 1000 if self._options.dispatch else None


def _line(frame: dict[str, Any]) -> bytes:
    return dumps(frame) + b"\n"


def _delta(kind: str, text: str) -> bytes:
    """A delta frame, written by hand: there can be fifty thousand of them."""
    try:
        return f'{{"type":"{kind}","delta":{json.dumps(text, ensure_ascii=False)}}}\n'.encode()
    except UnicodeEncodeError:
        return _line({"type": kind, "delta": text})
