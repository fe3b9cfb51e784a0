"""Reading the URL that a model names: one meaning, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from caliban_common.addresses import is_plain_name, is_public, reads_as_number
from caliban_common.arguments import ArgumentError

MAX_CHARS: Final = 2000
_PORT: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_INWARD: Final = ("localhost", "local", "internal", "intranet", "lan", "home.arpa")
"""Ends of names that no public host has."""
_KEPT: Final = "%/:=&?~#+!$,;'@()*[]|"
"""What of a path or query is left as it was written."""


def checked_url(text: str) -> str:
    """`text` as it is asked for: without a fragment, over TLS where it is a name at the usual port.

    Raises `ArgumentError` for what is no address of the web, or could be read in two ways.
    """
    if len(text) > MAX_CHARS:
        raise ArgumentError(f"the URL has {len(text)} characters, the limit is {MAX_CHARS}")
    if re.search(r"[\x00-\x20\x7f\\]", text):
        raise ArgumentError("the URL holds a blank, a control character or a backslash")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ArgumentError(f"that is no URL: {error}") from error
    scheme, host = parts.scheme.lower(), (parts.hostname or "").rstrip(".")
    if scheme not in _PORT:
        raise ArgumentError("the URL must begin with http:// or https://")
    if "@" in parts.netloc:
        raise ArgumentError("the URL carries user information, which is not sent")
    numeric = _checked_host(host)
    if port == _PORT[scheme]:
        port = None
    if scheme == "http" and port is None and not numeric and host != "localhost":
        scheme = "https"
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        netloc += f":{port}"
    return urlunsplit((scheme, netloc, quote(parts.path, safe=_KEPT), quote(parts.query, safe=_KEPT), ""))


def redirect_target(url: str, location: str) -> str:
    """Where an answer of `url` leads with its header `location`. Raises `ArgumentError`."""
    try:
        target = urljoin(url, location)
    except ValueError as error:
        raise ArgumentError(f"that is no URL: {error}") from error
    return checked_url(target)


def is_inward(url: str) -> bool:
    """Whether the host of a checked URL says by itself that it is of this machine or its network."""
    host = urlsplit(url).hostname or ""
    if ":" in host or re.fullmatch(r"[0-9]+(\.[0-9]+){3}", host):
        return not is_public(host)
    return any(host == end or host.endswith(f".{end}") for end in _INWARD)


def is_same_host(one: str, other: str) -> bool:
    """Whether two URLs are of one host and port, a leading `www.` aside."""
    first, second = (urlsplit(url) for url in (one, other))
    return _name(first.hostname) == _name(second.hostname) and (
        (first.port or _PORT[first.scheme]) == (second.port or _PORT[second.scheme])
    )


def _checked_host(host: str) -> bool:
    """Whether `host` is a numeric address. Raises `ArgumentError` for one that is no name either."""
    try:
        ip_address(host)
        return True
    except ValueError:
        pass
    if not is_plain_name(host):
        raise ArgumentError("the host of the URL is no plain name", hint="write it in ASCII (xn--…)")
    if reads_as_number(host):
        raise ArgumentError("the host of the URL is a number that could be read in several ways")
    if "." not in host and host != "localhost":
        raise ArgumentError("the host of the URL needs a dot, or to be localhost or an address")
    return False


def _name(host: str | None) -> str:
    return (host or "").rstrip(".").removeprefix("www.")
