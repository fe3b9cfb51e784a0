"""Tool calls on their way, from the first words of one that is being written to its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from caliban_common.event import (
    ApprovalAsked,
    ApprovalGiven,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
)
from caliban_common.message import ImageBlock, ToolUseBlock
from caliban_tui.transcript.blocks import CallBlock, TodoBlock, TodoRow, TranscriptBlock
from caliban_tui.transcript.view import PROGRESS_CHARS, ConversationView, RunningCall
from caliban_tui.words import result_text

MAX_TODOS: Final = 200


def started(view: ConversationView, event: ToolCallStart, now_s: float) -> ConversationView:
    """The model begins to write a call."""
    call = RunningCall(
        tool_use_id=event.tool_use_id,
        name=event.name,
        summary=event.name,
        began_s=now_s,
        turn=event.turn,
        state="written",
    )
    return _with(view, call)


def written(view: ConversationView, event: ToolCallInputDelta) -> ConversationView:
    """A piece of its arguments: only how much there is of them is shown."""
    call = _find(view, event.tool_use_id)
    if call is None:
        return view
    return _with(view, replace(call, input_chars=call.input_chars + len(event.partial_json)))


def ready(view: ConversationView, event: ToolCallReady, now_s: float, summary: str) -> ConversationView:
    """A call is complete."""
    call = event.call
    return _with(
        view,
        RunningCall(
            tool_use_id=call.id,
            name=call.name,
            summary=summary,
            began_s=now_s,
            turn=event.turn,
            arguments=call.input,
        ),
    )


def asked(
    view: ConversationView, event: ApprovalAsked, now_s: float, summarise: Callable[[ToolUseBlock], str]
) -> ConversationView:
    """A call waits for a person."""
    known = _find(view, event.call.id)
    if known is None:
        ready_event = ToolCallReady(turn=event.turn, call=event.call)
        view = ready(view, ready_event, now_s, summarise(event.call))
        known = _find(view, event.call.id)
    assert known is not None
    return _with(view, replace(known, state="waiting"))


def given(view: ConversationView, event: ApprovalGiven, now_s: float) -> ConversationView:
    """The answer: one that may run begins to."""
    call = _find(view, event.tool_use_id)
    return view if call is None else _with(view, replace(call, state="running", began_s=now_s))


def progressed(view: ConversationView, event: ToolProgress) -> ConversationView:
    """A call, or what it has left to the background, says how far it is."""
    for place in ("calls", "tasks"):
        calls: tuple[RunningCall, ...] = getattr(view, place)
        if any(call.tool_use_id == event.tool_use_id for call in calls):
            words = tuple(
                replace(call, progress=(call.progress + event.text)[-PROGRESS_CHARS:])
                if call.tool_use_id == event.tool_use_id
                else call
                for call in calls
            )
            return replace(view, **{place: words})
    return view


def ended_call(
    view: ConversationView, event: ToolCallEnd
) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    """A call has its result. One that keeps the list of tasks gives the list."""
    id = event.result.tool_use_id
    call = _find(view, id)
    view = replace(view, calls=tuple(call for call in view.calls if call.tool_use_id != id))
    todos = None if event.result.is_error else _todos(view, event.details)
    if todos is not None:
        return replace(view, todos=todos), (TodoBlock(rows=todos, is_apart=view.above == "reply"),)
    content = event.result.content
    failed = event.outcome == "ran" and event.result.is_error
    inner = call.inner if call is not None else ()
    block = CallBlock(
        tool_use_id=id,
        name=event.name,
        summary=call.summary if call is not None else event.name,
        arguments=call.arguments if call is not None else {},
        output=result_text(content),
        outcome="failed" if failed else event.outcome,
        reason=event.reason,
        details=event.details,
        duration_s=event.duration_ms / 1000,
        agent=call.agent if call is not None else "",
        images=tuple(part for part in content if isinstance(part, ImageBlock)),
        inner=inner,
        left_out=call.inner_count - len(inner) if call is not None else 0,
        is_apart=view.above == "reply",
    )
    return view, (block,)


def unfinished(view: ConversationView, now_s: float) -> tuple[TranscriptBlock, ...]:
    """Calls whose run ended before they did."""
    return tuple(
        CallBlock(
            tool_use_id=call.tool_use_id,
            name=call.name,
            summary=call.summary,
            arguments=call.arguments,
            outcome="interrupted",
            duration_s=now_s - call.began_s,
            inner=call.inner,
            left_out=call.inner_count - len(call.inner),
        )
        for call in view.calls
        if call.state == "running"
    )


def discarded_calls(view: ConversationView, turn: int) -> tuple[RunningCall, ...]:
    """The calls without those of a reply that starts again."""
    return tuple(call for call in view.calls if call.turn != turn)


def _find(view: ConversationView, id: str) -> RunningCall | None:
    return next((call for call in view.calls if call.tool_use_id == id), None)


def _with(view: ConversationView, call: RunningCall) -> ConversationView:
    """The view with `call` in the place of the one with its id, else at the end."""
    calls = list(view.calls)
    for number, known in enumerate(calls):
        if known.tool_use_id == call.tool_use_id:
            calls[number] = call
            return replace(view, calls=tuple(calls))
    return replace(view, calls=(*calls, call))


def _todos(view: ConversationView, details: Mapping[str, Any]) -> tuple[TodoRow, ...] | None:
    """The list of tasks that a call has set, `None` where it set none."""
    given = details.get("todos")
    if not isinstance(given, list | tuple) or not all(isinstance(row, Mapping) for row in given):
        return None
    before = {(row.content, row.status) for row in view.todos}
    rows = []
    for row in given[:MAX_TODOS]:
        content, status = str(row.get("content", "")), str(row.get("status", ""))
        changed = (content, status) not in before
        rows.append(TodoRow(content=content, status=status, is_changed=changed))
    return tuple(rows)
