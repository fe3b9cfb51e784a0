"""Sends the events of hooks to addresses: public ones, those of the allow-list by name, no redirects."""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from caliban_hooks import HookFailed, PostAnswer, PostRequest
from caliban_hooks.answer import MAX_OUTPUT_BYTES
from caliban_hooks.http import UrlPattern
from caliban_provider.egress import EgressGuard
from caliban_provider.http import HttpClient


class HookPoster:
    """A `Post`. A host that stands whole in the allow-list may be one of this machine or network."""

    def __init__(self, patterns: Iterable[UrlPattern]) -> None:
        self._listed = frozenset(
            f"{pattern.host}:{pattern.port}" for pattern in patterns if not pattern.host.startswith("*.")
        )

    async def __call__(self, request: PostRequest) -> PostAnswer:
        """Send `request`; see `Post`. Raises `HookFailed` and what the client raises."""
        client = HttpClient(read_s=request.timeout_s, guard=EgressGuard(listed=self._listed))
        try:
            with anyio.move_on_after(request.timeout_s):
                return await _posted(client, request)
            raise HookFailed(f"it did not answer within {request.timeout_s:g} s")
        finally:
            await client.aclose()


async def _posted(client: HttpClient, request: PostRequest) -> PostAnswer:
    asked = client.stream("POST", request.url, headers=request.headers, body=request.body)
    async with asked as response:
        body = bytearray()
        async for piece in response.chunks():
            body += piece
            if len(body) > MAX_OUTPUT_BYTES:
                return PostAnswer(status=response.status, body=None)
        return PostAnswer(status=response.status, body=bytes(body))
