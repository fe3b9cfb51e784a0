"""A policy as the text of a profile and its parameters, and what starts a program under it.

**Never run.** Seatbelt is a part of macOS without a description by its maker, and no such machine was at hand
when this was written. Tests hold what is generated against a parser of ours (`seatbelt.grammar`) and the
policy's own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from caliban_sandbox.errors import SandboxError
from caliban_sandbox.policy import NetworkPolicy, SandboxPolicy
from caliban_sandbox.seatbelt.files import ParameterTable, file_rules
from caliban_sandbox.seatbelt.grammar import profile_faults

PROGRAM: Final = "/usr/bin/sandbox-exec"

_SERVICES: Final = (
    *("com.apple.system.notification_center", "com.apple.system.logger", "com.apple.logd"),
    *("com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership"),
    *("com.apple.bsd.dirhelper", "com.apple.trustd.agent"),
)
"""What programs without windows look up: names of users, logs, certificates."""

_NEVER: Final = (
    *("com.apple.coreservices.appleevents", "com.apple.coreservices.launchservicesd"),
    *("com.apple.coreservices.quarantine-resolver", "com.apple.lsd.mapdb", "com.apple.lsd.modifydb"),
    *("com.apple.lsd.open", "com.apple.xpc.smd", "com.apple.xpc.launchd.domain.user"),
    *("com.apple.xpc.launchd.domain.system", "com.apple.pasteboard.1", "com.apple.pboard"),
    *("com.apple.SecurityServer", "com.apple.securityd.xpc", "com.apple.windowserver.active"),
)
"""Apple Events, LaunchServices, launchd, the pasteboard, keys, windows: they act outside for who asks."""

_GROUND: Final = (
    "(version 1)",
    "(deny default)",
    "(allow process-exec* process-fork)",
    "(allow signal process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow ipc-posix-sem)",
    '(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))',
)

_DEVICES: Final = (
    '(allow file-read* file-write-data (literal "/dev/null" "/dev/zero"))',
    '(allow file-read* (literal "/dev/random" "/dev/urandom"))',
    '(allow file-read* file-write-data (subpath "/dev/fd"))',
    '(allow file-read* file-write-data file-ioctl (literal "/dev/dtracehelper"))',
)

_DENIED: Final = (
    "(deny appleevent-send)",
    "(deny lsopen)",
    "(deny job-creation)",
    "(deny authorization-right-obtain)",
    "(deny file-write-mount file-write-unmount file-write-setugid)",
)


class SeatbeltProfile(Struct, frozen=True, kw_only=True):
    """`text` holds no path or name of the policy's: those are `parameters`, pairs of name and value."""

    text: str
    parameters: tuple[tuple[str, str], ...]

    def prefix(self, program: str = PROGRAM) -> tuple[str, ...]:
        """What goes before the arguments of a program that is to run under the profile."""
        defined = (word for name, value in self.parameters for word in ("-D", f"{name}={value}"))
        return (program, "-p", self.text, *defined, "--")


def seatbelt_profile(policy: SandboxPolicy, *, egress_port: int | None = None) -> SeatbeltProfile:
    """The profile that holds `policy`; `egress_port` is that of our proxy on 127.0.0.1, where one listens.

    The port of the operator's proxy, if the policy has one, is opened in its place; without either nothing is
    reached. Raises `SandboxError` for paths that are not absolute or no arguments, and for services that let
    programs act outside.
    """
    table = ParameterTable()
    lines = [*_GROUND, *file_rules(policy.files, table), *_DEVICES]
    lines += _network_rules(policy.network, egress_port)
    lines += _service_rules(policy.network.mach_services, table)
    lines += _DENIED
    profile = SeatbeltProfile(text="\n".join(lines) + "\n", parameters=table.definitions())
    faults = profile_faults(profile.text, [name for name, _ in profile.parameters])
    if faults:
        raise SandboxError(f"the profile of the sandbox is wrong: {faults[0]}")
    return profile


def _network_rules(network: NetworkPolicy, egress_port: int | None) -> Iterator[str]:
    port = network.proxy_port or egress_port
    if port is not None:
        if not 0 < port < 1 << 16:
            raise SandboxError(f"{port} is no port")
        yield f'(allow network-outbound (remote tcp "localhost:{port}"))'
    if network.local_binding:
        yield '(allow network-bind network-inbound (local ip "localhost:*"))'
    if network.unix_sockets:
        yield "(allow system-socket (socket-domain AF_UNIX))"
        yield "(allow network-outbound (remote unix-socket))"
        yield "(allow network-bind network-inbound (local unix-socket))"


def _service_rules(names: tuple[str, ...], table: ParameterTable) -> Iterator[str]:
    never = {name.lower() for name in _NEVER}
    for name in names:
        if not name or name.lower() in never:
            raise SandboxError(f"the service {name!r} would let programs act outside of the sandbox")
    for name in _SERVICES:
        yield f'(allow mach-lookup (global-name "{name}"))'
    for name in names:
        yield f"(allow mach-lookup (global-name {table.reference(name)}))"
    for name in _NEVER:
        yield f'(deny mach-lookup (global-name "{name}"))'
