"""Whether the sandbox holds on this machine, found out by doing what it must refuse (security.md SB2).

One program in a sandbox of its own, over a directory of its own, tries a forbidden read, write, rename and
connection, a socket with a path, a user namespace and io_uring. All of that must fail; a write where it may,
and a connection to its own loopback, must not.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_sandbox.policy import FilePolicy, NetworkPolicy, SandboxPolicy

LIMIT_S: Final = 20.0
HELD: Final = "held"
PROGRAM: Final = r"""
import ctypes, os, socket, sys
place, port, number, locked, paths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
libc = ctypes.CDLL(None, use_errno=True)
broken = []
def refused(what, act):
    try:
        act()
    except OSError:
        return
    broken.append(what)
def works(what, act):
    try:
        act()
    except OSError as error:
        broken.append(what + " does not work: " + str(error))
def write(path):
    with open(path, "w") as file:
        file.write("x")
def call(*words):
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def unshare():
    if libc.unshare(0x10000000) != 0:
        raise OSError(ctypes.get_errno(), "refused")
def connect(port):
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
def own_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect(server.getsockname()[1])
works("writing where it may", lambda: write(place + "/open/new"))
works("its own loopback", own_loopback)
refused("a hidden file can be read", lambda: open(place + "/secret/key").close())
refused("a file outside can be written", lambda: write(place + "/outside"))
refused("a protected file can be written", lambda: write(place + "/open/kept/file"))
refused("a protected name can be made", lambda: write(place + "/open/absent"))
renamed = (place + "/open/kept", place + "/open/other")
refused("a protected directory can be renamed", lambda: os.rename(*renamed))
refused("the network of the host can be reached", lambda: connect(port))
if paths == "closed":
    refused("sockets with a path can be made", lambda: socket.socket(socket.AF_UNIX).close())
if locked == "locked":
    refused("user namespaces can be made", unshare)
refused("io_uring can be used", lambda: call(number, 1, 0))
print("; ".join(broken) or "held")
"""
_IO_URING: Final = 425


class ProbeGround(Struct, frozen=True, kw_only=True):
    """The directory that the probe plays in, and what of it may be touched."""

    place: str

    def policy(self, policy: SandboxPolicy) -> SandboxPolicy:
        """The policy of the probe: what it is about, under the conditions of `policy`."""
        files = FilePolicy(
            hidden=(f"{self.place}/secret",),
            writable=(f"{self.place}/open",),
            protected=(f"{self.place}/open/kept/file", f"{self.place}/open/absent"),
        )
        network = NetworkPolicy(unix_sockets=policy.network.unix_sockets)
        return SandboxPolicy(files=files, network=network, nested=policy.nested, backend=policy.backend)


def prepared_ground(scratch: str) -> ProbeGround:
    """The ground of the probe, below the directory `scratch`."""
    place = Path(scratch).resolve()
    for name in ("secret", "open/kept"):
        (place / name).mkdir(parents=True)
    for name in ("secret/key", "outside", "open/kept/file"):
        (place / name).write_text("x", encoding="utf-8")
    return ProbeGround(place=str(place))


def listener() -> socket.socket:
    """A port of the host that nobody in a sandbox may reach."""
    return socket.create_server(("127.0.0.1", 0))


def probe_arguments(ground: ProbeGround, port: int, *, locked: bool, unix_sockets: bool) -> tuple[str, ...]:
    """The program that tries it all, for our own interpreter."""
    words = ("locked" if locked else "open", "open" if unix_sockets else "closed")
    return (
        os.path.realpath(sys.executable),
        *("-I", "-S", "-c", PROGRAM, ground.place, str(port), str(_IO_URING)),
        *words,
    )
