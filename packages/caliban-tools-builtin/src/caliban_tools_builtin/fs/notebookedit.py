"""NotebookEdit: one cell of a notebook added, changed or taken away."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.text import one_line, plural
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import off_loop
from caliban_tools_builtin.errors import EditRefused, FileMissing
from caliban_tools_builtin.fence import Fence
from caliban_tools_builtin.fs.file import load, store, with_note
from caliban_tools_builtin.fs.notebook import CELL_TYPES, Notebook, new_cell, read_notebook, retyped
from caliban_tools_builtin.fs.text import decode, encode
from caliban_tools_builtin.fs.tracker import ReadTracker
from caliban_tools_builtin.fs.write import file_key, unicode_text

MAX_BYTES: Final = 50_000_000
"""Of a notebook: pictures in its results make it large."""
_WORDS: Final[Mapping[str, str]] = {"insert": "add", "replace": "edit"}
_DONE: Final[Mapping[str, str]] = {"add": "added", "edit": "edited", "delete": "deleted"}


class NotebookEdit:
    """The tool NotebookEdit."""

    def __init__(self, fence: Fence, ledger: ReadTracker) -> None:
        self._fence = fence
        self._ledger = ledger

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The file: two changes of one file never run at once."""
        return file_key(self._fence, args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Change the notebook; see `Tool`."""
        return await off_loop(lambda: self._edit(args, context.paths))

    def _edit(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("path", "action", "index", "cell_id", "cell_type", "source"))
        place = self._fence.admit(given.string("path"), judged)
        file = load(place, max_bytes=MAX_BYTES)
        if file is None:
            raise FileMissing(f"{place.shown} does not exist", hint="create it with Write")
        self._ledger.check(place, file.data)
        decoded = decode(file.data, place.shown)
        notebook = read_notebook(decoded.text, place.shown)
        text, index, kind = _changed(notebook, given, args)
        data = encode(text, decoded.format, place.shown)
        if data == file.data:
            raise EditRefused(f"cell {index} of {place.shown} is so already: there is nothing to change")
        count = len(read_notebook(text, place.shown).cells)
        note = store(place, data, old=file)
        self._ledger.saw(place, data)
        what = f"{_DONE[_action(given)]} {kind} cell {index}"
        return ToolOutput.of(
            with_note(
                f"→ NotebookEdit {place.shown}: {what}; {plural(count, 'cell')}, {len(data)} bytes", note
            ),
            details={"path": str(place.path), "index": index, "cells": count, "size_bytes": len(data)},
        )


def _changed(notebook: Notebook, given: Arguments, args: Mapping[str, Any]) -> tuple[str, int, str]:
    """The text after the change, which cell that was, and of what type."""
    action, cells = _action(given), notebook.cells
    named = _named(notebook, given, args)
    if action == "add":
        behind = len(cells) if named is None else named + 1
        index = given.integer("index", behind, low=0, high=len(cells))
        kind = _cell_type(given, "code")
        id = os.urandom(4).hex() if notebook.has_ids else None
        return notebook.with_added(index, new_cell(kind, unicode_text(given, "source"), id)), index, kind
    if not cells:
        raise EditRefused("the notebook has no cells")
    if args.get("index") is None and named is None:
        raise ArgumentError(f"argument 'index' is required to {action} a cell")
    index = given.integer("index", named or 0, low=0, high=len(cells) - 1)
    if named is not None and index != named:
        raise ArgumentError(
            f"argument 'index' is {index}, and the cell with that 'cell_id' is {named}: give one"
        )
    before = cells[index]
    if action == "delete":
        return notebook.without(index), index, before.type
    kind = _cell_type(given, before.type)
    source = before.source if args.get("source") is None else unicode_text(given, "source")
    if kind == before.type:
        return notebook.with_source(index, source), index, kind
    return notebook.with_cell(index, retyped(before.data, kind, source)), index, kind


def _named(notebook: Notebook, given: Arguments, args: Mapping[str, Any]) -> int | None:
    """The cell that `cell_id` names, as other harnesses have it: by its id, or `cell-3` for the fourth."""
    if args.get("cell_id") in (None, ""):
        return None
    id = given.string("cell_id")
    for index, cell in enumerate(notebook.cells):
        if cell.data.get("id") == id:
            return index
    number = id.removeprefix("cell-")
    if number.isascii() and number.isdigit() and int(number[:9]) < len(notebook.cells):
        return int(number[:9])
    raise EditRefused(
        f"no cell has the id {one_line(id, max_chars=80)!r}", hint="name it by index, as Read shows it"
    )


def _action(given: Arguments) -> str:
    action = given.string("action")
    action = _WORDS.get(action, action)
    if action not in _DONE:
        raise ArgumentError(f"argument 'action' must be one of {', '.join(_DONE)}")
    return action


def _cell_type(given: Arguments, default: str) -> str:
    kind = given.string("cell_type", default)
    if kind not in CELL_TYPES and kind != default:
        raise ArgumentError(f"argument 'cell_type' must be one of {', '.join(CELL_TYPES)}")
    return kind
