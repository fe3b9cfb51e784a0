"""TodoWrite: the list of tasks, replaced as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.text import one_line
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.session.facts import STATUSES
from caliban_tools_builtin.session.ports import SessionBoard

MAX_TODOS: Final = 100
MAX_ID_CHARS: Final = 64
MAX_CONTENT_CHARS: Final = 500


class TodoWrite:
    """The tool TodoWrite."""

    def __init__(self, board: SessionBoard) -> None:
        self._board = board

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The list: two versions of it are written in the order of the calls."""
        return "the list of tasks"

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Keep the list; see `Tool`."""
        return await answered(lambda: self._write(args))

    async def _write(self, args: Mapping[str, Any]) -> ToolOutput:
        given = Arguments(args, known=("todos",))
        todos = checked_todos(given.objects("todos"))
        self._board.set_todos(todos)
        return ToolOutput.of(f"→ TodoWrite: {_summary(todos)}", details={"todos": list(todos)})


def checked_todos(items: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """The tasks as they are kept: one without an id is numbered. Raises `ArgumentError`."""
    if len(items) > MAX_TODOS:
        raise ArgumentError(f"{len(items)} todos are too many: at most {MAX_TODOS}")
    given = {str(item.get("id")) for item in items}
    free = (id for id in map(str, count(1)) if id not in given)
    todos = tuple(_todo(item, number, free) for number, item in enumerate(items, 1))
    id, times = Counter(todo["id"] for todo in todos).most_common(1)[0] if todos else ("", 0)
    if times > 1:
        raise ArgumentError(f"{times} todos have the id {id!r}: each needs its own")
    return todos


def _todo(item: Mapping[str, Any], number: int, free: Iterator[str]) -> Mapping[str, Any]:
    id, content, status = item.get("id"), item.get("content"), item.get("status")
    if isinstance(id, int):
        id = str(id)
    if id is None:
        id = next(free)
    if not isinstance(id, str) or not 0 < len(id) <= MAX_ID_CHARS:
        raise ArgumentError(f"todo {number}: id must be a string of 1 to {MAX_ID_CHARS} characters")
    if not isinstance(content, str) or not content.strip():
        raise ArgumentError(f"todo {number}: content must be a text that is not empty")
    if len(content) > MAX_CONTENT_CHARS:
        raise ArgumentError(
            f"todo {number}: content has {len(content)} characters, the limit is {MAX_CONTENT_CHARS}"
        )
    if status not in STATUSES:
        raise ArgumentError(f"todo {number}: status must be one of {', '.join(STATUSES)}")
    return {"id": one_line(id), "content": one_line(content, max_chars=MAX_CONTENT_CHARS), "status": status}


def _summary(todos: tuple[Mapping[str, Any], ...]) -> str:
    if not todos:
        return "list cleared"
    counts = Counter(str(todo["status"]) for todo in todos)
    parts = [f"{counts[status]} {status.replace('_', ' ')}" for status in STATUSES if counts[status]]
    return f"{len(todos)} total ({', '.join(parts)})"
