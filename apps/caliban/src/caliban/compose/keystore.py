"""Where `caliban login` keeps keys: the system's keyring where there is one, else a file of mode 0600."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from caliban.errors import ConfigError
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.files import (
    BINARY,
    NOFOLLOW,
    NONBLOCK,
    FileFailed,
    ensure_private_dir,
    read_regular,
    write_atomic,
)
from caliban_common.paths import config_dir

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SERVICE: Final = "caliban"
MAX_BYTES: Final = 1 << 20
KEYRING: Final = "the keyring of this system"


def store_path() -> Path:
    """The file for systems without a keyring."""
    return config_dir() / "credentials.json"


def read_key(provider: str) -> str | None:
    """The stored key of `provider`. Raises `ConfigError` for a file that others can read or that is damaged.

    A keyring that does not answer counts as none.
    """
    ring = system_keyring()
    if ring is not None:
        try:
            kept: str | None = ring.get_password(SERVICE, provider)
        except (RuntimeError, OSError, ring.errors.KeyringError):
            kept = None
        if kept:
            return kept
    return _file().read().get(provider)


def write_key(provider: str, key: str) -> str:
    """Keep `key`; where, in words. Raises `ConfigError` as `read_key` does, `FileFailed`."""
    ring = system_keyring()
    if ring is not None:
        try:
            ring.set_password(SERVICE, provider, key)
        except (RuntimeError, OSError, ring.errors.KeyringError):
            pass  # a keyring without a back end: the file serves
        else:
            return KEYRING
    _file().change(lambda keys: {**keys, provider: key})
    return f"{store_path()} (readable by you only)"


def remove_key(provider: str) -> tuple[str, ...]:
    """Forget the key of `provider`; where it was, in words. Raises as `write_key` does."""
    places: list[str] = []
    ring = system_keyring()
    if ring is not None:
        try:
            if ring.get_password(SERVICE, provider):
                ring.delete_password(SERVICE, provider)
                places.append(KEYRING)
        except (RuntimeError, OSError, ring.errors.KeyringError) as error:
            # A machine without a keyring has none to forget in; one that is locked may hold the key still.
            if type(error).__name__ != "NoKeyringError":
                raise ConfigError(f"{KEYRING} refused: {type(error).__name__}") from None
    if provider in _file().read():
        _file().change(lambda keys: {name: key for name, key in keys.items() if name != provider})
        places.append(str(store_path()))
    return tuple(places)


def system_keyring() -> Any:
    """The library `keyring` where somebody installed it, else `None`."""
    try:
        ring = import_module("keyring")
        import_module("keyring.errors")
    except ImportError:
        return None
    return ring


class KeyFile:
    """Texts by name in a file that only its owner may read. `again` is what makes it anew.

    Each method raises `ConfigError` for a file that others can read or that is damaged, and for one that
    cannot be locked; `change` raises `FileFailed` as well.
    """

    def __init__(self, path: Path, *, again: str) -> None:
        self.path = path
        self._again = again

    def read(self) -> dict[str, str]:
        """What it holds; nothing where it is not there."""
        try:
            _refuse_readable(self.path)
            data = json.loads(read_regular(self.path, max_bytes=MAX_BYTES))
        except FileFailed as error:
            if error.missing:
                return {}
            raise ConfigError(error.message, hint=error.hint) from None
        except CalibanError as error:
            raise ConfigError(error.message, hint=error.hint) from None
        except (ValueError, RecursionError):
            data = None
        keys = data.get("keys") if isinstance(data, dict) else None
        if not isinstance(keys, dict) or not all(isinstance(key, str) for key in keys.values()):
            raise ConfigError(
                f"{self.path} is damaged: it does not hold keys as {self._again} writes them",
                hint=f"move it away and run {self._again} again",
            )
        return keys

    def change(self, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        """Write what `change` makes of it, while nobody else writes."""
        with self._alone():
            keys = change(self.read())
            # The file behind a link: a copy beside it would leave the old keys there.
            path = self.path.resolve()
            ensure_private_dir(path.parent)
            write_atomic(path, dumps({"version": 1, "keys": keys}) + b"\n", mode=0o600)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for whoever else changes the file: two logins at once would lose a key."""
        path = self.path.with_suffix(".lock")
        ensure_private_dir(path.parent)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | BINARY | NOFOLLOW | NONBLOCK, 0o600)
        except OSError as error:
            raise ConfigError(f"{path} cannot be opened: {(error.strerror or str(error)).lower()}") from None
        try:
            try:
                if sys.platform == "win32":
                    msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                else:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise ConfigError(f"{path} cannot be locked: {reason}") from None
            yield
        finally:
            os.close(descriptor)


def _file() -> KeyFile:
    return KeyFile(store_path(), again="caliban login")


def _refuse_readable(path: Path) -> None:
    if os.name != "posix":
        return
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return  # reading it says why
    if mode & 0o077:
        raise ConfigError(
            f"{path} can be read or changed by others (mode {mode:04o}); its keys are not used",
            hint=f"chmod 600 {path}, and replace the keys if somebody may have seen them",
        )
