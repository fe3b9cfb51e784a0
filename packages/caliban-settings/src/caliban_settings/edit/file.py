"""One settings file that is changed: under a lock, replaced whole, and never through a link out of its place.

Links are followed in a person's own settings; in a workspace, which others may have filled, they may not lead
out of it; managed settings have none.
"""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_common.files import (
    BINARY,
    NOFOLLOW,
    NONBLOCK,
    ensure_private_dir,
    failed,
    read_regular,
    write_atomic,
)
from caliban_settings.errors import SettingsError, SettingsNotWritten
from caliban_settings.key import Scope
from caliban_settings.parse import MAX_BYTES, as_bytes, parse
from caliban_settings.source import refuse_foreign_policy

LOCK_TRIES: Final = 200
LOCK_PAUSE_S: Final = 0.025
OWNERS_ONLY: Final = 0o600
EVERYBODY_READS: Final = 0o644
"""What every user of a machine must be able to read: else nothing of theirs starts."""


class SettingsFile(Struct, frozen=True, kw_only=True):
    """A file of a scope, which need not be there yet; `workspace` bounds the links of its own scopes.

    It is TOML, or JSON by its name. A new one is for its owner, unless it is the administrator's or `shared`.
    """

    scope: Scope
    path: Path
    workspace: Path | None = None
    shared: bool = False

    def read(self) -> bytes:
        """Its bytes. Raises `SettingsError`."""
        return self._bytes(self.path)

    def rewrite(self, change: Callable[[str], str], *, mends: bool = False) -> None:
        """Replace its text by what `change` makes of it while nobody else writes.

        A file that cannot be read so is left as it is, unless `change` is one that `mends`. Raises
        `SettingsNotWritten`, `SettingsError`; the old text is then untouched.
        """
        try:
            ensure_private_dir(self.path.parent)
            real = self._real()
            with _locked(real):
                exists = real.exists()
                raw = self._bytes(real) if exists else b""
                if not mends:
                    parse(raw, name=str(self.path), toml=self.path.suffix == ".toml")
                changed = as_bytes(change(raw.decode("utf-8", "replace")), str(self.path))
                fresh = EVERYBODY_READS if self.shared or self.scope == "managed" else OWNERS_ONLY
                if len(changed) > MAX_BYTES:
                    raise SettingsNotWritten(f"{self.path} would have more than {MAX_BYTES:,} bytes")
                if changed != raw:
                    _refuse_read_only(real, self.path)
                    write_atomic(real, changed, mode=None if exists else fresh)
        except SettingsError:
            raise
        except CalibanError as error:
            raise SettingsNotWritten(error.message, hint=error.hint) from error

    def _bytes(self, path: Path) -> bytes:
        if self.scope == "managed":
            refuse_foreign_policy(self.path.parent)
            refuse_foreign_policy(path)
        try:
            return read_regular(path, max_bytes=MAX_BYTES)
        except CalibanError as error:
            raise SettingsError(error.message, hint=error.hint) from error

    def _real(self) -> Path:
        """Its path without links. Raises `SettingsNotWritten` where these lead out of the workspace."""
        real = Path(os.path.realpath(self.path))
        if self.workspace is not None and not real.is_relative_to(os.path.realpath(self.workspace)):
            raise SettingsNotWritten(
                f"{self.path} is a link that leads out of the workspace: {real} is not written"
            )
        if self.scope == "managed":
            refuse_foreign_policy(self.path.parent)
            refuse_foreign_policy(self.path)
        return real


def _refuse_read_only(real: Path, path: Path) -> None:
    """Raise `SettingsNotWritten` for a file that is to be left alone: another would come in its place."""
    if real.exists() and not os.access(real, os.W_OK):
        raise SettingsNotWritten(f"{path} is read-only", hint=f"chmod u+w {shlex.quote(str(path))}")


@contextmanager
def _locked(real: Path) -> Iterator[None]:
    """Nobody else writes `real` meanwhile. Raises `SettingsNotWritten` where somebody never ends."""
    path = real.with_name(f".{real.name}.lock")
    try:
        flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags, OWNERS_ONLY)
    except OSError as error:
        raise failed("write", real, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SettingsNotWritten(f"{path} is no regular file")
        for _ in range(LOCK_TRIES):
            if try_lock(descriptor):
                break
            time.sleep(LOCK_PAUSE_S)
        else:
            raise SettingsNotWritten(f"another process has locked {path}", hint="try again once it has ended")
        yield
    finally:
        os.close(descriptor)  # this ends the lock as well
