"""The text face: the assistant's words on standard output, and nothing else there."""

from __future__ import annotations

import json
from typing import assert_never

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
from caliban_common.text import clean
from caliban_drive.result import PromptResult
from caliban_headless.frames import Init


class FinalText:
    """The last message of each prompt alone, once it is whole: what a program reads from a pipe.

    With `is_data` it is the one JSON value that fits a schema, and nothing where there is none. A run that
    fails is followed by what it was cut off in, if that is no word between two calls.
    """

    def __init__(self, *, is_data: bool = False) -> None:
        self._is_data = is_data
        self._last = ""

    def begin(self, init: Init) -> bytes:
        """Text has no beginning of its own."""
        return b""

    def prompt(self, message: Message) -> bytes:
        """Text does not echo prompts; the answer to the one before is whole now."""
        text, self._last = self._last, ""
        return _on_lines(text) if text and not self._is_data else b""

    def event(self, event: AgentEvent) -> bytes:
        """Nothing before the answer is whole."""
        if isinstance(event, MessageAdded) and event.message.role == "assistant" and not event.injected:
            self._last = event.message.text or self._last
        return b""

    def result(self, result: PromptResult) -> bytes:
        """The message, on lines of its own."""
        self._last = ""
        if self._is_data:
            return self._document(result)
        if result.is_error and not (result.is_answer and result.text):
            return b""
        return _on_lines(result.text)

    def _document(self, result: PromptResult) -> bytes:
        """The value as the model wrote it, where it wrote nothing else."""
        if not result.has_structured:
            return b""
        text = result.text.strip()
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            text = dumps(result.structured).decode("utf-8")
        return f"{clean(text)}\n".encode()


def _on_lines(text: str) -> bytes:
    words = clean(text)
    return (words if words.endswith("\n") else f"{words}\n").encode("utf-8")


class TextEncoder:
    """Streams text as it comes, to a person at a terminal; turns stand on lines of their own.

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
            case Warned(subtype="local_command_output"):
                return self._print(event.message)
            case (
                AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolCallReady()
                | ToolCallEnd()
                | ApprovalAsked()
                | ApprovalGiven()
                | ToolProgress()
                | TaskChanged()
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
        text_so_far = "".join(self._parts)
        if self._shown.startswith(text_so_far):
            return b""
        if text_so_far.startswith(self._shown):
            rest = text_so_far[len(self._shown) :]
        else:
            rest = ("\n" if self._open_line else "") + text_so_far
        self._shown = ""
        return self._print(rest)

    def _end_of_repeat(self) -> bytes:
        """The new reply is over and was only a beginning of the old one: say it in full."""
        text_so_far = "".join(self._parts)
        shown, self._shown = self._shown, ""
        if text_so_far == shown:
            return self._new_line()
        return self._new_line() + self._print(text_so_far) + self._new_line()

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
