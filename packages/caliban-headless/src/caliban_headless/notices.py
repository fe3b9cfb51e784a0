"""What a person sees on standard error beside the text and json faces."""

from __future__ import annotations

from collections.abc import Mapping

from caliban_common.event import AgentEvent, ApiRetry, ReplyDiscarded, ToolCallEnd, ToolCallReady, Warned
from caliban_common.message import ToolUseBlock
from caliban_common.text import one_line, plural
from caliban_headless.totals import Result

UNSPOKEN = ("cache_miss",)
"""Warnings for frames only: a person can do nothing about them."""


class Notices:
    """Lines for standard error. `announce` says which tools run; problems are told in any case.

    `main_arguments` are by tool the argument that says most about a call.
    """

    def __init__(self, *, announce: bool, main_arguments: Mapping[str, str | None] | None = None) -> None:
        self._announce = announce
        self._main_arguments = main_arguments or {}

    def event(self, event: AgentEvent) -> str:
        """The line for `event`, or nothing."""
        match event:
            case ToolCallReady() if self._announce:
                return f"[{describe_call(event.call, self._main_arguments.get(event.call.name))}]\n"
            case ToolCallEnd() if event.outcome == "denied":
                return f"[caliban: {event.name} was denied: {one_line(event.reason)}]\n"
            case ApiRetry():
                wait_s = event.delay_ms / 1000
                return (
                    f"[caliban: {one_line(event.message)}; asking again in {wait_s:.1f} s"
                    f" ({event.attempt}/{event.max_retries})]\n"
                )
            case ReplyDiscarded():
                return f"[caliban: the reply starts again: {one_line(event.reason)}]\n"
            case Warned() if event.subtype not in UNSPOKEN:
                return f"[caliban: {one_line(event.message)}]\n"
            case _:
                return ""

    def result(self, result: Result) -> str:
        """The line for an end that is no success."""
        if not result.is_error:
            return ""
        what = _words(result)
        hint = f"\n[hint: {result.hint}]" if result.hint else ""
        return f"[caliban: {what}]{hint}\n"


def describe_call(call: ToolUseBlock, main_argument: str | None) -> str:
    """A tool call in a few words: its name and its main argument."""
    value = call.input.get(main_argument) if main_argument is not None else None
    return f"{call.name} {one_line(value, max_chars=120)}" if isinstance(value, str) else call.name


def _words(result: Result) -> str:
    error = " ".join((result.error or "").split("\n"))
    match result.subtype:
        case "max_turns":
            return f"{error}; {plural(result.tool_calls_seen, 'tool call')} made"
        case "cancelled":
            return "cancelled"
        case _:
            return error or result.subtype
