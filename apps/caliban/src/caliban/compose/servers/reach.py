"""What a login dials: no address further in than the server that it is for."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Literal

import anyio

from caliban_common.addresses import is_public
from caliban_provider.connection import Origin
from caliban_provider.egress import EgressGuard
from caliban_provider.errors import InvalidRequest


class ReachGuard(EgressGuard, frozen=True, kw_only=True):
    """Lets through to public addresses, to private ones, or to this machine too; never to those of a link."""

    reach: Literal["public", "private", "loopback"] = "public"

    async def addresses(self, origin: Origin) -> tuple[str, ...]:
        """What to dial for `origin`; see `EgressGuard`."""
        resolved = await anyio.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in resolved))
        for address in addresses:
            if not may_dial(address, self.reach):
                raise InvalidRequest(
                    f"{origin.host} is {address}, which a login to this server may not reach"
                )
        return addresses


def may_dial(address: str, reach: str) -> bool:
    """Whether a numeric address is within `reach`; an address that is none is not."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    parsed = parsed if mapped is None else mapped
    if parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast:
        return False
    if parsed.is_loopback:
        return reach == "loopback"
    return reach != "public" or is_public(str(parsed))
