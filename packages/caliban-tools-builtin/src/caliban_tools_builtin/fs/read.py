"""Read: the lines of a text file with their numbers, a notebook, an image or a PDF."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from caliban_common.arguments import Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.text import clean
from caliban_common.tool import ToolContext, ToolOutput
from caliban_images import MediaLimits, PdfWindow
from caliban_tools_builtin import handles
from caliban_tools_builtin.answer import off_loop
from caliban_tools_builtin.errors import FileMissing, FileRefused
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.fs import media
from caliban_tools_builtin.fs.file import load, too_large
from caliban_tools_builtin.fs.text import decode, lines_of
from caliban_tools_builtin.fs.tracker import ReadTracker
from caliban_tools_builtin.fs.window import Window, window

MAX_BYTES = 5_000_000
"""Above this a file is read by `offset` and `limit` only."""
MAX_SCANNED_BYTES = 256_000_000
"""How far into a file `offset` reaches."""
MAX_LINE_CHARS = 2000
DEFAULT_LIMIT = 2000
_CHUNK_BYTES = 1 << 20
_HEAD_BYTES = 16


class Read:
    """The tool Read."""

    def __init__(
        self, fence: Fence, ledger: ReadTracker, limits: Callable[[], MediaLimits] | None = None
    ) -> None:
        self._limits = limits or MediaLimits
        self._fence = fence
        self._ledger = ledger

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: files are replaced as a whole, so a reader sees the old one or the new one."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """The file's lines `offset`..`offset + limit - 1`; see `Tool`."""
        return await off_loop(lambda: self._read(args, context.paths))

    def _read(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("path", "offset", "limit"))
        place = self._fence.admit(given.string("path"), judged)
        offset = given.integer("offset", 1, low=1, high=10**9)
        limit = given.integer("limit", DEFAULT_LIMIT, low=1, high=10**9)
        size = _size(place)
        if place.path.suffix == ".ipynb" and args.get("offset") is None and args.get("limit") is None:
            output = self._notebook(place)
            if output is not None:
                return output
        max_bytes = MAX_BYTES
        if size > MAX_BYTES and _is_large_media(place):
            max_bytes = media.MAX_BYTES
        elif size > MAX_BYTES:
            if args.get("offset") is None and args.get("limit") is None:
                hint = "read a part of it with offset and limit, or search it with Grep"
                raise FileRefused(too_large(place, size, MAX_BYTES).message, hint=hint)
            return _page_of_large(place, offset, limit)
        snapshot = load(place, max_bytes=max_bytes)
        if snapshot is None:
            raise FileMissing(f"{place.shown} does not exist")
        self._ledger.saw(place, snapshot.data)
        output = None
        if media.is_media(snapshot.data):
            window = PdfWindow(first=offset, count=None if args.get("limit") is None else limit)
            output = media.shown_media(place, snapshot.data, self._limits(), window)
        return output or _page(place, snapshot.data, offset, limit)

    def _notebook(self, place: AdmittedPath) -> ToolOutput | None:
        """The cells of a notebook; nothing for a file that only has the name of one."""
        from caliban_tools_builtin.fs.cells import shown_cells
        from caliban_tools_builtin.fs.notebook import read_notebook
        from caliban_tools_builtin.fs.notebookedit import MAX_BYTES as MAX_NOTEBOOK_BYTES

        snapshot = load(place, max_bytes=MAX_NOTEBOOK_BYTES)
        if snapshot is None:
            return None
        try:
            notebook = read_notebook(decode(snapshot.data, place.shown).text, place.shown)
        except FileRefused:
            return None
        self._ledger.saw(place, snapshot.data)
        text = shown_cells(notebook, place.shown)
        return ToolOutput.of(text, details={"path": str(place.path), "cells": len(notebook.cells)})


def _size(place: AdmittedPath) -> int:
    with handles.parent_of(place) as parent:
        status = handles.status_of(place, parent)
    return 0 if status is None else status.st_size


def _is_large_media(place: AdmittedPath) -> bool:
    """Whether a file above the bound of texts is an image or a PDF."""
    with handles.parent_of(place) as parent:
        handles.status_of(place, parent)
        descriptor = handles.open_file(place, parent, os.O_RDONLY)
    try:
        return media.is_media(os.read(descriptor, _HEAD_BYTES))
    except OSError as error:
        raise handles.refused(place, error) from error
    finally:
        os.close(descriptor)


def _page(place: AdmittedPath, data: bytes, offset: int, limit: int) -> ToolOutput:
    kind = media.other_kind(data)
    try:
        decoded = decode(data, place.shown)
    except FileRefused as error:
        if kind is None:
            raise
        hint = "convert it with a command to text, PDF, PNG, JPEG, GIF or WebP"
        raise FileRefused(f"{place.shown} is {kind}, which cannot be shown", hint=hint) from error
    lines = lines_of(decoded.text, decoded.format.eol)
    return _numbered(place, lines[offset - 1 : offset - 1 + limit], offset, str(len(lines)))


def _numbered(place: AdmittedPath, lines: list[str], offset: int, total: str) -> ToolOutput:
    details = {"path": str(place.path)}
    if not lines:
        if total == "0":
            return ToolOutput.of(f"→ Read {place.shown}, lines 0-0 of 0\n\n(empty file)", details=details)
        noun = "line" if total == "1" else "lines"
        raise FileRefused(f"line {offset} is past the end: {place.shown} has {total} {noun}")
    rows = [f"{number:5d}  {_cut(line)}" for number, line in enumerate(lines, offset)]
    header = f"→ Read {place.shown}, lines {offset}-{offset + len(lines) - 1} of {total}"
    return ToolOutput.of(clean("\n".join((header, "", *rows))), details=details)


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]}… [{len(line) - MAX_LINE_CHARS} more characters]"


def _page_of_large(place: AdmittedPath, offset: int, limit: int) -> ToolOutput:
    limit = min(limit, DEFAULT_LIMIT)
    try:
        page, complete = _scan(place, offset, offset + limit - 1)
    except OSError as error:
        raise handles.refused(place, error) from error
    data = b"\n".join(page.lines)
    if b"\0" in data:
        raise FileRefused(f"{place.shown} is a binary or UTF-16 file of more than {MAX_BYTES:,} bytes")
    total = str(page.total) if complete else f"more than {page.total}"
    if not data.strip(b"\n"):
        return _numbered(place, [""] * len(page.lines), offset, total)
    decoded = decode(data, place.shown)
    return _numbered(place, decoded.text.replace("\r\n", "\n").split("\n"), offset, total)


def _scan(place: AdmittedPath, first: int, last: int) -> tuple[Window, bool]:
    with handles.parent_of(place) as parent:
        handles.status_of(place, parent)
        descriptor = handles.open_file(place, parent, os.O_RDONLY)
    try:
        return _window_of(descriptor, first, last)
    finally:
        os.close(descriptor)


def _window_of(descriptor: int, first: int, last: int) -> tuple[Window, bool]:
    page = window(_chunks(descriptor), first=first, last=last, max_line_bytes=4 * MAX_LINE_CHARS + 4)
    return page, os.fstat(descriptor).st_size <= MAX_SCANNED_BYTES


def _chunks(descriptor: int) -> Iterator[bytes]:
    left = MAX_SCANNED_BYTES
    while left > 0 and (chunk := os.read(descriptor, _CHUNK_BYTES)):
        left -= len(chunk)
        yield chunk
