"""What a person sees on standard error beside the answer."""

from __future__ import annotations

import select
import sys
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
from caliban_common.message import ToolUseBlock
from caliban_common.text import one_line, plural
from caliban_common.tool import FixedTools, ToolSource
from caliban_drive.notice import Notice
from caliban_drive.result import PromptResult

UNSPOKEN = ("cache_miss",)
"""Warnings for frames only: a person can do nothing about them."""

UNFRAMED = ("slow_key_helper", "status")
"""Warnings that frames have no word for: they stand on standard error beside frames, too."""


def print_notice(text: str) -> None:
    """Write `text` to standard error; nobody listening is no reason to fail, or to wait."""
    if text:
        try:
            if sys.platform != "win32" and not select.select([], [sys.stderr.fileno()], [], 0)[1]:
                return
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, UnicodeError):
            pass


def show_notice(notice: Notice) -> None:
    """Say `notice` on standard error at once: what is reported while no prompt runs."""
    if notice.subtype != "status" or _is_watched():
        print_notice(line(notice.message, notice.hint))


def _is_watched() -> bool:
    """Whether a person sees standard error: only they want to know how far something is."""
    return sys.stderr is not None and sys.stderr.isatty()


def line(message: str, hint: str | None = None) -> str:
    """`message` as it stands on standard error."""
    return f"[caliban: {message}]\n" + (f"[hint: {hint}]\n" if hint else "")


class Notices:
    """Lines for standard error. `announce` says which tools run; problems are told in any case.

    Beside frames (`framed`) there are lines only for what these do not say. The specs of the `tools` tell
    which argument says most about a call.
    """

    def __init__(self, *, announce: bool, framed: bool = False, tools: ToolSource | None = None) -> None:
        self._announce = announce
        self._tools = tools or FixedTools()
        self._framed = framed

    def event(self, event: AgentEvent) -> str:
        """The line for `event`, or nothing."""
        if self._framed:
            return self._unframed(event)
        match event:
            case ToolCallReady():
                return f"[{describe_call(event.call, self._tools)}]\n" if self._announce else ""
            case ToolCallEnd():
                denied = event.outcome == "denied"
                return line(f"{event.name} was denied: {one_line(event.reason)}") if denied else ""
            case ApiRetry():
                wait_s = event.delay_ms / 1000
                attempt = f"{event.attempt}/{event.max_retries}"
                return line(f"{one_line(event.message)}; asking again in {wait_s:.1f} s ({attempt})")
            case ReplyDiscarded():
                return line(f"the reply starts again: {one_line(event.reason)}")
            case Warned():
                return _warning(event)
            case (
                TurnStart()
                | AssistantTextDelta()
                | AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolProgress()
                | ChildEvent()
                | MessageAdded()
                | HistoryReplaced()
                | HookFired()
                | TurnEnd()
                | RunEnd()
            ):
                return ""
            case _:
                assert_never(event)

    def _unframed(self, event: AgentEvent) -> str:
        return _warning(event) if isinstance(event, Warned) and event.subtype in UNFRAMED else ""

    def result(self, result: PromptResult) -> str:
        """The line for an end that is no success."""
        if self._framed or not result.is_error:
            return ""
        return line(_words(result), result.hint)


def describe_call(call: ToolUseBlock, tools: ToolSource) -> str:
    """A tool call in a few words: its name and its main argument."""
    specs = (tool.spec for tool in tools.tools() if tool.spec.name == call.name)
    main_argument = next((spec.main_argument for spec in specs), None)
    value = None if main_argument is None else call.input.get(main_argument)
    return f"{call.name} {one_line(value, max_chars=120)}" if isinstance(value, str) else call.name


def _warning(event: Warned) -> str:
    if event.subtype in UNSPOKEN or (event.subtype == "status" and not _is_watched()):
        return ""
    return line(one_line(event.message))


def _words(result: PromptResult) -> str:
    error = " ".join((result.error or "").split("\n"))
    match result.subtype:
        case "max_turns":
            return f"{error}; {plural(result.tool_calls_seen, 'tool call')} made"
        case "cancelled":
            return "cancelled"
        case _:
            return error or result.subtype
