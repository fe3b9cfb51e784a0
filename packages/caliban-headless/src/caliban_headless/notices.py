"""What a person sees on standard error beside the answer."""

from __future__ import annotations

import select
import sys
from typing import assert_never

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
from caliban_common.message import TextBlock
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_common.tool import FixedTools, ToolSource
from caliban_drive.calls import MAX_NAME_CHARS, describe_call
from caliban_drive.notice import Notice
from caliban_drive.remedies import advice, result_advice
from caliban_drive.result import PromptResult

UNSPOKEN = ("cache_miss",)
"""Warnings for frames only: a person can do nothing about them."""

UNFRAMED = ("slow_key_helper", "status")
"""Warnings that frames have no word for: they stand on standard error beside frames, too."""

PREFIX = "caliban: "
"""How a line on standard error begins that a program of several says."""

REQUEST = "can_use_tool"
WITHDRAWN = "can_use_tool_withdrawn"
RESPONSE = "control_response"
"""The notice that answers a program's own question: a frame of its own, too."""
QUESTIONS = (REQUEST, WITHDRAWN)
"""Notices that are questions to a program: frames of their own, and no line."""

LOCAL_OUTPUT = "local_command_output"
"""What a command of ours shows: the answer itself, and no line beside it."""

ANNOUNCED = ("auto_mode",)
"""Warnings that say no more than what goes on: where that is not told, neither are they."""

UNSAVED = "session_write_failed"
"""The session is not saved any more: there is nothing to go on with."""

SPOKEN_TOO = (*UNFRAMED, UNSAVED)
"""Warnings that stand on standard error beside frames: whoever watches must not learn too late of these."""


def print_notice(text: str) -> None:
    """Write `text` to standard error; nobody listening is no reason to fail, or to wait."""
    if text:
        try:
            if sys.platform != "win32" and not select.select([], [sys.stderr.fileno()], [], 0)[1]:
                return
            sys.stderr.write(visible(text) if sys.stderr.isatty() else text)
            sys.stderr.flush()
        except (OSError, ValueError, UnicodeError):
            pass


def show_notice(notice: Notice) -> None:
    """Say `notice` on standard error at once: what is reported while no prompt runs."""
    if notice.subtype not in QUESTIONS and (notice.subtype != "status" or _is_watched()):
        print_notice(line(notice.message, advice(notice.hint, notice.remedy)))


def _is_watched() -> bool:
    """Whether a person sees standard error: only they want to know how far something is."""
    return sys.stderr is not None and sys.stderr.isatty()


def line(message: str, hint: str | None = None) -> str:
    """`message` as it stands on standard error."""
    return f"{PREFIX}{message}\n" + (f"hint: {hint}\n" if hint else "")


class Notices:
    """Lines for standard error. `announce` says which tools run; problems are told in any case.

    Beside frames (`framed`) there are lines only for what these do not say. The specs of the `tools` tell
    which argument says most about a call; `resume` is the command that goes on with the session.
    """

    def __init__(
        self,
        *,
        announce: bool,
        framed: bool = False,
        tools: ToolSource | None = None,
        resume: str | None = None,
    ) -> None:
        self._announce = announce
        self._resume = resume
        self._tools = tools or FixedTools()
        self._framed = framed

    def event(self, event: AgentEvent) -> str:
        """The line for `event`, or nothing."""
        if isinstance(event, Warned) and event.subtype == UNSAVED:
            self._resume = None
        if self._framed:
            return self._unframed(event)
        match event:
            case ToolCallReady():
                return f"[{describe_call(event.call, self._tools)}]\n" if self._announce else ""
            case ToolCallEnd():
                return _ended(event, with_failures=self._announce)
            case ApiRetry():
                wait_s = event.delay_ms / 1000
                attempt = f"{event.attempt}/{event.max_retries}"
                return line(f"{one_line(event.message)}; asking again in {wait_s:.1f} s ({attempt})")
            case ReplyDiscarded():
                return line(f"the reply starts again: {one_line(event.reason)}")
            case Warned():
                return "" if event.subtype in ANNOUNCED and not self._announce else _warning(event)
            case HistoryReplaced():
                return _shortened(event)
            case ChildEvent():
                return _of_agent(self.event(event.event), event.agent)
            case TaskChanged():
                return _task(event) if self._announce else ""
            case (
                TurnStart()
                | AssistantTextDelta()
                | AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ApprovalAsked()
                | ApprovalGiven()
                | ToolProgress()
                | MessageAdded()
                | HookFired()
                | TurnEnd()
                | RunEnd()
            ):
                return ""
            case _:
                assert_never(event)

    def _unframed(self, event: AgentEvent) -> str:
        if isinstance(event, ChildEvent):
            return _of_agent(self._unframed(event.event), event.agent)
        return _warning(event) if isinstance(event, Warned) and event.subtype in SPOKEN_TOO else ""

    def result(self, result: PromptResult) -> str:
        """The lines at the end: why it is no success, and what it came to."""
        if self._framed:
            return ""
        failure = line(_words(result), result_advice(result)) if result.is_error else ""
        if result.pending:
            from caliban_headless.pending import pending_line

            failure += "".join(map(pending_line, result.pending))
            go_on = f"{self._resume or 'caliban -r SESSION'} -p --approve CALL, or --reject CALL"
            failure += f"hint: {go_on}\n"
        return failure + (self._summary(result) if self._announce and result.turns else "")

    def _summary(self, result: PromptResult) -> str:
        tokens = f"{result.usage.input_tokens:,} tokens in, {result.usage.output_tokens:,} out"
        seconds = f"{result.duration_ms / 1000:.1f} s"
        parts = [plural(result.turns, "turn"), tokens, _cost(result), seconds]
        kept = f"; go on: {self._resume}" if self._resume is not None else "; not saved"
        return line(", ".join(parts) + kept)


def _of_agent(text: str, agent: str) -> str:
    """A line about what a sub-agent meets, under its name."""
    for start in ("[", PREFIX):
        if text.startswith(start):
            return f"{start}{agent}: {text.removeprefix(start)}"
    return text


def _task(event: TaskChanged) -> str:
    words = "goes on in the background" if event.status == "started" else f"{event.status} in the background"
    return f"[{one_line(event.title, max_chars=120)}: {words}]\n"


def _ended(event: ToolCallEnd, *, with_failures: bool) -> str:
    """Why a call did not do what it was to do; those that did need no word."""
    name = one_line(event.name, max_chars=MAX_NAME_CHARS)
    if event.outcome == "denied":
        return line(f"{name} was denied: {one_line(event.reason)}")
    if not with_failures or not event.result.is_error:
        return ""
    words = (part.text for part in event.result.content if isinstance(part, TextBlock))
    return line(f"{name} failed: {one_line(next(words, '') or 'without a word', max_chars=200)}")


def _cost(result: PromptResult) -> str:
    """What was spent, as far as prices are known."""
    unpriced = any(cost is None for _, _, cost in result.model_usage)
    dollars = f"${result.cost_usd:.4f}"
    return dollars if not unpriced else "price unknown" if not result.cost_usd else f"over {dollars}"


def _warning(event: Warned) -> str:
    if event.subtype in (*UNSPOKEN, LOCAL_OUTPUT) or (event.subtype == "status" and not _is_watched()):
        return ""
    hint = event.details.get("hint") if event.subtype == UNSAVED else None
    return line(one_line(event.message), hint if isinstance(hint, str) else None)


def _shortened(event: HistoryReplaced) -> str:
    if not event.tokens_before:
        return ""
    return line(f"{event.reason}: about {event.tokens_before:,} tokens are {event.tokens_after:,} now")


def _words(result: PromptResult) -> str:
    error = " ".join((result.error or "").split("\n"))
    match result.subtype:
        case "max_turns":
            return f"{error}; {plural(result.tool_calls_seen, 'tool call')} made"
        case "cancelled":
            return "cancelled"
        case _:
            return error or result.subtype
