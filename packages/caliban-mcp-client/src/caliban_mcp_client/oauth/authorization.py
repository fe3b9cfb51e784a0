"""The login of one server, as what requests are authorised by."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from caliban_common.text import one_line
from caliban_mcp_client.errors import LoginFailed, LoginNeeded
from caliban_mcp_client.http import HttpClientLike
from caliban_mcp_client.oauth.agent import LoginAgent
from caliban_mcp_client.oauth.challenge import Challenge, read_challenge
from caliban_mcp_client.oauth.endpoint import Reach, canonical, reach_of
from caliban_mcp_client.oauth.fetch import TIMEOUT_S, MetadataFetcher, fetching
from caliban_mcp_client.oauth.renewal import renewed
from caliban_mcp_client.oauth.store import TokenStore, login_key
from caliban_mcp_client.oauth.tokens import TokenEndpoint
from caliban_mcp_client.oauth.values import LoginOptions, ServerLogin, Tokens

_FRESH_S = 10.0
_PROBE_S = 30.0


class LoginParts(Struct, frozen=True, kw_only=True):
    """What logins work with. Without an `agent` nobody is asked, and `advice` says how somebody logs in.

    `learn` is told every secret, before anything else is done with it. `id_token` gives what the identity
    provider of `LoginOptions` said last of who the person is, and raises `LoginFailed` where it cannot.
    """

    store: TokenStore
    open_client: Callable[[Reach], HttpClientLike]
    learn: Callable[[str], None]
    agent: LoginAgent | None = None
    id_token: Callable[[], Awaitable[str]] | None = None
    advice: str = "log in to the server, then try again"
    clock: Callable[[], float] = time.time


class OAuthAuthorization:
    """Sends the token of a login, renews it, and lets a person log in; see `Authorization`."""

    def __init__(self, server: str, url: str, options: LoginOptions, parts: LoginParts) -> None:
        self._url = url
        self._options = options
        self._parts = parts
        self._key = login_key(server, url)
        self._lock = anyio.Lock()
        self._reach: Reach | None = None
        self._current: ServerLogin | None = None
        self._had_login = False
        self._is_loaded = False
        self._made: dict[str, float] = {}
        self._doubted: set[str] = set()
        parts.learn(options.client_secret)
        parts.learn(options.private_key)
        parts.learn(options.identity.client_secret)

    async def headers(self) -> Mapping[str, str]:
        """The token, renewed where it is about to end; none where there is no login.

        Raises `LoginFailed` where a login cannot be renewed now.
        """
        async with self._lock:
            current = await self._loaded()
            if current is None or current.tokens is None:
                return {}
            if current.tokens.is_over(self._parts.clock()):
                current = await self._renewed_in_time(current)
            if current is None or current.tokens is None:
                return {}
            return {"authorization": f"Bearer {current.tokens.access}"}

    async def challenged(self, status: int, www_authenticate: str) -> bool:
        """Find another token: from the store, by renewing, by asking a person; see `Authorization`.

        Raises `LoginNeeded` where only a person could, and nobody is there; `LoginFailed`.
        """
        challenge = read_challenge(www_authenticate)
        if status == 403 and not challenge.wants_scope:
            return False
        async with self._lock:
            if challenge.wants_scope:
                return await self._reaching_further(challenge)
            if await self._has_other_token():
                return True
            return await self._logged_in(challenge)

    async def log_in(self, challenge: Challenge | None = None) -> ServerLogin:
        """Let a person log in now, whatever there is. Raises `LoginFailed`, `LoginNeeded`.

        Without a `challenge` the server is asked for one first.
        """
        if challenge is None:
            _, challenge = await self.probe({})
        async with self._lock:
            await self._loaded()
            await self._logged_in(challenge)
            if self._current is None:
                raise LoginFailed("store", "the login was not kept")
            return self._current

    async def probe(self, headers: Mapping[str, str]) -> tuple[int, Challenge]:
        """What the server answers to somebody without a login: status and challenge. Raises `LoginFailed`."""
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": self._options.client_name.lower(), "version": "1"},
            },
        }
        sent = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers,
        }
        async with self._fetching(timeout_s=_PROBE_S) as fetcher:
            answer = await fetcher.head(self._url, sent, msgspec.json.encode(body))
        return answer.status, read_challenge(answer.headers.get("www-authenticate", ""))

    async def is_described(self, challenge: Challenge) -> bool:
        """Whether the server says of itself who logs people in to it. Raises `LoginFailed`."""
        from caliban_mcp_client.oauth.discovery import find_resource

        async with self._fetching() as fetcher:
            return (await find_resource(self._url, challenge, fetcher)).is_described

    async def _has_other_token(self) -> bool:
        """Whether there is a token that the server has not refused yet. Raises `LoginFailed`."""
        current, kept = self._current, await self._from_store()
        if kept is None or kept.tokens is None:
            return False
        tokens, now = kept.tokens, self._parts.clock()
        if (current is None or tokens != current.tokens) and not tokens.is_over(now):
            self._current = kept
            return True
        made_at = self._made.get(tokens.access)
        if made_at is not None and now - made_at < _FRESH_S:
            # It may have been the token before that was refused, in a request that went out beside another.
            is_first = tokens.access not in self._doubted
            self._doubted.add(tokens.access)
            return is_first
        self._current = await self._renew(kept)
        return self._current is not None

    async def _reaching_further(self, challenge: Challenge) -> bool:
        """Log in for more than before, once for the same scopes. Raises `LoginNeeded`, `LoginFailed`."""
        current = await self._loaded()
        before = () if current is None else current.requested
        if current is None or not challenge.scopes or set(challenge.scopes) <= set(before):
            return False
        if self._parts.agent is None and self._options.needs_person:
            wanted = tuple(dict.fromkeys((*before, *challenge.scopes)))
            async with self._parts.store.locked(self._key):
                kept = await self._from_store()
                if kept is not None:
                    await self._parts.store.save(self._key, replace(kept, wanted=wanted))
        return await self._logged_in(challenge)

    async def _logged_in(self, challenge: Challenge) -> bool:
        """True, once a person has logged in. Raises `LoginNeeded`, `LoginFailed`."""
        agent = self._parts.agent
        if agent is None and self._options.needs_person:
            raise self._needed(challenge)
        from caliban_mcp_client.oauth.login import log_in
        from caliban_mcp_client.oauth.work import LoginWork

        before = await self._from_store(any_client=True)
        async with self._fetching() as fetcher:
            work = LoginWork(
                url=self._url,
                options=self._options,
                fetcher=fetcher,
                agent=agent,
                clock=self._parts.clock,
                learn=self._parts.learn,
                elsewhere=self._elsewhere,
                id_token=self._parts.id_token,
                before=before,
            )
            credential = await log_in(work, challenge)
        async with self._parts.store.locked(self._key):
            await self._parts.store.save(self._key, self._without_settled_secret(credential))
        self._keep(credential)
        return True

    async def _renewed_in_time(self, current: ServerLogin) -> ServerLogin | None:
        """A login that is renewed before its end; as it was while it lasts and nobody can renew it."""
        try:
            self._current = await self._renew(current)
        except LoginFailed as error:
            tokens = current.tokens
            ends = None if tokens is None else tokens.expires_at
            if error.step != "unreachable" or ends is None or self._parts.clock() >= ends:
                raise
        return self._current

    async def _renew(self, current: ServerLogin) -> ServerLogin | None:
        fresh = await renewed(self._parts.store, self._key, current, self._refresh, self._parts.clock)
        if fresh is None or not self._is_ours(fresh):
            return None
        self._keep(fresh)
        return fresh

    async def _refresh(self, kept: ServerLogin) -> Tokens:
        if kept.tokens is None or not self._is_ours(kept):
            raise LoginFailed("token", "there is no login to renew", code="invalid_grant")
        client = kept.client
        if not client.is_registered and self._options.client_secret:
            client = replace(client, client_secret=self._options.client_secret)
        async with self._fetching() as fetcher:
            endpoint = TokenEndpoint(
                kept.token_endpoint, client, fetcher, self._parts.clock, self._parts.learn
            )
            return await endpoint.refresh(kept.tokens, kept.resource)

    async def _loaded(self) -> ServerLogin | None:
        if not self._is_loaded:
            self._current = await self._from_store()
            self._is_loaded = True
        return self._current

    async def _from_store(self, *, any_client: bool = False) -> ServerLogin | None:
        """What is kept for this server, at this address, as this client."""
        kept = await self._parts.store.load(self._key)
        if kept is None or not self._is_ours(kept, any_client=any_client):
            return None
        self._had_login = True
        if kept.tokens is not None:
            self._parts.learn(kept.tokens.access)
            self._parts.learn(kept.tokens.refresh)
        self._parts.learn(kept.client.client_secret)
        return kept

    def _is_ours(self, kept: ServerLogin, *, any_client: bool = False) -> bool:
        if canonical(kept.url) != canonical(self._url):
            return False
        return any_client or not self._options.client_id or kept.client.client_id == self._options.client_id

    def _keep(self, credential: ServerLogin) -> None:
        self._current, self._is_loaded = credential, True
        if credential.tokens is not None:
            self._made = {credential.tokens.access: self._parts.clock()}
            self._doubted &= self._made.keys()

    def _without_settled_secret(self, credential: ServerLogin) -> ServerLogin:
        """What settings hold is not written a second time."""
        if credential.client.is_registered:
            return credential
        return replace(credential, client=replace(credential.client, client_secret=""))

    def _needed(self, challenge: Challenge) -> LoginNeeded:
        if challenge.wants_scope and challenge.scopes:
            scopes = one_line(" ".join(challenge.scopes), max_chars=200)
            words = f"the server wants a login that reaches further: {scopes}"
        elif self._had_login:
            words = "the server wants a new login: it does not take the one that there is"
        else:
            words = "the server wants a login"
        return LoginNeeded(words, hint=self._parts.advice, scopes=challenge.scopes)

    @asynccontextmanager
    async def _fetching(self, *, timeout_s: float = TIMEOUT_S) -> AsyncIterator[MetadataFetcher]:
        if self._reach is None:
            self._reach = await reach_of(self._url)
        reach = self._reach
        if reach == "public" and self._options.auth_url:
            reach = "private"  # a person wrote down where to go
        async with fetching(self._parts.open_client, reach, timeout_s=timeout_s) as fetcher:
            yield fetcher

    @asynccontextmanager
    async def _elsewhere(self, url: str) -> AsyncIterator[MetadataFetcher]:
        async with fetching(self._parts.open_client, await reach_of(url)) as fetcher:
            yield fetcher
