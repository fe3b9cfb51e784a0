"""Write: a file's whole content; an existing file keeps its encoding, mark, line ends, mode and links."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import off_loop
from caliban_tools_builtin.errors import FileRefused, PathRefused
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.fs.change import shown_change
from caliban_tools_builtin.fs.file import Snapshot, load, store, with_note
from caliban_tools_builtin.fs.guess import check_added
from caliban_tools_builtin.fs.text import Decoded, decode, encode, with_line_end
from caliban_tools_builtin.fs.tracker import ReadTracker

MAX_BYTES = 10_000_000
"""Of the content, and of an existing file that is written over."""


class Write:
    """The tool Write."""

    def __init__(self, fence: Fence, ledger: ReadTracker) -> None:
        self._fence = fence
        self._ledger = ledger

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The file: two changes of one file never run at once."""
        return file_key(self._fence, args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Write the file; see `Tool`."""
        return await off_loop(lambda: self._write(args, context.paths))

    def _write(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("path", "content"))
        path = given.string("path")
        place = self._fence.admit(path, judged)
        content = unicode_text(given, "content")
        if path.endswith(("/", os.sep)):
            raise FileRefused(f"{place.shown} is written as a directory", hint="name the file in it")
        old = load(place, max_bytes=MAX_BYTES)
        if old is not None:
            self._ledger.check(place, old.data)
        data = in_format_of(old, content, place)
        if len(data) > MAX_BYTES:
            raise FileRefused(f"the content has {len(data):,} bytes, the limit is {MAX_BYTES:,}")
        note = store(place, data, old=old)
        self._ledger.saw(place, data)
        replaced = "" if old is None else f", replacing {len(old.data)} bytes that were there"
        return ToolOutput.of(
            with_note(f"→ Wrote {place.shown} ({len(data)} bytes){replaced}", note),
            details={
                "path": str(place.path),
                "created": old is None,
                "size_bytes": len(data),
                "change": shown_change(None if old is None else old.data, data),
            },
        )


def file_key(fence: Fence, args: Mapping[str, Any]) -> str | None:
    """The conflict key of a tool that changes the file in `path`; `None` for a path that will be refused.

    Names that differ in case only share a key: on some disks they are one file.
    """
    path = args.get("path")
    try:
        return str(fence.admit(path).path).casefold() if isinstance(path, str) else None
    except PathRefused:
        return None


def unicode_text(given: Arguments, name: str) -> str:
    """The string argument `name`. Raises `ArgumentError` if it holds half a character (a lone surrogate)."""
    value = given.string(name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ArgumentError(f"argument {name!r} is not valid Unicode text (a lone surrogate)") from error
    return value


def in_format_of(old: Snapshot | None, content: str, place: AdmittedPath) -> bytes:
    """`content` as bytes, in the format of the file that it replaces; UTF-8 as it stands without one."""
    decoded = None if old is None or not old.data else _decoded(old, place)
    if decoded is None:
        return content.encode("utf-8")
    form = decoded.format
    check_added(decoded.text, content, form, place.shown)
    if form.bom:
        content = content.removeprefix("\ufeff")
    if form.uniform and form.eol != "\n":
        content = with_line_end(content, form.eol)
    return encode(content, form, place.shown)


def _decoded(old: Snapshot, place: AdmittedPath) -> Decoded | None:
    try:
        return decode(old.data, place.shown)
    except FileRefused:
        return None  # not text: there is no format to keep
