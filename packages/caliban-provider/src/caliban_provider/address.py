"""Whether an address can be asked at all."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_address(url: str) -> bool:
    """Whether `url` names a scheme that is spoken, a host, and a port that there is, if any."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    is_host = bool(parts.hostname) and not any(char.isspace() for char in parts.netloc)
    return parts.scheme.lower() in ("http", "https") and is_host
