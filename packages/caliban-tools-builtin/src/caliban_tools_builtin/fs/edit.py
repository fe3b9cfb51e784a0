"""Edit: replace text in a file and touch nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.arguments import Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.text import clean, plural
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import off_loop
from caliban_tools_builtin.errors import EditRefused, FileMissing
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.fs.change import shown_change
from caliban_tools_builtin.fs.file import Snapshot, load, store, with_note
from caliban_tools_builtin.fs.guess import check_added, check_whole
from caliban_tools_builtin.fs.match import Matches, TooMany, apply, find, line_range
from caliban_tools_builtin.fs.nearmiss import nearest
from caliban_tools_builtin.fs.text import decode, encode
from caliban_tools_builtin.fs.tracker import ReadTracker
from caliban_tools_builtin.fs.write import file_key, in_format_of, unicode_text

MAX_BYTES = 5_000_000
"""Of a file that is edited."""
MAX_RESULT_BYTES = 10_000_000
_SHOWN_RANGES = 20


class Edit:
    """The tool Edit."""

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
        given = Arguments(args, known=("path", "old_string", "new_string", "replace_all"))
        place = self._fence.admit(given.string("path"), judged)
        old, new = unicode_text(given, "old_string"), unicode_text(given, "new_string")
        replace_all = given.boolean("replace_all", False)
        file = load(place, max_bytes=MAX_BYTES)
        if file is not None:
            self._ledger.check(place, file.data)
        if not old:
            return self._fill(place, file, new)
        if file is None:
            raise FileMissing(f"{place.shown} does not exist", hint="create it with Write")
        if old == new:
            raise EditRefused("old_string and new_string are identical: there is nothing to change")
        data, matches = edited(place, file.data, old, new, replace_all=replace_all)
        if data == file.data:
            raise EditRefused(f"{place.shown} already has this text: there is nothing to change")
        note = store(place, data, old=file)
        self._ledger.saw(place, data)
        count = len(matches.spans)
        return ToolOutput.of(
            with_note(f"→ Edited {place.shown} ({plural(count, 'replacement')})", note),
            details={
                "path": str(place.path),
                "tier": matches.tier,
                "replacements": count,
                "change": shown_change(file.data, data),
            },
        )

    def _fill(self, place: AdmittedPath, file: Snapshot | None, new: str) -> ToolOutput:
        """An empty old text means "this file is empty or missing"; it never wipes anything."""
        if file is not None and file.data and decode(file.data, place.shown).text:
            raise EditRefused(f"old_string is empty, but {place.shown} is not", hint="replace it with Write")
        data = in_format_of(file, new, place)
        note = store(place, data, old=file)
        self._ledger.saw(place, data)
        return ToolOutput.of(
            with_note(f"→ Edited {place.shown} (1 replacement)", note),
            details={
                "path": str(place.path),
                "tier": "exact",
                "replacements": 1,
                "change": shown_change(None, data),
            },
        )


def edited(
    place: AdmittedPath, data: bytes, old: str, new: str, *, replace_all: bool
) -> tuple[bytes, Matches]:
    """The file's bytes after the edit, and what was found. Raises `EditRefused` and `FileRefused`."""
    decoded = decode(data, place.shown)
    try:
        matches = find(decoded.text, old, new)
    except TooMany as error:
        raise EditRefused(str(error), hint="use a command for changes of this size") from error
    if matches is None:
        raise _not_found(place, decoded.text, old)
    several = len(matches.spans) > 1 or matches.overlapping
    if matches.mixed or (several and not replace_all):
        raise _ambiguous(place, decoded.text, matches)
    for span in matches.spans[:1]:
        check_added(decoded.text, span.new, decoded.format, place.shown)
    result = encode(apply(decoded.text, matches.spans), decoded.format, place.shown)
    check_whole(data, result, decoded.text, decoded.format, place.shown)
    if len(result) > MAX_RESULT_BYTES:
        raise EditRefused(f"the result would be above {MAX_RESULT_BYTES:,} bytes; nothing was changed")
    return result, matches


def _ambiguous(place: AdmittedPath, whole: str, matches: Matches) -> EditRefused:
    ranges = (line_range(whole, span) for span in matches.spans[:_SHOWN_RANGES])
    lines = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
    if len(matches.spans) > _SHOWN_RANGES:
        lines += ", …"
    if matches.overlapping:
        lines += ", overlapping itself"
    count = 2 if matches.overlapping else len(matches.spans)
    hint = "add surrounding lines to name one of them, or set replace_all"
    if matches.mixed:
        hint = "they differ in indentation: edit them one by one, each with its own indentation"
    return EditRefused(
        f"old_string is ambiguous: {count} matches in {place.shown} (lines {lines})", hint=hint
    )


def _not_found(place: AdmittedPath, whole: str, old: str) -> EditRefused:
    near = nearest(whole, old)
    if near is None:
        return EditRefused(
            f"old_string was not found in {place.shown}", hint="Read the file and copy its text"
        )
    reason = f"; {near.reason}" if near.reason else ""
    message = f"old_string was not found in {place.shown}{reason}; closest match near line {near.line}"
    return EditRefused(clean(f"{message} (- old_string, + file):\n{near.diff}"))
