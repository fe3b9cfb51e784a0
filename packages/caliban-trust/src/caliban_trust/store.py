"""The file of consents: one per person, written whole under a lock, believed where nobody else wrote it."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK, ensure_private_dir, failed, write_atomic
from caliban_trust.errors import ConsentNotKept, ConsentsUnusable
from caliban_trust.surface import ProjectRoot, TrustItem

VERSION: Final = 1
MAX_BYTES: Final = 16 << 20
MAX_SHOWN_CHARS: Final = 4_000
"""What is kept of an item to tell later what has changed of it; its digest is kept in any case."""
OWNERS_ONLY: Final = 0o600
LOCK_TRIES: Final = 200
LOCK_PAUSE_S: Final = 0.05
_DIGEST: Final = r"[0-9a-f]{64}"


class Consent(Struct, frozen=True, kw_only=True):
    """That a person trusts one project as it was shown: `digest` is that of its surface, `items` are those.

    `trusted_at` is the time of it, RFC 3339 in UTC.
    """

    root: ProjectRoot
    digest: str
    trusted_at: str
    items: tuple[TrustItem, ...] = ()


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    projects: tuple[Consent, ...]


class TrustStore:
    """The consents in the file at `path`, whose folder is ours alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def consents(self) -> tuple[Consent, ...]:
        """All of them, in the order of their paths; none where there is no file.

        Raises `ConsentsUnusable` for a file that is damaged, is not ours, may be written by others or is
        reached by a link: then nobody trusts anything.
        """
        raw = self._read()
        return () if raw is None else _decoded(raw, self.path)

    def find(self, root: ProjectRoot) -> Consent | None:
        """The consent for the path of `root`, for whichever folder. Raises as `consents` does."""
        return next((consent for consent in self.consents() if consent.root.path == root.path), None)

    def keep(self, consent: Consent) -> None:
        """Write `consent` down in place of an earlier one for its path.

        Raises `ConsentsUnusable`, `ConsentNotKept` and `FileFailed`; nothing is changed then.
        """
        kept = msgspec.structs.replace(consent, items=tuple(map(_kept, consent.items)))
        self._change(lambda others: (*(one for one in others if one.root.path != kept.root.path), kept))

    def revoke(self, path: str) -> Consent | None:
        """Forget the consent for the folder at `path`; the one that there was. Raises as `keep` does."""
        gone: list[Consent] = []

        def without(consents: tuple[Consent, ...]) -> tuple[Consent, ...]:
            gone.extend(consent for consent in consents if consent.root.path == path)
            return tuple(consent for consent in consents if consent.root.path != path)

        if any(consent.root.path == path for consent in self.consents()):
            self._change(without)
        return gone[0] if gone else None

    def revoke_all(self) -> int:
        """Forget all consents, also those of a damaged file; how many there were. Raises as `keep` does."""
        if self._read() is None:
            return 0
        count = 0
        with self._locked():
            try:
                count = len(self.consents())
            except ConsentsUnusable:
                self._read()  # raises again where the file is not ours to write
            self._write(())
        return count

    def _change(self, change: Callable[[tuple[Consent, ...]], tuple[Consent, ...]]) -> None:
        with self._locked():
            self._write(change(self.consents()))

    def _write(self, consents: tuple[Consent, ...]) -> None:
        ordered = tuple(sorted(consents, key=lambda consent: consent.root.path))
        try:
            text = msgspec.json.encode(_File(version=VERSION, projects=ordered))
        except UnicodeEncodeError as error:
            raise ConsentNotKept(
                "the path of this project is no text: no consent can be kept for it"
            ) from error
        data = msgspec.json.format(text, indent=2) + b"\n"
        if len(data) > MAX_BYTES:
            raise ConsentNotKept(f"the consents would have more than {MAX_BYTES:,} bytes")
        write_atomic(self.path, data, mode=OWNERS_ONLY)

    def _read(self) -> bytes | None:
        """The bytes of the file, read once from what was looked at; `None` where there is none."""
        for folder in (self.path.parent.parent, self.path.parent):
            try:
                status = folder.lstat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            except (OSError, ValueError) as error:
                raise failed("look at", folder, error) from error
            _refuse(folder, status, is_ours=folder == self.path.parent)
        flags = os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.EMLINK):
                raise _unusable(self.path, "is a link") from error
            raise ConsentsUnusable(failed("read", self.path, error).message) from error
        try:
            status = os.fstat(descriptor)
            _refuse(self.path, status, is_ours=True)
            if not stat.S_ISREG(status.st_mode):
                raise _unusable(self.path, "is no regular file")
            if status.st_nlink > 1:
                raise _unusable(self.path, "has another name: a hard link")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                raw = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise ConsentsUnusable(failed("read", self.path, error).message) from error
        finally:
            os.close(descriptor)
        if len(raw) > MAX_BYTES:
            raise _unusable(self.path, f"has more than {MAX_BYTES:,} bytes")
        return raw

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else writes meanwhile. Raises `ConsentNotKept` where somebody never ends."""
        ensure_private_dir(self.path.parent)
        for folder, is_ours in ((self.path.parent.parent, False), (self.path.parent, True)):
            _refuse(folder, folder.lstat(), is_ours=is_ours)
        path = self.path.with_suffix(".lock")
        flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(path, flags, OWNERS_ONLY)
        except OSError as error:
            raise failed("lock", path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConsentNotKept(f"{path} is no regular file")
            for _ in range(LOCK_TRIES):
                if try_lock(descriptor):
                    break
                time.sleep(LOCK_PAUSE_S)
            else:
                raise ConsentNotKept(f"another process has locked {path}", hint="try again once it has ended")
            yield
        finally:
            os.close(descriptor)  # this ends the lock as well


def _refuse(path: Path, status: os.stat_result, *, is_ours: bool) -> None:
    """Refuse what others could have put there (security.md TM8); Windows access lists are not looked at."""
    if stat.S_ISLNK(status.st_mode):
        raise _unusable(path, "is a link")
    if os.name != "posix" or not is_ours:
        return
    if status.st_uid != os.geteuid():
        raise _unusable(path, f"belongs to another user ({status.st_uid})")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unusable(path, f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o})")


def _unusable(path: Path, why: str) -> ConsentsUnusable:
    return ConsentsUnusable(f"{path} {why}: no project is trusted", hint="only you may be able to write it")


def _decoded(raw: bytes, path: Path) -> tuple[Consent, ...]:
    try:
        file = msgspec.json.decode(raw, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if file.version != VERSION:
        raise _damaged(path, f"its version is {file.version}, not {VERSION}")
    digests = [text for one in file.projects for text in (one.digest, *(item.digest for item in one.items))]
    if not all(re.fullmatch(_DIGEST, text) for text in digests):
        raise _damaged(path, "a digest in it is none")
    if len({consent.root.path for consent in file.projects}) < len(file.projects):
        raise _damaged(path, "a project stands in it twice")
    return file.projects


def _damaged(path: Path, why: str) -> CalibanError:
    return ConsentsUnusable(
        f"{path} is damaged ({why}): no project is trusted",
        hint="move it away, and trust again what you trust",
    )


def _kept(item: TrustItem) -> TrustItem:
    shown = item.shown if len(item.shown) <= MAX_SHOWN_CHARS else ""
    texts = {
        name: text.encode("utf-8", "backslashreplace").decode()
        for name, text in (("place", item.place), ("name", item.name), ("shown", shown))
    }
    return msgspec.structs.replace(item, **texts)
