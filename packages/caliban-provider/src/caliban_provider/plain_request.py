"""Requests that need no HTTP library: to a plain address, over a connection of our own.

Loading the library takes longer than most of what a run does before its first request. What it would add to
such a request is nothing; tests compare the bytes. Whatever is not plain is left to it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from msgspec import Struct

from caliban_provider import http1
from caliban_provider.connection import PORTS, Origin

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Hosts that no proxy stands before."""

_ADDRESS = re.compile(
    r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[::1\])(?::([1-9]\d{0,4}))?(/(?:[\w!$&'()*+,;=:@/?~.-]|%[0-9A-Fa-f]{2})*)?",
    re.ASCII,
)
_SPECIAL = frozenset({"host", "connection", "content-length", "transfer-encoding", "expect"})
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
_MAX_PORT = 65_535


class PlainRequest(Struct, frozen=True, kw_only=True):
    """A request as it goes over the connection to `origin`."""

    origin: Origin
    content: bytes


def plain_request(
    method: str, url: str, headers: Mapping[str, str], body: bytes, *, defaults: Mapping[str, str]
) -> PlainRequest | None:
    """The request, or `None` where the library has to look at it.

    That is an address with a user, a fragment, dots to resolve or characters to encode, a host that is not
    plain ASCII, and headers about the connection itself. `defaults` are headers that `headers` may replace;
    both hold printable ASCII only.
    """
    address = _ADDRESS.fullmatch(url)
    given = {name.lower() for name in headers}
    if address is None or "/." in url or given & _SPECIAL:
        return None
    scheme, host = address[1], address[2].strip("[]")
    port = int(address[3] or PORTS[scheme])
    if port > _MAX_PORT:
        return None
    origin = Origin(scheme=scheme, host=host, port=port)
    lines = [("Host", str(origin)), ("Connection", "keep-alive")]
    lines += [(name, value) for name, value in defaults.items() if name not in given]
    lines += headers.items()
    if body or method in _WITH_LENGTH:
        lines.append(("Content-Length", str(len(body))))
    encoded = [(name.encode("ascii"), value.encode("ascii")) for name, value in lines]
    target = (address[4] or "/").encode("ascii")
    return PlainRequest(origin=origin, content=http1.request(method, target, encoded, body))


def may_be_proxied() -> bool:
    """Whether the environment, or the settings of the system, may name a proxy."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(
        value and name.lower().endswith("_proxy") and name.lower() != "no_proxy"
        for name, value in os.environ.items()
    )
