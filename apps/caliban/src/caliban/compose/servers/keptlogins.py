"""Logins to MCP servers on disk: in the system's keyring where there is one, else in a file of mode 0600.

The file names every login, so that a run which needs none opens no keyring; what is in the keyring is left
out of it. One lock for each login holds between processes.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import anyio
import msgspec
from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.keystore import KEYRING, KeyFile, system_keyring
from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK, ensure_private_dir
from caliban_common.paths import data_dir
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth import ServerLogin

SERVICE: Final = "caliban-mcp"
LOCK_S: Final = 60.0
PAUSE_S: Final = 0.02
_T = TypeVar("_T")


class KeptLogin(Struct, frozen=True, kw_only=True):
    """A login as the file has it: which server it is for, and all of it that is not in the keyring."""

    server: str
    credential: ServerLogin
    in_keyring: bool = False


def logins_file() -> KeyFile:
    """The file of all logins."""
    return KeyFile(data_dir() / "mcp-tokens.json", again="caliban mcp login")


def kept_login(key: str) -> KeptLogin | None:
    """What the file says of a login, without a look into the keyring. Raises `ConfigError`."""
    text = logins_file().read().get(key)
    return None if text is None else _decoded(text, KeptLogin)


def logins_of(server: str) -> tuple[str, ...]:
    """The keys of all logins of server entries of this name. Raises `ConfigError`."""
    kept = {key: _decoded(text, KeptLogin) for key, text in logins_file().read().items()}
    return tuple(key for key, login in kept.items() if login is not None and login.server == server)


class KeptLogins:
    """The store of logins of one server entry; see `TokenStore`."""

    def __init__(self, server: str) -> None:
        self._server = server

    async def load(self, key: str) -> ServerLogin | None:
        """See `TokenStore`."""
        return await _in_thread(lambda: self._load(key))

    async def save(self, key: str, credential: ServerLogin) -> None:
        """See `TokenStore`."""
        await _in_thread(lambda: self._save(key, credential))

    async def remove(self, key: str) -> bool:
        """See `TokenStore`."""
        return await _in_thread(lambda: self._remove(key))

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncIterator[None]:
        """See `TokenStore`."""
        descriptor = await _in_thread(lambda: _opened_lock(data_dir() / "mcp-logins" / f"{key}.lock"))
        try:
            with anyio.move_on_after(LOCK_S) as waiting:
                while not _locked_now(descriptor):
                    await anyio.sleep(PAUSE_S)
            if waiting.cancelled_caught:
                raise LoginFailed(
                    "store",
                    f"another process has been renewing the login for {LOCK_S:g} s",
                    hint="try again once it has ended",
                )
            yield
        finally:
            os.close(descriptor)  # this ends the lock as well

    def _load(self, key: str) -> ServerLogin | None:
        kept = kept_login(key)
        if kept is None or not kept.in_keyring:
            return None if kept is None else kept.credential
        ring = system_keyring()
        if ring is None:
            return replace(kept.credential, tokens=None)
        try:
            text = ring.get_password(SERVICE, key)
        except (RuntimeError, OSError, ring.errors.KeyringError):
            text = None
        whole = None if text is None else _decoded(text, ServerLogin)
        return replace(kept.credential, tokens=None) if whole is None else whole

    def _save(self, key: str, credential: ServerLogin) -> None:
        kept = KeptLogin(server=self._server, credential=credential)
        ring = system_keyring()
        if ring is not None:
            try:
                ring.set_password(SERVICE, key, _encoded(credential))
            except (RuntimeError, OSError, ring.errors.KeyringError):
                pass  # a keyring without a back end, or one that takes no text so long: the file serves
            else:
                kept = KeptLogin(server=self._server, credential=_bared(credential), in_keyring=True)
        logins_file().change(lambda keys: {**keys, key: _encoded(kept)})

    def _remove(self, key: str) -> bool:
        file = logins_file()
        text = file.read().get(key)
        kept = None if text is None else _decoded(text, KeptLogin)
        ring = system_keyring() if kept is not None and kept.in_keyring else None
        if ring is not None:
            try:
                if ring.get_password(SERVICE, key):
                    ring.delete_password(SERVICE, key)
            except (RuntimeError, OSError, ring.errors.KeyringError) as error:
                raise LoginFailed("store", f"{KEYRING} refused: {type(error).__name__}") from None
        if text is not None:
            file.change(lambda keys: {name: value for name, value in keys.items() if name != key})
        return text is not None


def _bared(credential: ServerLogin) -> ServerLogin:
    """What of a login anybody may read who may read the file: when it ends, and for what it is."""
    tokens = credential.tokens
    if tokens is not None:
        tokens = replace(tokens, access="", refresh="")
    return replace(credential, client=replace(credential.client, client_secret=""), tokens=tokens)


def _locked_now(descriptor: int) -> bool:
    try:
        return try_lock(descriptor)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LoginFailed("store", f"the logins cannot be locked: {reason}") from error


def _opened_lock(path: Path) -> int:
    ensure_private_dir(path.parent)
    flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags, 0o600)


def _encoded(value: Struct) -> str:
    return msgspec.json.encode(value).decode("utf-8")


def _decoded(text: str, kind: type[_T]) -> _T | None:
    """A value from its text; `None` for what no version of ours has written: a new login takes its place."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


async def _in_thread(work: Callable[[], _T]) -> _T:
    try:
        return await to_thread.run_sync(work)
    except LoginFailed:
        raise
    except CalibanError as error:
        raise LoginFailed("store", error.message, hint=error.hint) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LoginFailed("store", f"the logins cannot be kept: {reason}") from error
