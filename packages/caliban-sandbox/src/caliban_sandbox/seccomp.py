"""The system calls that the sandbox refuses, as a classic BPF program, packed by hand (security.md SB1).

Sockets are made for IPv4, IPv6 and netlink only: a socket with a path reaches whatever listens on the host,
and virtual-machine sockets know no network namespace. io_uring makes sockets that no filter sees; keyrings
belong to the session of the person; TIOCSTI types into a terminal. What is refused fails with EPERM; a call
of another architecture, or of the x32 kind, kills.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from caliban_sandbox.errors import SandboxUnavailable

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Where they stand in `struct seccomp_data`; of an argument the low half, on little-endian machines."""
_ALLOW, _KILL, _EPERM = 0x7FFF0000, 0x80000000, 0x00050001
_X32: Final = 0x40000000
_IPV4, _IPV6, _NETLINK, _UNIX = 2, 10, 16, 1
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C


class SystemCalls(Struct, frozen=True, kw_only=True):
    """The numbers of one architecture; `audit` is how the kernel calls it."""

    audit: int
    socket: int
    ioctl: int
    refused: tuple[int, ...]
    x32: bool = False


MACHINES: Final[Mapping[str, SystemCalls]] = {
    # io_uring_setup, add_key, request_key, keyctl
    "x86_64": SystemCalls(audit=0xC000003E, socket=41, ioctl=16, refused=(425, 248, 249, 250), x32=True),
    "aarch64": SystemCalls(audit=0xC00000B7, socket=198, ioctl=29, refused=(425, 217, 218, 219)),
}
"""By the name that uname(2) gives the machine."""


def seccomp_filter(machine: str, *, unix_sockets: bool) -> bytes:
    """The filter for `machine`, as seccomp(2) takes it. Raises `SandboxUnavailable` for an unknown one."""
    calls = MACHINES.get(machine)
    if calls is None:
        raise SandboxUnavailable(f"no filter of system calls is known for the machine {machine}")
    families = (_IPV4, _IPV6, _NETLINK, *((_UNIX,) if unix_sockets else ()))
    program = _Program()
    program.load(_ARCHITECTURE)
    program.unless_equal(calls.audit, "kill")
    program.load(_NUMBER)
    if calls.x32:
        program.if_at_least(_X32, "kill")
    for number in calls.refused:
        program.if_equal(number, "refuse")
    program.if_equal(calls.ioctl, "ioctl")
    program.unless_equal(calls.socket, "allow")
    program.load(_FIRST)
    for family in families:
        program.if_equal(family, "allow")
    program.give("refuse", _EPERM)
    program.mark("ioctl")
    program.load(_SECOND)
    program.if_equal(_TIOCSTI, "refuse again")
    program.if_equal(_TIOCLINUX, "refuse again")
    program.give("allow", _ALLOW)
    program.give("refuse again", _EPERM)
    program.give("kill", _KILL)
    return program.packed()


class _Program:
    """Instructions whose jumps go forward to names."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str, str, int]] = []
        self._marks: dict[str, int] = {}

    def load(self, offset: int) -> None:
        self._lines.append((_LOAD, "", "", offset))

    def if_equal(self, value: int, to: str) -> None:
        self._lines.append((_EQUAL, to, "", value))

    def unless_equal(self, value: int, to: str) -> None:
        self._lines.append((_EQUAL, "", to, value))

    def if_at_least(self, value: int, to: str) -> None:
        self._lines.append((_AT_LEAST, to, "", value))

    def mark(self, name: str) -> None:
        self._marks[name] = len(self._lines)

    def give(self, name: str, value: int) -> None:
        self.mark(name)
        self._lines.append((_RETURN, "", "", value))

    def packed(self) -> bytes:
        def distance(place: int, name: str) -> int:
            return self._marks[name] - place - 1 if name else 0

        return b"".join(
            struct.pack("=HBBI", code, distance(place, then), distance(place, otherwise), value)
            for place, (code, then, otherwise, value) in enumerate(self._lines)
        )
