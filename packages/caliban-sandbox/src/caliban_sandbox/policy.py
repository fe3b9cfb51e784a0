"""What a program in the sandbox may read, write and reach: values, made from settings once a session.

The rules are those of the guide's `[sandbox]` block and of `design/security.md` SB1-SB12.
"""

from __future__ import annotations

from msgspec import Struct


class FilePolicy(Struct, frozen=True, kw_only=True):
    """Absolute paths, resolved, each standing for itself and what is below it; the deeper path wins.

    `readable` is all that may be read; `None` is the whole disk. `hidden` is read by nobody, whatever
    `readable` says. `writable` may be written as well as read; empty is nothing. `protected` is not written,
    whatever `writable` says, be it there or not; a path that ends in `.git` stands for what of a repository
    decides what runs, so that git still works. Of two at one path the later field wins, but for what is
    hidden.
    """

    readable: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()


class NetworkPolicy(Struct, frozen=True, kw_only=True):
    """What may be reached; as it is made it is nothing but the sandbox's own loopback.

    `allowed_hosts` are names, or `*.name` for what is below one, reached through our own proxy on ports 80
    and 443; `denied_hosts` win over them. Addresses that are not public are refused, unless the host is in
    `private_hosts` as well. `proxy_port` is a proxy of the operator's on 127.0.0.1 (1-65535), in place of
    ours. `unix_sockets` lets sockets with a path be made; `local_binding` lets ports be listened on (which
    bubblewrap gives inside of the sandbox alone); `mach_services` are names for macOS.
    """

    allowed_hosts: tuple[str, ...] = ()
    denied_hosts: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    proxy_port: int | None = None
    unix_sockets: bool = False
    local_binding: bool = False
    mach_services: tuple[str, ...] = ()


class LimitPolicy(Struct, frozen=True, kw_only=True):
    """What each process of a call may use at most, and how many of them a call may have; `None` is no bound.

    `memory_bytes` are the private, writable pages of a process, `cpu_s` its seconds of processor time,
    `file_bytes` the size of a file that it writes. `processes` counts threads too; it needs a user namespace
    of its own, and a kernel that counts by namespaces (Linux 5.14).
    """

    memory_bytes: int | None = None
    cpu_s: int | None = None
    processes: int | None = None
    file_bytes: int | None = None


class SandboxPolicy(Struct, frozen=True, kw_only=True):
    """One policy for every child of a session.

    `nested` is for containers that refuse user namespaces of their own (`enable_weaker_nested_sandbox`): it
    holds less. `backend` is the path of the program that holds it, where it is not the usual one.
    """

    files: FilePolicy = FilePolicy()
    network: NetworkPolicy = NetworkPolicy()
    limits: LimitPolicy = LimitPolicy()
    nested: bool = False
    backend: str | None = None
