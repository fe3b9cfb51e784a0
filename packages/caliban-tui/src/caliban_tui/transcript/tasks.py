"""Agents below a call and work in the background: a view of their own below the call that started them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from caliban_common.event import ChildEvent, TaskChanged
from caliban_tui.transcript.blocks import NoticeBlock, TaskBlock, TranscriptBlock
from caliban_tui.transcript.view import ConversationView, RunningCall

MAX_INNER: Final = 200
"""Of what an agent did the last as many blocks are kept for a screen; the rest is counted."""

FoldInner = Callable[[ConversationView], tuple[ConversationView, tuple[TranscriptBlock, ...]]]


def child_of(
    view: ConversationView, event: ChildEvent, fold_inner: FoldInner, now_s: float
) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    """The view after something happened in an agent's run; what it warns of is told at once."""
    is_task = any(task.tool_use_id == event.tool_use_id for task in view.tasks)
    calls = view.tasks if is_task else view.calls
    warnings: tuple[TranscriptBlock, ...] = ()
    changed: list[RunningCall] = []
    for call in calls:
        if call.tool_use_id == event.tool_use_id:
            before = call.child or ConversationView(is_working=True, began_s=now_s)
            child, blocks = fold_inner(before)
            warnings = tuple(
                _warned(block, event.agent) for block in blocks if isinstance(block, NoticeBlock)
            )
            call = replace(
                call,
                child=child,
                inner=(*call.inner, *blocks)[-MAX_INNER:] if blocks else call.inner,
                inner_count=call.inner_count + len(blocks),
            )
        changed.append(call)
    rows = tuple(changed)
    return (replace(view, tasks=rows) if is_task else replace(view, calls=rows)), warnings


def task_changed(
    view: ConversationView, event: TaskChanged, now_s: float
) -> tuple[ConversationView, tuple[TranscriptBlock, ...]]:
    """Work goes to the background, or is over there."""
    if event.status == "started":
        call = next((call for call in view.calls if call.tool_use_id == event.tool_use_id), None)
        task = RunningCall(
            tool_use_id=event.tool_use_id,
            name=event.name,
            summary=event.title,
            began_s=now_s,
            child=call.child if call is not None else None,
        )
        return replace(view, tasks=(*view.tasks, task)), ()
    task_of = next((task for task in view.tasks if task.tool_use_id == event.tool_use_id), None)
    block = TaskBlock(
        title=event.title,
        status=event.status,
        duration_s=now_s - task_of.began_s if task_of is not None else 0.0,
        inner=task_of.inner if task_of is not None else (),
        left_out=task_of.inner_count - len(task_of.inner) if task_of is not None else 0,
    )
    rest = tuple(task for task in view.tasks if task.tool_use_id != event.tool_use_id)
    return replace(view, tasks=rest), (block,)


def _warned(block: NoticeBlock, agent: str) -> NoticeBlock:
    return replace(block, text=f"{agent}: {block.text}")
