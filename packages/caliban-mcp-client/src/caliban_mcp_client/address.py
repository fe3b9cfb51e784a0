"""An address as a server: the carrier of its kind, and what goes on beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from caliban_mcp_client.authorization import Authorization
from caliban_mcp_client.groups import PlainGroup
from caliban_mcp_client.http import HttpClientLike
from caliban_mcp_client.oldsse import OldSseCarrier
from caliban_mcp_client.ports import Carrier, Receiver
from caliban_mcp_client.requests import Requests
from caliban_mcp_client.streamable import StreamableCarrier
from caliban_mcp_client.target import HttpTarget, ServerOptions

_CLOSE_S = 2.0


@asynccontextmanager
async def opened_address(
    target: HttpTarget,
    options: ServerOptions,
    client: HttpClientLike,
    authorization: Authorization | None,
    receiver: Receiver,
) -> AsyncIterator[Carrier]:
    """Speak with the server at an address, in the way of `target.kind`. Raises `ConnectError`.

    The client is closed at the end.
    """
    requests = Requests(client, target, authorization)
    try:
        async with PlainGroup() as group:
            if target.kind == "sse":
                old = OldSseCarrier(requests, receiver, options)
                group.start_soon(old.listen)
                await old.ready()
                yield old
            else:
                carrier = StreamableCarrier(requests, receiver, options)
                group.start_soon(carrier.listen)
                yield carrier
                await carrier.leave()
            group.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await client.aclose()
