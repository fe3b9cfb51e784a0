"""Which servers may be asked in the name of a model: public ones, on the ports of the web.

A name is resolved once, every address that it has must be public, and what was checked is what is dialled:
a second look at the name could give another address (DNS rebinding). IPv6 addresses that carry one of IPv4
are judged by that (RFC 4291, 6052).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from msgspec import Struct

from caliban_provider.connection import PORTS, Origin
from caliban_provider.errors import InvalidRequest

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


class EgressGuard(Struct, frozen=True, kw_only=True):
    """Lets requests through to public addresses, ports 80 and 443, and to the `listed` hosts.

    Those are `name` or `name:port`, as a person wrote them down.
    """

    listed: frozenset[str] = frozenset()

    async def addresses(self, origin: Origin) -> tuple[str, ...]:
        """What to dial for `origin`, in order.

        Raises `InvalidRequest` for a server that may not be asked, and `OSError` for a name that does not
        resolve.
        """
        found = await _resolved(origin)
        if {origin.host, f"{origin.host}:{origin.port}"} & self.listed:
            return found
        if origin.port not in PORTS.values():
            raise InvalidRequest(
                f"{origin}: only the ports {', '.join(map(str, PORTS.values()))} may be asked"
            )
        for address in found:
            if not is_public(address):
                shown = "" if address == origin.host else f" ({address})"
                raise InvalidRequest(f"{origin.host} is not a public address{shown} and may not be asked")
        return found


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


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The address of version 4 that one of version 6 leads to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


async def _resolved(origin: Origin) -> tuple[str, ...]:
    import socket

    import anyio

    found = await anyio.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
