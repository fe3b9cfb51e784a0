"""The command line of bubblewrap that holds a policy (security.md C4).

The whole disk is there to be read, or only what is named; a private directory stands in the place of /tmp;
what is hidden lies under an empty directory or /dev/null; what is protected is bound read-only, and every
directory above it is a mount of its own, so that it cannot be renamed away. The program has no capability, no
way to gain one, no process of the host, no network but a loopback of its own, and a session of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from caliban_sandbox.errors import SandboxError
from caliban_sandbox.ghosts import Ghosts
from caliban_sandbox.mounts import Mount, planned_mounts
from caliban_sandbox.policy import FilePolicy, SandboxPolicy

TEMPORARY: Final = "/tmp"
_RUN: Final = "/run"
_KEPT_OF_RUN: Final = ("/run/current-system", "/run/wrappers", "/run/opengl-driver", "/run/systemd/resolve")
"""Programs on NixOS, drivers, and the names of name servers: no sockets."""
_TOP_LINKS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_NAMESPACES: Final = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
LOADER_VARIABLES: Final = (
    "LD_",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "MALLOC_",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TZDIR",
)
"""How names begin that change what a program loads: bubblewrap, which runs outside, must not have them."""
_DESKTOP: Final = frozenset(
    (
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "XDG_RUNTIME_DIR",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
    )
)


class Cage(Struct, frozen=True, kw_only=True):
    """What a command line is made of beside the policy.

    `program` is bubblewrap, `scratch` the directory in the place of /tmp, `None` to leave that. `can_lock`
    says that it is new enough to keep the program from making user namespaces of its own (0.8). `filter_name`
    stands for the descriptor of the filter. `shown` are arguments that show what the program itself needs.
    """

    program: str
    scratch: str | None
    can_lock: bool
    filter_name: str
    shown: tuple[str, ...] = ()


def arguments(policy: SandboxPolicy, cage: Cage, ghosts: Ghosts) -> tuple[str, ...]:
    """The command line up to the `--` before the program; what has to be there is there until `ghosts` close.

    Raises `SandboxError` where the policy cannot be held as the disk is now.
    """
    user = () if policy.nested else ("--unshare-user",)
    locked = ("--disable-userns",) if cage.can_lock and not policy.nested else ()
    return (
        cage.program,
        *user,
        *_NAMESPACES,
        *locked,
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *_file_arguments(policy, cage, ghosts),
        *("--seccomp", cage.filter_name),
    )


def inner_environment(
    env: Mapping[str, str], *, unix_sockets: bool
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment of bubblewrap, and the arguments that give the program the rest of its own."""
    kept: dict[str, str] = {}
    moved: list[str] = []
    for name, value in env.items():
        if not unix_sockets and name in _DESKTOP:
            continue
        if name.startswith(LOADER_VARIABLES):
            moved += ("--setenv", name, value)
        else:
            kept[name] = value
    kept.update(
        TMPDIR=TEMPORARY,
        TMP=TEMPORARY,
        TEMP=TEMPORARY,
        XDG_CACHE_HOME=f"{TEMPORARY}/.cache",
        SANDBOX="caliban",
    )
    return kept, tuple(moved)


def _file_arguments(policy: SandboxPolicy, cage: Cage, ghosts: Ghosts) -> Iterator[str]:
    files = policy.files
    mounts = planned_mounts(files)
    _refuse_own(mounts, cage)
    yield from ("--ro-bind", "/", "/") if files.readable is None else _top_links(files)
    # Root may write /proc/sys without any capability, and what the host runs next can stand there.
    yield from ("--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")
    paths = {mount.path for mount in mounts if mount.kind in ("read", "write")}
    if cage.scratch is not None and TEMPORARY not in paths:
        yield from ("--bind", cage.scratch, TEMPORARY)
    if not policy.network.unix_sockets and _RUN not in paths:
        yield from ("--tmpfs", _RUN)
        if files.readable is None:
            for path in filter(os.path.exists, _KEPT_OF_RUN):
                yield from ("--ro-bind-try", path, path)
    for mount in mounts:
        yield from _mount_arguments(mount, ghosts)
    yield from cage.shown
    if files.readable is not None:
        yield from ("--remount-ro", "/")


def _mount_arguments(mount: Mount, ghosts: Ghosts) -> Iterator[str]:
    path = mount.path
    match mount.kind:
        case "read":
            yield from ("--ro-bind-try", path, path)
        case "write":
            if os.path.realpath(path) != path:
                raise SandboxError(f"{path} has become a link, and leads to {os.path.realpath(path)} now")
            if os.path.exists(path):
                yield from ("--bind", path, path)
        case "passage":
            if ghosts.hold(path) and os.path.isdir(path):
                yield from ("--bind", path, path)
        case "hide":
            yield from _hidden(path)
        case "protect":
            if os.path.lexists(path):
                ghosts.hold(path, mount.content)  # one that another call has made goes with the last of us
                yield from ("--ro-bind", path, path)
            elif ghosts.hold(path, mount.content):
                yield from _empty(path) if mount.content is None else ("--ro-bind", path, path)


def _hidden(path: str) -> Iterator[str]:
    if os.path.isdir(path):
        yield from _empty(path)
    elif os.path.lexists(path):
        yield from ("--ro-bind", os.devnull, path)


def _empty(path: str) -> tuple[str, ...]:
    """A private, empty directory: a third of the cost of a read-only bind."""
    return ("--perms", "0555", "--tmpfs", path)


def _top_links(files: FilePolicy) -> Iterator[str]:
    """The links at the root without which no program starts, where what they lead to may be read."""
    for link in _TOP_LINKS:
        if link not in (files.readable or ()) and os.path.islink(link):
            yield from ("--symlink", os.readlink(link), link)


def _refuse_own(mounts: tuple[Mount, ...], cage: Cage) -> None:
    """Raise `SandboxError` where the program in the sandbox could write the one that holds it."""
    for mount in mounts:
        if mount.kind == "write" and os.path.realpath(cage.program).startswith(mount.path.rstrip("/") + "/"):
            raise SandboxError(
                f"{cage.program} lies in {mount.path}, which the programs that it holds may write",
                hint="use one that is installed outside of it",
            )
