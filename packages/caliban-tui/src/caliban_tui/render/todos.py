"""The model's list of tasks as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Final

from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.markdown.words import flat
from caliban_tui.transcript.blocks import TodoRow
from caliban_tui.width import cut

SIGNS: Final = MappingProxyType(
    {"completed": ("☑", "todo_done"), "in_progress": ("▶", "todo_now"), "cancelled": ("☒", "todo_done")}
)


def todo_lines(rows: Sequence[TodoRow], columns: int, *, only_changed: bool) -> Iterator[ScreenLine]:
    """How many tasks are done, and the tasks, or those of them that changed."""
    done = sum(row.status == "completed" for row in rows)
    yield cut(plain(f"● {done} of {len(rows)} tasks done" if rows else "● no tasks", "tool"), columns)
    for row in rows:
        if row.is_changed or not only_changed:
            yield todo_line(row, columns)


def todo_line(row: TodoRow, columns: int) -> ScreenLine:
    """One task."""
    sign, style = SIGNS.get(row.status, ("☐", "todo"))
    text = flat(row.content)
    return cut((StyledText(f"  {sign} ", style), StyledText(text, style)), columns)
