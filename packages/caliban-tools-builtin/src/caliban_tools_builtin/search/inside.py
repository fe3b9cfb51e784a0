"""What a search gave, looked at again by directory handles: only what lies inside may be shown.

The program that searches opens files by name. While it works somebody may swap a directory for a link that
leads outside, and back: names and lines that it gives may then be those of other files. So each is held
against the file that handles reach without following a link; what is not there is left out.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from caliban_tools_builtin import handles
from caliban_tools_builtin.errors import FileRefused
from caliban_tools_builtin.fence import AdmittedPath
from caliban_tools_builtin.fs.text import from_windows_1252

_CUT = re.compile(rb" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$")
_MAX_DECODED_BYTES = 100_000_000
_MAX_SCANNED_BYTES = 4_000_000_000
"""So much of a file is gone through for the lines that it gave: a second or two."""
_PIECE_BYTES = 1 << 20
_MAX_KEPT = 64
"""So many handles are kept of a way that is longer."""


def below(base: AdmittedPath, path: str) -> AdmittedPath:
    """The file `path`, relative to `base`, as a place that is reached from the same root."""
    whole = Path(f"{str(base.path).rstrip(os.sep)}{os.sep}{path}")
    return AdmittedPath(path=whole, root=base.root, shown="", fenced=base.fenced, identity=base.identity)


def is_directory(place: AdmittedPath) -> bool:
    """Whether it is one, links followed; what cannot be looked at is none."""
    try:
        return place.path.is_dir()
    except OSError:
        return False


class Sight(Struct, frozen=True, kw_only=True):
    """Which names and lines may be shown: `path` says so of any absolute path, `file` of one without links.

    Without them all may.
    """

    path: Callable[[str], bool] | None = None
    file: Callable[[str], bool] | None = None

    def of_path(self, path: str) -> bool:
        """Whether rules let `path`, which may be a link, be seen."""
        return self.path is None or self.path(path)

    def of_file(self, path: str) -> bool:
        """Whether rules let the file with the canonical path `path` be seen."""
        return self.file is None or self.file(path)


class NamesBelow:
    """Looks names up below an opened directory, one after the other, without following a link on the way.

    The handles on the way to the last one are kept: names in their order cost little more than a look each.
    """

    def __init__(self, base: AdmittedPath, handle: int) -> None:
        self._root = str(base.path)
        self._kept = [("", handle)]

    def mode_of(self, path: str) -> int | None:
        """What kind of thing (`st_mode`) the relative `path` names; `None` where handles do not reach it."""
        folder, slash, name = path.rpartition("/")
        try:
            if self._kept[0][1] == handles.NO_HANDLE:
                return os.lstat(Path(self._root, path)).st_mode
            return os.lstat(name, dir_fd=self._enter(folder + slash)).st_mode
        except OSError:
            return None

    def close(self) -> None:
        """Close the handles that were opened here."""
        while len(self._kept) > 1:
            os.close(self._kept.pop()[1])

    def _enter(self, folder: str) -> int:
        while not folder.startswith(self._kept[-1][0]):
            os.close(self._kept.pop()[1])
        way, handle = self._kept[-1]
        for part in folder[len(way) :].split("/")[:-1]:
            way, handle = f"{way}{part}/", handles.enter(part, handle)
            if len(self._kept) > _MAX_KEPT:
                os.close(self._kept.pop()[1])
            self._kept.append((way, handle))
        return handle


@contextmanager
def names_below(base: AdmittedPath) -> Iterator[NamesBelow]:
    """Names below the directory `base`. Raises `FileRefused` where that is not there any more."""
    with handles.directory(base) as handle:
        names = NamesBelow(base, handle)
        try:
            yield names
        finally:
            names.close()


class FoundFile:
    """A file that handles reached; `holds` says of lines, in the order of the file, whether it has them.

    It is read piece by piece: of a file that is mapped into memory whoever cuts it short would end us.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._at = 0
        self._left = _MAX_SCANNED_BYTES
        self._start, self._piece, self._is_last = 0, b"", False
        self._load(0, 2)
        if self._piece[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            self._load(0, _MAX_DECODED_BYTES)
            if self._is_last:
                self._piece = self._piece.decode("utf-16", "replace").encode("utf-8", "replace")

    def holds(self, line: bytes) -> bool:
        """Whether `line`, perhaps cut at its end, stands at or behind the one before."""
        wanted = _CUT.sub(b"", line.removesuffix(b"\r")).removeprefix(codecs.BOM_UTF8)
        at = self._at
        while True:
            if at < self._start or (not self._is_last and self._end < at + len(wanted)):
                if self._left <= 0:
                    return False
                self._load(at, len(wanted))
            offset = self._piece.find(wanted, at - self._start)
            if offset >= 0:
                self._at = self._start + offset
                return True
            if self._is_last:
                return False
            at = max(at, self._end - len(wanted) + 1)

    @property
    def is_utf8(self) -> bool:
        """Whether it is UTF-8 throughout, or too large to be anything else to us."""
        self._load(0, _MAX_DECODED_BYTES)
        if not self._is_last:
            return True
        try:
            self._piece.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    @property
    def _end(self) -> int:
        return self._start + len(self._piece)

    def _load(self, start: int, size: int) -> None:
        """Have what stands from `start` on, at least `size` bytes of it where there are as many."""
        if start == self._start and (self._is_last or len(self._piece) > size):
            return
        wanted, parts = max(_PIECE_BYTES, 2 * size), list[bytes]()
        try:
            os.lseek(self._descriptor, start, os.SEEK_SET)
            while wanted > 0 and (part := os.read(self._descriptor, min(wanted, _PIECE_BYTES))):
                parts.append(part)
                wanted -= len(part)
        except OSError:
            parts, wanted = [], 1
        self._start, self._piece, self._is_last = start, b"".join(parts), wanted > 0
        self._left -= len(self._piece)


@contextmanager
def found_file(place: AdmittedPath) -> Iterator[FoundFile | None]:
    """The file at `place`, or `None` where handles reach none."""
    try:
        with handles.parent_of(place) as parent:
            descriptor = handles.open_file(place, parent, os.O_RDONLY)
    except FileRefused:
        yield None
        return
    try:
        yield FoundFile(descriptor)
    finally:
        os.close(descriptor)


def in_windows_1252(line: bytes) -> bytes | None:
    """The bytes of the file behind a line that the search decoded from windows-1252."""
    return from_windows_1252(line.decode("utf-8", "replace"))
