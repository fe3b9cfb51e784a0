"""Which addresses a login may touch, and which of them mean the same server.

An address that a server names is asked only where it is https, or on loopback if the server is there itself.
What is dialled behind a name is checked by the client, which is told how far it may reach (security.md K11).
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, urlsplit

from caliban_common.addresses import is_public, reads_as_number
from caliban_common.text import one_line
from caliban_mcp_client.errors import LoginFailed

Reach: TypeAlias = Literal["public", "private", "loopback"]
"""Where a server is: anywhere, in a network that is not public, on this machine. Logins go no further in."""

MAX_CHARS: Final = 4096
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Whether the name or number is one of this machine's."""
    return host.lower() in _LOOPBACK


def check_endpoint(url: str, what: str, reach: Reach) -> str:
    """`url` itself where a login may go there. Raises `LoginFailed` that names `what` it is."""
    parts = split(url)
    shown = shown_url(url)
    if parts is None:
        raise _refused(f"{what} is no address that can be asked: {shown}")
    host = (parts.hostname or "").lower()
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host) and reach == "loopback"):
        raise _refused(f"{what} is not https: {shown}")
    if reach != "loopback" and is_loopback(host):
        raise _refused(f"{what} leads to this machine: {shown}")
    _check_number(host, what, shown, reach)
    return url


def _check_number(host: str, what: str, shown: str, reach: Reach) -> None:
    """Refuse numbers that a name would be refused for once it is looked up. Raises `LoginFailed`."""
    try:
        address = ip_address(host)
    except ValueError:
        if reads_as_number(host):
            raise _refused(f"{what} is a number in disguise: {shown}") from None
        return
    if address.is_loopback:
        return
    if address.is_link_local or address.is_unspecified or address.is_multicast:
        raise _refused(f"{what} is an address of this link alone: {shown}")
    if reach == "public" and not is_public(host):
        raise _refused(f"{what} is not at a public address: {shown}")


def _refused(words: str) -> LoginFailed:
    return LoginFailed(
        "address", words, hint="nothing was sent there; whoever runs the server has to name another address"
    )


def split(url: str) -> SplitResult | None:
    """The parts of an http or https address without user, fragment, blanks, backslashes or controls."""
    if not url or len(url) > MAX_CHARS or not url.isascii() or not url.isprintable():
        return None
    if any(char in url for char in ' \\"<>^`{|}') or "#" in url:
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises where it is no number
    except ValueError:
        return None
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host or "@" in parts.netloc or "%" in parts.netloc:
        return None
    return parts


def origin_of(url: str) -> str:
    """Scheme, host and port as an origin is written: without the port of its scheme. Empty for no address."""
    parts = split(url)
    if parts is None:
        return ""
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return f"{parts.scheme}://{host}" + ("" if port in (None, _PORTS[parts.scheme]) else f":{port}")


def path_of(url: str) -> str:
    """The path without a final slash; empty for the root."""
    parts = split(url)
    return "" if parts is None else parts.path.rstrip("/")


def canonical(url: str) -> str:
    """The address of a server as its resource identifier (RFC 8707): no final slash at the root."""
    parts = split(url)
    if parts is None:
        return url
    path = "" if parts.path == "/" else parts.path
    return origin_of(url) + path + (f"?{parts.query}" if parts.query else "")


def covers(resource: str, url: str) -> bool:
    """Whether `resource` is `url`, or a path above it at the same origin."""
    if not origin_of(resource) or origin_of(resource) != origin_of(url):
        return False
    parts, own = split(resource), split(url)
    if parts is None or own is None or (parts.query and parts.query != own.query):
        return False
    above, path = parts.path.rstrip("/"), own.path.rstrip("/")
    if any(step in (".", "..") or "%2" in step.lower() for step in above.split("/")):
        return False
    return path == above or path.startswith(f"{above}/")


def shown_url(url: str) -> str:
    """`url` for a message: without its query, which may hold what nobody should read."""
    return one_line(url.partition("?")[0].partition("#")[0], max_chars=200) or "nothing"


async def reach_of(url: str) -> Reach:
    """Where the server at `url` is. What cannot be looked up counts as public, where most is checked."""
    import socket

    import anyio

    parts = split(url)
    host = "" if parts is None else (parts.hostname or "")
    if is_loopback(host):
        return "loopback"
    try:
        entries = await anyio.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return "public"
    addresses = [str(entry[4][0]) for entry in entries]
    return "public" if not addresses or any(map(is_public, addresses)) else "private"
