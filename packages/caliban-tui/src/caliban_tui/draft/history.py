"""What was typed before: in this session, in the project, in all projects; kept in a file for each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.filelock import is_at, try_lock, unlock
from caliban_common.files import ensure_private_dir, failed, read_regular, write_atomic

HistoryScope: TypeAlias = Literal["session", "project", "all"]
SCOPES: Final[tuple[HistoryScope, ...]] = ("session", "project", "all")

MAX_FILE_BYTES: Final = 2_000_000
KEPT_BYTES: Final = 1_000_000
"""A file that grows above the first is cut to its newest entries of so many bytes."""

MAX_ENTRY_CHARS: Final = 100_000
"""A longer entry is known while the program runs and not kept."""

LOCK_TRIES: Final = 40
LOCK_PAUSE_S: Final = 0.025


class HistoryEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a file: what was typed, in which session, when (seconds since 1970)."""

    text: str
    session: str = ""
    at_s: int = 0


class HistoryFile:
    """The history of one project, below `folder`. Blocks: for a thread. Raises `CalibanError`."""

    def __init__(self, folder: Path, project: str) -> None:
        self.folder: Path = folder
        self.path: Path = folder / f"{project}.jsonl"

    def entries(self) -> list[HistoryEntry]:
        """What is kept, oldest first; lines that are none are passed over."""
        return _read(self.path)

    def add(self, entry: HistoryEntry) -> None:
        """Write `entry` behind the others, which another process may do at the same time."""
        if len(entry.text) > MAX_ENTRY_CHARS:
            return
        ensure_private_dir(self.folder)
        try:
            descriptor = self._locked()
            try:
                size = os.fstat(descriptor).st_size
                whole = not size or os.pread(descriptor, 1, size - 1) == b"\n"
                data = (b"" if whole else b"\n") + dumps(msgspec.to_builtins(entry)) + b"\n"
                os.write(descriptor, data)
                if size + len(data) > MAX_FILE_BYTES:
                    self._shorten()
            finally:
                os.close(descriptor)
        except OSError as error:
            raise failed("write", self.path, error) from error

    def everywhere(self, budget_s: float) -> list[HistoryEntry]:
        """What all projects have kept, oldest first, as far as it can be read in time."""
        end_s = time.monotonic() + budget_s
        entries: list[HistoryEntry] = []
        try:
            paths = sorted(self.folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
        except OSError:
            return entries
        for path in paths:
            if time.monotonic() > end_s:
                break
            try:
                entries += _read(path)
            except CalibanError:
                continue
        return sorted(entries, key=lambda entry: entry.at_s)

    def _locked(self) -> int:
        """The file, open for this process alone; after a second for it too, for a line is short."""
        flags = (
            os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        )
        for _ in range(LOCK_TRIES):
            descriptor = os.open(self.path, flags, 0o600)
            try:
                if try_lock(descriptor):
                    if is_at(descriptor, self.path):
                        return descriptor
                    unlock(descriptor)
            except OSError:
                return descriptor
            os.close(descriptor)
            time.sleep(LOCK_PAUSE_S)
        return os.open(self.path, flags, 0o600)

    def _shorten(self) -> None:
        data = read_regular(self.path, max_bytes=4 * MAX_FILE_BYTES)
        kept = data[-KEPT_BYTES:]
        write_atomic(self.path, kept[kept.find(b"\n") + 1 :], mode=0o600, durable=False)


def _read(path: Path) -> list[HistoryEntry]:
    try:
        data = read_regular(path, max_bytes=4 * MAX_FILE_BYTES)
    except CalibanError as error:
        if getattr(error, "missing", False):
            return []
        raise
    decoder = msgspec.json.Decoder(HistoryEntry)
    entries: list[HistoryEntry] = []
    for line in data.splitlines():
        try:
            entries.append(decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return entries


def is_kept(text: str) -> bool:
    """Whether a text may be remembered: one that begins with a blank, on its first line, is a secret."""
    return bool(text.strip()) and (text[0] == "\n" or not text[0].isspace())


def newest_first(entries: Iterable[str]) -> list[str]:
    """Each text once, at the place where it stands last, the newest first."""
    return list(dict.fromkeys(reversed(list(entries))))


class PromptHistory:
    """The entries that a line editor walks and searches, and their file, if there is one.

    `load`, `widen` and `keep` work on a thread; what fails there is raised, and the entries stay.
    """

    def __init__(self, file: HistoryFile | None = None, *, session: str = "") -> None:
        self._file = file
        self.session: str = session
        self._mine: list[str] = []
        self._project: list[str] = []
        self._session: list[str] = []
        self._all: list[str] | None = None

    def entries(self, scope: HistoryScope = "project") -> list[str]:
        """Each text once, oldest first, those of this process included."""
        known = {"session": self._session, "project": self._project, "all": self._all or self._project}[scope]
        return newest_first([*known, *self._mine])[::-1]

    @property
    def typed(self) -> tuple[str, ...]:
        """What was added by this process, oldest first."""
        return tuple(self._mine)

    def is_loaded(self, scope: HistoryScope) -> bool:
        """Whether `entries` of a scope are all that there are."""
        return scope != "all" or self._all is not None or self._file is None

    def add(self, text: str) -> HistoryEntry | None:
        """Remember `text`; what is to be kept of it."""
        if not is_kept(text):
            return None
        self._mine.append(text)
        return HistoryEntry(text=text, session=self.session, at_s=int(time.time()))

    async def load(self) -> None:
        """Read what the project has kept. Raises `CalibanError`."""
        if self._file is None:
            return
        entries: list[HistoryEntry] = await _on_thread(self._file.entries)
        self._project = [entry.text for entry in entries]
        self._session = [entry.text for entry in entries if self.session and entry.session == self.session]

    async def keep(self, entry: HistoryEntry) -> None:
        """Write it down. Raises `CalibanError`."""
        if self._file is not None:
            await _on_thread(self._file.add, entry)

    async def widen(self, budget_s: float = 2.0) -> None:
        """Read what all projects have kept, as much as can be read in time. Raises `CalibanError`."""
        if self._file is None or self._all is not None:
            return
        entries: list[HistoryEntry] = await _on_thread(self._file.everywhere, budget_s)
        self._all = [entry.text for entry in entries]


async def _on_thread(work: Any, *args: Any) -> Any:
    from anyio.to_thread import run_sync

    return await run_sync(work, *args)
