"""WebFetch: what stands at an address, as text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
from msgspec import Struct

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.errors import CalibanError
from caliban_common.text import clean
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import ToolFailed, WebFailed
from caliban_tools_builtin.web.page import page_text
from caliban_tools_builtin.web.ports import WebClient
from caliban_tools_builtin.web.url import checked_url, is_inward, is_same_host, redirect_target

MAX_BODY_BYTES: Final = 10_000_000
MAX_TEXT_CHARS: Final = 100_000
MAX_REDIRECTS: Final = 10
DEFAULT_TIMEOUT_S: Final = 60
MAX_TIMEOUT_S: Final = 300
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_HEADERS: Final[Mapping[str, str]] = {"accept": "text/html, application/xhtml+xml, text/*;q=0.9, */*;q=0.5"}


class Page(Struct, frozen=True, kw_only=True):
    """An answer in full; `elsewhere` is where a redirect leads that is not followed."""

    url: str
    status: int
    content_type: str = ""
    body: bytes = b""
    elsewhere: str | None = None


class WebFetch:
    """The tool WebFetch. `client` makes one for a call; `may_fetch` says which redirects may be followed."""

    def __init__(self, client: Callable[[], WebClient], may_fetch: Callable[[str], bool]) -> None:
        self._client = client
        self._may_fetch = may_fetch

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: pages are fetched side by side."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Fetch the page; see `Tool`."""
        return await answered(lambda: self._fetch(args))

    async def _fetch(self, args: Mapping[str, Any]) -> ToolOutput:
        given = Arguments(args, known=("url", "timeout_seconds"))
        url = checked_url(given.string("url"))
        limit_s = given.integer("timeout_seconds", DEFAULT_TIMEOUT_S, low=1, high=MAX_TIMEOUT_S)
        with anyio.move_on_after(limit_s):
            async with opened(self._client) as client:
                page = await self._followed(client, url)
            return await _answer(page)
        raise WebFailed(f"{url} did not answer within {limit_s} s")

    async def _followed(self, client: WebClient, url: str) -> Page:
        """The page behind redirects of its own host, as many as there may be."""
        for _ in range(MAX_REDIRECTS + 1):
            page = await _asked(client, url)
            if page.elsewhere is None or not is_same_host(url, page.elsewhere):
                return page
            if not self._may_fetch(page.elsewhere):
                return page
            url = page.elsewhere
        raise WebFailed(f"{url} redirects more than {MAX_REDIRECTS} times")


@asynccontextmanager
async def opened(client: Callable[[], WebClient]) -> AsyncIterator[WebClient]:
    """A client for one call, whose failures are those of a tool."""
    made = client()
    try:
        yield made
    except ToolFailed:
        raise
    except CalibanError as error:
        raise WebFailed(error.message) from error
    finally:
        with anyio.CancelScope(shield=True):
            await made.aclose()


async def read_whole(client: WebClient, url: str) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of what is at `url`. Raises `WebFailed` for a body above the bound."""
    async with client.stream("GET", url, headers=_HEADERS) as answer:
        body = await answer.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise WebFailed(f"{url} has more than {MAX_BODY_BYTES:,} bytes")
        return answer.status, answer.headers, body


async def _asked(client: WebClient, url: str) -> Page:
    status, headers, body = await read_whole(client, url)
    location = headers.get("location")
    if status in _REDIRECTS and location:
        try:
            target = redirect_target(url, location)
        except ArgumentError as error:
            raise WebFailed(f"{url} redirects to what may not be fetched: {error.message}") from error
        if not is_same_host(url, target) and is_inward(target):
            raise WebFailed(f"{url} redirects to what may not be fetched: {target} is no public address")
        return Page(url=url, status=status, elsewhere=target)
    return Page(url=url, status=status, content_type=headers.get("content-type", ""), body=body)


async def _answer(page: Page) -> ToolOutput:
    if page.elsewhere is not None:
        return ToolOutput.of(
            f"→ WebFetch {page.url}: redirects to {page.elsewhere}, which was not followed\n"
            "Fetch that address if it is what you want",
            details={"url": page.url, "redirect": page.elsewhere},
        )
    read = partial(page_text, page.body, page.content_type, page.url)
    text = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
    kind = page.content_type.partition(";")[0].strip() or "unknown type"
    if len(text) > MAX_TEXT_CHARS:
        text = f"{text[:MAX_TEXT_CHARS]}… [{len(text) - MAX_TEXT_CHARS} more characters]"
    header = f"→ WebFetch {page.url} (status {page.status}, {kind}, {len(page.body)} bytes)"
    return ToolOutput.of(
        clean(f"{header}\n\n{text.strip() or '(no text)'}"),
        is_error=not 200 <= page.status < 300,
        details={"url": page.url, "status": page.status, "size_bytes": len(page.body)},
    )
