"""Where logins are kept: a seam, for the package keeps nothing itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from typing import Protocol

import anyio

from caliban_mcp_client.oauth.endpoint import canonical
from caliban_mcp_client.oauth.values import ServerLogin


class TokenStore(Protocol):
    """Keeps a credential for each key. What it cannot do is a `LoginFailed` in the step `store`."""

    async def load(self, key: str) -> ServerLogin | None:
        """What is kept under `key` now, whoever wrote it."""
        ...

    async def save(self, key: str, credential: ServerLogin) -> None:
        """Keep `credential`, and have it on disk before this returns."""
        ...

    async def remove(self, key: str) -> bool:
        """Forget it; whether there was one."""
        ...

    def locked(self, key: str) -> AbstractAsyncContextManager[None]:
        """Nobody else is within these lines for the same key, in this process or in another one."""
        ...


class MemoryTokens:
    """Keeps credentials as long as the object lives: for tests, and for hosts that keep none."""

    def __init__(self) -> None:
        self.kept: dict[str, ServerLogin] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def load(self, key: str) -> ServerLogin | None:
        """See `TokenStore`."""
        return self.kept.get(key)

    async def save(self, key: str, credential: ServerLogin) -> None:
        """See `TokenStore`."""
        self.kept[key] = credential

    async def remove(self, key: str) -> bool:
        """See `TokenStore`."""
        return self.kept.pop(key, None) is not None

    @asynccontextmanager
    async def locked(self, key: str) -> AsyncIterator[None]:
        """See `TokenStore`."""
        async with self._locks.setdefault(key, anyio.Lock()):
            yield


def login_key(server: str, url: str) -> str:
    """Under what the login of a server entry is kept: another address of it is another login."""
    return sha256(f"{server}\n{canonical(url)}".encode()).hexdigest()[:32]
