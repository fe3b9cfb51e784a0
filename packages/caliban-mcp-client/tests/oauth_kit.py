"""A served `OAuthWorld`, people who log in there, and clients that ask it."""

from __future__ import annotations

from urllib.parse import urlsplit

import anyio
from login_kit import served
from msgspec.structs import replace

from caliban_mcp_client.oauth import (
    LoginAgent,
    LoginOptions,
    LoginParts,
    MemoryTokens,
    OAuthAuthorization,
    Reach,
    TokenStore,
)
from caliban_mcp_client.testing.oauth import OAuthWorld
from caliban_provider.http import HttpClient

__all__ = ["NAME", "Login", "PastingPerson", "Person", "free_port", "public_number", "served", "visit"]

NAME = "notes"


async def free_port() -> int:
    """A port of loopback that nobody has."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        return int(listener.extra(anyio.abc.SocketAttribute.local_port))


def public_number(is_public: bool) -> str:
    """An address that anybody may be reached at, or one of a private network."""
    return "93.184.216.34" if is_public else "10.1.2.3"


async def visit(url: str, *, headers: tuple[str, ...] = (), method: str = "GET", host: str = "") -> bytes:
    """What a listener on loopback answers to a browser that goes to `url`."""
    parts = urlsplit(url)
    async with await anyio.connect_tcp("127.0.0.1", parts.port or 80) as stream:
        lines = [f"{method} {parts.path}?{parts.query} HTTP/1.1", f"Host: {host or parts.netloc}", *headers]
        await stream.send("\r\n".join((*lines, "", "")).encode())
        data = b""
        try:
            while True:
                data += await stream.receive()
        except anyio.EndOfStream:
            return data


class Person:
    """Opens what is shown, agrees at once, and lets the browser go back; remembers what was shown."""

    def __init__(self, world: OAuthWorld) -> None:
        self.world = world
        self.shown: list[str] = []
        self.pages: list[bytes] = []

    async def show(self, url: str, redirect_uri: str) -> None:
        self.shown.append(url)
        self.back = self.world.browse(url)
        assert self.back.startswith(redirect_uri)

    async def pasted(self) -> str | None:
        with anyio.CancelScope(shield=True):  # the login goes on while the browser reads its page
            self.pages.append(await visit(self.back))
        return None

    async def refused(self, words: str) -> None:
        raise AssertionError(words)


class PastingPerson(Person):
    """Has the browser on another machine, and brings the address by hand, behind the `scraps`."""

    def __init__(self, world: OAuthWorld, scraps: tuple[str, ...] = ()) -> None:
        super().__init__(world)
        self.scraps = list(scraps)
        self.refusals: list[str] = []

    async def pasted(self) -> str | None:
        return self.scraps.pop(0) if self.scraps else f" {self.back}\n"

    async def refused(self, words: str) -> None:
        self.refusals.append(words)


class Login:
    """An `OAuthAuthorization` at a world, with all that it was given and has told."""

    def __init__(
        self,
        world: OAuthWorld,
        agent: LoginAgent | None = None,
        options: LoginOptions | None = None,
        *,
        store: TokenStore | None = None,
        url: str = "",
        id_token: str = "",
    ) -> None:
        self.id_token = id_token
        self.store = MemoryTokens() if store is None else store
        self.learned: set[str] = set()
        self.reaches: list[Reach] = []
        self.now = 1_800_000_000.0
        parts = LoginParts(
            store=self.store,
            open_client=self._client,
            learn=self.learned.add,
            agent=agent,
            advice="do it",
            clock=lambda: self.now,
            id_token=self._id_token if id_token else None,
        )
        options = replace(options or LoginOptions(), timeout_s=20.0)
        self.authorization = OAuthAuthorization(NAME, url or world.url, options, parts)

    async def _id_token(self) -> str:
        return self.id_token

    def _client(self, reach: Reach) -> HttpClient:
        self.reaches.append(reach)
        return HttpClient(connect_s=5.0, read_s=10.0)
