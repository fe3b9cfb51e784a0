"""Which servers may be asked in the name of a model: public ones, on the ports of the web.

A name is resolved once, every address that it has must be public, and what was checked is what is dialled:
a second look at the name could give another address (DNS rebinding). `caliban_common.addresses` says what is
public.
"""

from __future__ import annotations

from msgspec import Struct

from caliban_common.addresses import is_public
from caliban_provider.connection import PORTS, Origin
from caliban_provider.errors import InvalidRequest


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
        addresses = await _resolved(origin)
        if {origin.host, f"{origin.host}:{origin.port}"} & self.listed:
            return addresses
        if origin.port not in PORTS.values():
            raise InvalidRequest(
                f"{origin}: only the ports {', '.join(map(str, PORTS.values()))} may be asked"
            )
        for address in addresses:
            if not is_public(address):
                shown = "" if address == origin.host else f" ({address})"
                raise InvalidRequest(f"{origin.host} is not a public address{shown} and may not be asked")
        return addresses


async def _resolved(origin: Origin) -> tuple[str, ...]:
    import socket

    import anyio

    entries = await anyio.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))
