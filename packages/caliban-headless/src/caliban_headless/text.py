"""The text face: the assistant's words on standard output, and nothing else there."""

from __future__ import annotations

from typing import assert_never

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
from caliban_common.text import clean
from caliban_drive.result import PromptResult
from caliban_headless.frames import Init


class TextEncoder:
    """Streams text as it comes; turns stand on lines of their own.

    Words that were taken back cannot be unprinted. The reply that replaces them is held against what was
    shown: as long as it says the same, nothing is printed twice; where it differs, it starts on a new line.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._shown = ""
        self._open_line = False
        self._any = False

    def begin(self, init: Init) -> bytes:
        """Text has no beginning of its own."""
        return b""

    def prompt(self, message: Message) -> bytes:
        """Text does not echo prompts."""
        return b""

    def event(self, event: AgentEvent) -> bytes:
        """What `event` adds to standard output."""
        match event:
            case AssistantTextDelta():
                return self._delta(event.text)
            case TurnStart():
                self._parts, self._shown = [], ""
                return b""
            case ReplyDiscarded():
                self._shown = self._shown or "".join(self._parts)
                self._parts = []
                return b""
            case TurnEnd() if self._shown:
                return self._end_of_repeat()
            case TurnEnd():
                return self._new_line()
            case MessageAdded():
                if event.injected:
                    self._parts = []
                return b""
            case (
                AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolCallReady()
                | ToolCallEnd()
                | ToolProgress()
                | ChildEvent()
                | HistoryReplaced()
                | ApiRetry()
                | Warned()
                | HookFired()
                | RunEnd()
            ):
                return b""
            case _:
                assert_never(event)

    def result(self, result: PromptResult) -> bytes:
        """The end: whatever was printed ends with a newline."""
        if result.has_structured and not self._any:
            return b""
        if not self._any and not result.is_error:
            return b"\n"
        return self._new_line()

    def _delta(self, text: str) -> bytes:
        self._parts.append(text)
        if not self._shown:
            return self._print(text)
        said = "".join(self._parts)
        if self._shown.startswith(said):
            return b""
        if said.startswith(self._shown):
            rest = said[len(self._shown) :]
        else:
            rest = ("\n" if self._open_line else "") + said
        self._shown = ""
        return self._print(rest)

    def _end_of_repeat(self) -> bytes:
        """The new reply is over and was only a beginning of the old one: say it in full."""
        said = "".join(self._parts)
        shown, self._shown = self._shown, ""
        if said == shown:
            return self._new_line()
        return self._new_line() + self._print(said) + self._new_line()

    def _print(self, text: str) -> bytes:
        if not text:
            return b""
        self._any = True
        self._open_line = not text.endswith("\n")
        return clean(text).encode("utf-8")

    def _new_line(self) -> bytes:
        if not self._open_line:
            return b""
        self._open_line = False
        return b"\n"
