"""What a server of a run works with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_mcp.status import ServerNews
from caliban_mcp_client.target import Verdict

if TYPE_CHECKING:
    from caliban_common.message import ResultPart
    from caliban_mcp.cache import ListCache
    from caliban_mcp.pins import PinStore
    from caliban_mcp_client import McpClient

Connect = Callable[[Verdict | None], "AbstractAsyncContextManager[McpClient]"]


def _no_logins() -> object:
    return None


def unseen(data: bytes) -> ResultPart | str | None:
    """Show nothing of images: whoever makes a run says what its model takes."""
    del data
    return "which is not shown"


class ServerParts(Struct, frozen=True, kw_only=True):
    """What a server of a run works with.

    `connect` opens a conversation; `key` is that of its list in the `cache`. `logins` gives another value
    once somebody has logged in or out, in whatever process. `look` says what the model of the run is shown of
    images and documents (see `caliban_mcp.results.Look`).
    """

    connect: Connect
    cache: ListCache
    key: str
    pins: PinStore
    report: Callable[[ServerNews], None]
    logins: Callable[[], object] = _no_logins
    look: Callable[[bytes], ResultPart | str | None] = unseen
