"""Which hosts may be reached, and at which addresses: every name is looked up once, for who asks."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

import anyio

from caliban_common.addresses import is_public
from caliban_sandbox.egress.hosts import HostList, host_list, is_address, plain_host
from caliban_sandbox.egress.values import ProxyLimits, Refusal, Resolver
from caliban_sandbox.policy import NetworkPolicy

PORTS: Final = (80, 443)
_ALLOWED: Final = "sandbox.network.allowed_domains"
_DENIED: Final = "sandbox.network.denied_domains"
_PRIVATE: Final = "sandbox.network.private_domains"


class HostGate:
    """Judges by a `NetworkPolicy`; raises `SandboxError` at once for an entry that is no host."""

    def __init__(self, network: NetworkPolicy, resolver: Resolver, limits: ProxyLimits) -> None:
        self._allowed = host_list(network.allowed_hosts)
        self._denied = host_list(network.denied_hosts)
        self._private = host_list(network.private_hosts)
        self._resolver = resolver
        self._lookup_s = limits.lookup_s
        # Look-ups take threads that the whole process shares.
        self._lookups = anyio.CapacityLimiter(limits.lookups)

    async def addresses(self, host: str, port: int) -> tuple[str, ...] | Refusal:
        """What may be dialled for `host`, in the spelling of `plain_host`, in order; never empty."""
        if self._denied.matches(host):
            return _refused(host, port, f"{host} is in {_DENIED}")
        if not self._allowed.matches(host):
            return _refused(host, port, f"{host} is not in {_ALLOWED}")
        if port not in PORTS:
            return _refused(host, port, f"{host}:{port} is refused: only the ports 80 and 443 of {_ALLOWED}")
        if is_address(host):
            addresses: tuple[str, ...] = (host.strip("[]"),)
        else:
            try:
                addresses = await self._looked_up(host, port)
            except (OSError, UnicodeError, TimeoutError):
                addresses = ()
        if not addresses:
            return Refusal(status=502, line=f"{host} has no address that can be found")
        for address in addresses:
            refusal = self._odd_address(host, port, address)
            if refusal is not None:
                return refusal
        return addresses

    def _odd_address(self, host: str, port: int, address: str) -> Refusal | None:
        if _matches_address(self._denied, address):
            return _refused(host, port, f"{host} leads to {address}, which is in {_DENIED}")
        if not is_public(address) and not self._private.matches(host):
            what = "is no public address" if is_address(host) else f"leads to {address}, no public address"
            return _refused(host, port, f"{host} {what}, and is not in {_PRIVATE}")
        return None

    async def _looked_up(self, host: str, port: int) -> tuple[str, ...]:
        with anyio.fail_after(self._lookup_s):
            async with self._lookups:
                return await self._resolver(host, port)


async def resolved(host: str, port: int) -> tuple[str, ...]:
    """The addresses that the system has for a name, without repetitions."""
    import socket

    entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _matches_address(hosts: HostList, address: str) -> bool:
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    host = plain_host(f"[{parsed}]" if parsed.version == 6 else str(parsed))
    return host is not None and hosts.matches(host)


def _refused(host: str, port: int, line: str) -> Refusal:
    return Refusal(status=403, line=line, host=host, port=port)
