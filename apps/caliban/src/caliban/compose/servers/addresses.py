"""Which addresses a pattern of settings means, part by part: `*` in a host reaches into no path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def is_meant(pattern: str, url: str) -> bool:
    """Whether `pattern` means `url`, and nobody could have made it seem so.

    `*` stands for anything within the scheme, the host with its port, or the rest; a pattern that ends in it
    behind the host has any rest. A host has no case, and its usual port may be written or not. An address
    with a name in it, or with dots that lead elsewhere, is meant by no pattern but those of whole hosts.
    """
    parts = _parts(url)
    if parts is None or "@" in parts.netloc or "\\" in url:
        return False
    scheme, mark, behind = pattern.partition("://")
    behind, scheme = (behind, scheme) if mark else (pattern, "*")
    at = min((place for sign in "/?#" if (place := behind.find(sign)) >= 0), default=len(behind))
    authority, rest = behind[:at], behind[at:]
    is_whole = (not rest and authority.endswith("*")) or rest == "/*"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not is_whole and any(unquote(part) in (".", "..") for part in parts.path.split("/")):
        return False
    return (
        _fits(scheme.lower(), parts.scheme.lower())
        and any(_fits(authority.lower(), host) for host in _hosts(parts))
        and (is_whole or _fits(rest or "/", target))
    )


def resembles(pattern: str, url: str) -> bool:
    """Whether `pattern` may mean `url`: for what is denied, where being wrong costs less."""
    if is_meant(pattern, url) or _fits(pattern.lower(), url.lower()):
        return True
    parts = _parts(url)
    if parts is None or "@" not in parts.netloc:
        return False
    return resembles(pattern, url.replace(parts.netloc, parts.netloc.rpartition("@")[2], 1))


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for what is no number
    except ValueError:
        return None
    return parts if parts.hostname else None


def _hosts(parts: SplitResult) -> tuple[str, ...]:
    """The host as it may be written: with its port, and without where that is the usual one."""
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    usual = _PORTS.get(parts.scheme.lower())
    port = parts.port or usual
    return (host, f"{host}:{port}") if port == usual else (f"{host}:{port}",)


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
