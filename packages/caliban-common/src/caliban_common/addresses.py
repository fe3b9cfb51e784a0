"""Which addresses anybody may be reached at, and which hosts are numbers in disguise.

The one list of what is not public, for every client that connects in the name of a model (ADR 0036, 0043).
IPv6 addresses that carry one of IPv4 are judged by that (RFC 4291, 6052).
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from caliban_common.lazy import lazy_pattern

_NOT_PUBLIC: Final = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_PUBLIC_6: Final = ip_network("2000::/3")
_NAT64: Final = ip_network("64:ff9b::/96")
_LABEL: Final = lazy_pattern(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?", re.ASCII)
_NUMBER: Final = lazy_pattern(r"0x[0-9a-f]*|[0-9]+", re.ASCII)


def is_public(address: str) -> bool:
    """Whether anybody may be reached at the numeric `address`; false for what is none."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        inner = _embedded(parsed)
        if inner is not None:
            return is_public(str(inner))
        if parsed not in _PUBLIC_6:
            return False
    return not any(parsed in network for network in _NOT_PUBLIC if network.version == parsed.version)


def is_plain_name(host: str) -> bool:
    """Whether `host` is labels of lower-case ASCII letters, digits, `-` and `_`, without a final dot."""
    return all(_LABEL.fullmatch(label) for label in host.split("."))


def reads_as_number(host: str) -> bool:
    """Whether some resolver would take the lower-case name `host` for an address, as `0x7f.1` or `127.1`."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The address of version 4 that one of version 6 leads to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
