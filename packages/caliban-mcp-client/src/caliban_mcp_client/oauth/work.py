"""What one login is made with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from caliban_mcp_client.oauth.agent import LoginAgent
from caliban_mcp_client.oauth.fetch import MetadataFetcher
from caliban_mcp_client.oauth.values import LoginOptions, ServerLogin


class LoginWork(Struct, frozen=True, kw_only=True):
    """The parts of a login at the server of `url`. `before` is the last one, whose client may serve again.

    `learn` is told every secret before anything else is done with it. `id_token` gives the one that the
    person has now; `elsewhere` asks a server that a person has named by its address.
    """

    url: str
    options: LoginOptions
    fetcher: MetadataFetcher
    agent: LoginAgent | None
    clock: Callable[[], float]
    learn: Callable[[str], None]
    elsewhere: Callable[[str], AbstractAsyncContextManager[MetadataFetcher]]
    id_token: Callable[[], Awaitable[str]] | None = None
    before: ServerLogin | None = None
