"""What a server of a run works with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_mcp.status import ServerNews
from caliban_mcp_client.target import Verdict

if TYPE_CHECKING:
    from caliban_mcp.cache import ListCache
    from caliban_mcp.pins import PinStore
    from caliban_mcp_client import McpClient

Connect = Callable[[Verdict | None], "AbstractAsyncContextManager[McpClient]"]


def _no_logins() -> object:
    return None


class ServerParts(Struct, frozen=True, kw_only=True):
    """What a server of a run works with.

    `connect` opens a conversation; `key` is that of its list in the `cache`. `logins` gives another value
    once somebody has logged in or out, in whatever process.
    """

    connect: Connect
    cache: ListCache
    key: str
    pins: PinStore
    report: Callable[[ServerNews], None]
    logins: Callable[[], object] = _no_logins
