"""Which proxy stands before a host; exceptions are read leniently.

Exceptions (`NO_PROXY`) are names with what is under them, addresses, ranges (`10.0.0.0/8`, `fc00::/7`),
patterns with `*`, each with or without a port. An entry that is none of these is for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def proxy_for(proxies: Mapping[str, str], scheme: str, host: str, port: int) -> str | None:
    """The URL of the proxy for a server; `None` where it is asked directly.

    `proxies` are by scheme (`http`, `https`, `all`), and under `no` the exceptions. `host` is without
    brackets.
    """
    if goes_direct(host, port, proxies.get("no", "")):
        return None
    proxy = proxies.get(scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def goes_direct(host: str, port: int, exceptions: str) -> bool:
    """Whether one of `exceptions`, a list with commas or spaces, is for the server."""
    host = host.lower().rstrip(".")
    return any(_is_for(entry.lower(), host, port) for entry in re.split(r"[,\s]+", exceptions) if entry)


def _is_for(entry: str, host: str, port: int) -> bool:
    entry = entry.partition("://")[2] or entry
    if "/" in entry:
        return _in_range(host, entry)
    name, given = _split_port(entry)
    if given is not None and given != port:
        return False
    if "*" in name:
        pattern = ".*".join(re.escape(part) for part in name.split("*"))
        return re.fullmatch(pattern, host) is not None
    name = name.strip("[]").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}") or _in_range(host, name))


def _split_port(entry: str) -> tuple[str, int | None]:
    """`entry` without its port; an address of version 6 has one only behind brackets."""
    name, colon, port = entry.rpartition(":")
    if not colon or not port.isdecimal() or (":" in name and not name.endswith("]")):
        return entry, None
    return name, int(port)


def _in_range(host: str, entry: str) -> bool:
    """Whether `host` is an address within the range or equal to the address `entry`."""
    if not (host[:1].isdigit() or ":" in host):
        return False
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(entry.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False
