"""MultiEdit: several edits of one file, in order, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.text import plural
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import off_loop
from caliban_tools_builtin.errors import EditRefused, FileMissing, FileRefused
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.fs.change import shown_change
from caliban_tools_builtin.fs.edit import MAX_BYTES, edited
from caliban_tools_builtin.fs.facts import FACTS
from caliban_tools_builtin.fs.file import Snapshot, load, store, with_note
from caliban_tools_builtin.fs.tracker import ReadTracker
from caliban_tools_builtin.fs.write import file_key, in_format_of, unicode_text

MAX_EDITS: Final = 1000
_KNOWN: Final = ("old_string", "new_string", "replace_all")


class TextEdit(Struct, frozen=True, kw_only=True):
    """One of the edits."""

    old: str
    new: str
    replace_all: bool


class MultiEdit:
    """The tool MultiEdit."""

    def __init__(self, fence: Fence, ledger: ReadTracker) -> None:
        self._fence = fence
        self._ledger = ledger

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The file: two changes of one file never run at once."""
        return file_key(self._fence, args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Change the file; see `Tool`."""
        return await off_loop(lambda: self._edit(args, context.paths))

    def _edit(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("path", "edits"))
        place = self._fence.admit(given.string("path"), judged)
        edits = _edits(given.objects("edits"))
        file = load(place, max_bytes=MAX_BYTES)
        if file is not None:
            self._ledger.check(place, file.data)
        data, total = _all_edited(place, file, edits)
        if file is not None and data == file.data:
            raise EditRefused(f"{place.shown} would be as it is: there is nothing to change")
        note = store(place, data, old=file)
        self._ledger.saw(place, data)
        counts = f"{plural(len(edits), 'edit')}, {plural(total, 'total replacement')}"
        return ToolOutput.of(
            with_note(f"→ MultiEdit {place.shown} ({counts})", note),
            details={
                "path": str(place.path),
                "edits": len(edits),
                "replacements": total,
                "change": shown_change(None if file is None else file.data, data),
            },
        )


def _edits(items: tuple[Mapping[str, Any], ...]) -> tuple[TextEdit, ...]:
    if not 1 <= len(items) <= MAX_EDITS:
        raise ArgumentError(f"there must be 1 to {MAX_EDITS} edits, not {len(items)}")
    return tuple(_text_edit(item, number) for number, item in enumerate(items, 1))


def _text_edit(item: Mapping[str, Any], number: int) -> TextEdit:
    aliases = FACTS["Edit"].aliases
    named = {aliases.get(name, name): value for name, value in item.items()}
    given = Arguments({name: named.get(name) for name in _KNOWN}, known=_KNOWN)
    try:
        return TextEdit(
            old=unicode_text(given, "old_string"),
            new=unicode_text(given, "new_string"),
            replace_all=given.boolean("replace_all", False),
        )
    except ArgumentError as error:
        raise ArgumentError(f"edit #{number}: {error.message}") from error


def _all_edited(place: AdmittedPath, file: Snapshot | None, edits: tuple[TextEdit, ...]) -> tuple[bytes, int]:
    """The file's bytes after every edit, and how many places they changed."""
    data = None if file is None else file.data
    total = 0
    for number, edit in enumerate(edits, 1):
        try:
            data, count = _edited(place, file, data, edit)
        except (EditRefused, FileRefused) as error:
            hint = "; ".join(filter(None, (error.hint, "none of the edits was made")))
            raise EditRefused(f"edit #{number}: {error.message}", hint=hint) from error
        total += count
    assert data is not None, "the first edit makes a file where there is none"
    return data, total


def _edited(
    place: AdmittedPath, file: Snapshot | None, data: bytes | None, edit: TextEdit
) -> tuple[bytes, int]:
    if not edit.old:
        if data:
            raise EditRefused("old_string is empty, but the file is not", hint="replace it with Write")
        return in_format_of(file, edit.new, place), 1
    if data is None:
        raise FileMissing(f"{place.shown} does not exist", hint="create it with Write")
    if edit.old == edit.new:
        raise EditRefused("old_string and new_string are identical: there is nothing to change")
    data, matches = edited(place, data, edit.old, edit.new, replace_all=edit.replace_all)
    return data, len(matches.spans)
