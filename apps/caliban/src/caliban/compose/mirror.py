"""A transcript of a session where the session helpers of the Claude Agent SDK look for one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from caliban.cli.options import SessionOptions
from caliban.compose.board import Board
from caliban.compose.sessionstore import session_store
from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, failed, write_atomic
from caliban_common.mask import Masker
from caliban_common.message import Message, ToolResultBlock
from caliban_common.paths import expand_user
from caliban_common.usage import Usage
from caliban_drive.notice import Notice, Report
from caliban_drive.store import Store
from caliban_sessions import SessionStore
from caliban_sessions.export import (
    MARK,
    Step,
    as_transcript,
    masked_script,
    project_key,
    script_of,
    transcript_id,
)
from caliban_sessions.export.claude import transcript_line
from caliban_sessions.state import SessionState
from caliban_sessions.writer import SessionWriter

_APPEND: Final = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def mirror_root(config: str) -> Path:
    """Where the helpers look below the directory `config`, empty for their usual one."""
    return expand_user(config or "~/.claude") / "projects"


def transcript_path(root: Path, state: SessionState, here: str) -> Path:
    """The file of a session below `root`; `here` is its directory where it does not say one."""
    return root / project_key(state.workspace or here) / f"{transcript_id(state)}.jsonl"


def write_transcript(store: SessionStore, name: str, root: Path, here: str, masker: Masker) -> Path:
    """Write the whole transcript of a session; where. Raises `CalibanError`, also for a file of others."""
    state, entries = store.entries(name)
    script = masked_script(script_of(state, entries, _no_price, _no_sum), masker)
    path = transcript_path(root, state, here)
    if os.path.lexists(path) and not _is_ours(path):
        raise CalibanError(f"{path} is there, and others wrote it")
    data = as_transcript(script).encode()
    if data or os.path.lexists(path):  # without a message there is nothing yet that says whose it is
        ensure_private_dir(path.parent)
        write_atomic(path, data, mode=0o600)
    return path


def mirrored(kept: Store, options: SessionOptions, config: str, board: Board, report: Report) -> Store:
    """`kept` with a transcript beside it, below the directory `config`; hooks are told where."""
    if not isinstance(kept, SessionWriter):
        return kept
    store = MirroredStore(kept, session_store(options), mirror_root(config), report)
    board.transcript = str(store.path)
    return store


class MirroredStore:
    """The `Store` of a session, each message of which stands in a transcript, too, once the session has it.

    `inner` is the session, given no secrets. A transcript that cannot be written is told of once, and is not
    written on; the session is not held up.
    """

    def __init__(self, inner: SessionWriter, store: SessionStore, root: Path, report: Report) -> None:
        self._inner = inner
        self._store = store
        self._root = root
        self._report = report
        self._state = replace(inner.state, messages=())
        self._parent: str | None = None
        self._is_well = True
        self.path = transcript_path(root, self._state, "")
        if inner.state.messages:
            self._rewrite()

    @property
    def unsynced(self) -> bool:
        """See `Store`."""
        return self._inner.unsynced

    def sync(self) -> None:
        """See `Store`."""
        self._inner.sync()

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """See `Store`."""
        self._inner.append(message, usage)
        step = Step(message=message, at=datetime.now(UTC), usage=usage)
        line = transcript_line(self._state, step, self._parent)
        if line is None:
            return
        text, self._parent = line
        self._try(lambda: self._add(text.encode()))

    def keep_result(self, result: ToolResultBlock) -> None:
        """See `Store`."""
        self._inner.keep_result(result)

    def replace(self, messages: tuple[Message, ...]) -> None:
        """See `Store`."""
        self._inner.replace(messages)
        self._rewrite()

    def add_usage(self, usage: Usage) -> None:
        """See `Store`."""
        self._inner.add_usage(usage)

    def note(self, **facts: Any) -> None:
        """See `Store`."""
        self._inner.note(**facts)

    def note_pending(self, ids: tuple[str, ...]) -> None:
        """See `Store`."""
        self._inner.note_pending(ids)

    def transcript(self) -> tuple[Message, ...] | None:
        """See `Store`."""
        return self._inner.transcript()

    def close(self) -> None:
        """See `Store`. The transcript is written once more, with what the session knows better by now."""
        try:
            self._inner.close()
        finally:
            self._rewrite()

    def _rewrite(self) -> None:
        self._try(self._write_whole)

    def _write_whole(self) -> None:
        write_transcript(self._store, self._inner.name, self._root, "", Masker())
        steps = (Step(message=message) for message in self._inner.state.messages)
        lines = [line for step in steps if (line := transcript_line(self._state, step, None)) is not None]
        self._parent = lines[-1][1] if lines else None

    def _add(self, data: bytes) -> None:
        if not os.path.lexists(self.path):
            ensure_private_dir(self.path.parent)
            write_atomic(self.path, data, mode=0o600)
            return
        if not _is_ours(self.path):
            raise CalibanError(f"{self.path} is there, and others wrote it")
        try:
            descriptor = os.open(self.path, _APPEND)
            try:
                if os.write(descriptor, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise failed("write", self.path, error) from error

    def _try(self, write: Callable[[], object]) -> None:
        if not self._is_well:
            return
        try:
            write()
        except CalibanError as error:
            self._is_well = False
            words = f"the session is not mirrored any more: {error.message}"
            self._report(Notice(subtype="mirror", message=words))


def _no_price(name: str, usage: Usage, at: datetime) -> float | None:
    return None


def _no_sum(spent: Mapping[str, Usage], at: datetime) -> float | None:
    return None


def _is_ours(path: Path) -> bool:
    """Whether a file begins as those of a mirror do."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False
