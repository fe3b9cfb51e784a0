"""What a client is given by its host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_mcp_client.target import Verdict

if TYPE_CHECKING:
    from caliban_mcp_client.authorization import Authorization
    from caliban_mcp_client.hosted import HostPipe
    from caliban_mcp_client.http import HttpClientLike
    from caliban_mcp_client.ports import ClientHandler
    from caliban_process import Runner


class ClientParts(Struct, frozen=True, kw_only=True):
    """Who starts programs, who sends requests, who answers questions, what was found out before.

    `runner` is needed for programs, `host` for what lives in the program that has started us, `http` for
    addresses: a client of its own, which is closed at the end. Without `handler` everything is declined.
    """

    runner: Runner | None = None
    host: HostPipe | None = None
    http: Callable[[], HttpClientLike] | None = None
    authorization: Authorization | None = None
    handler: ClientHandler | None = None
    verdict: Verdict | None = None
