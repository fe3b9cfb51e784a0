"""Renewing a token: once, whoever needs it, however many processes there are.

Servers give a new refresh token with each use, and take the second use of an old one for theft: two processes
that renew by themselves lose the login of both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from msgspec.structs import replace

from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.store import TokenStore
from caliban_mcp_client.oauth.values import ServerLogin, Tokens

Refresh = Callable[[ServerLogin], Awaitable[Tokens]]
_LOST = ("invalid_grant", "invalid_client", "unauthorized_client")


async def renewed(
    store: TokenStore, key: str, stale: ServerLogin, refresh: Refresh, clock: Callable[[], float]
) -> ServerLogin | None:
    """A login with another token than `stale` has, whoever renewed first.

    `None` where somebody has to log in.

    Raises `LoginFailed` where that cannot be known now.
    """
    async with store.locked(key):
        kept = await store.load(key)
        if kept is None or kept.tokens is None:
            return None
        if _is_other(kept, stale) and not kept.tokens.is_over(clock()):
            return kept
        if not kept.tokens.refresh:
            return None
        return await _spend(store, key, kept, refresh)


async def _spend(store: TokenStore, key: str, kept: ServerLogin, refresh: Refresh) -> ServerLogin | None:
    """Renew, and write it down: nobody may stop that between the two, for the old token is spent then."""
    with anyio.CancelScope(shield=True):
        try:
            tokens = await refresh(kept)
        except LoginFailed as error:
            if error.code not in _LOST:
                raise
            return await _after_refusal(store, key, kept, error.code)
        fresh = replace(kept, tokens=tokens)
        await store.save(key, fresh)
    return fresh


async def _after_refusal(store: TokenStore, key: str, refused: ServerLogin, code: str) -> ServerLogin | None:
    """Look once more before a login is thrown away: a program that knows no lock may have renewed it."""
    kept = await store.load(key)
    if kept is None:
        return None
    if _is_other(kept, refused):
        return kept
    # A client that the server has forgotten is registered anew.
    client = kept.client if code == "invalid_grant" else replace(kept.client, is_registered=False)
    await store.save(key, replace(kept, client=client, tokens=None))
    return None


def _is_other(one: ServerLogin, other: ServerLogin) -> bool:
    mine, theirs = one.tokens, other.tokens
    return mine is not None and (
        theirs is None or (mine.access, mine.refresh) != (theirs.access, theirs.refresh)
    )
