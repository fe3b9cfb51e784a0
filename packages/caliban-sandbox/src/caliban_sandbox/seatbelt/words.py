"""The words of the profile language that the parser knows, each with what it may be about.

Taken from descriptions of the profiles that macOS ships. The list is not whole, and need not be: what is not
in it, the generator may not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Subject: TypeAlias = Literal["file", "network", "mach", "process", "socket", "device", "any"]
"""What an operation is done to, which is what a filter looks at."""

OPERATIONS: Final[Mapping[str, Subject]] = {
    **dict.fromkeys(
        (
            *("file*", "file-read*", "file-read-data", "file-read-metadata", "file-read-xattr"),
            *("file-test-existence", "file-map-executable", "file-ioctl", "file-link", "file-clone"),
            *("file-write*", "file-write-create", "file-write-data", "file-write-flags", "file-write-mode"),
            *("file-write-mount", "file-write-owner", "file-write-setugid", "file-write-times"),
            *("file-write-unlink", "file-write-unmount", "file-write-xattr", "file-mknod", "file-chroot"),
            *("process-exec*", "process-exec", "process-exec-interpreter"),
        ),
        "file",
    ),
    **dict.fromkeys(("network*", "network-bind", "network-inbound", "network-outbound"), "network"),
    **dict.fromkeys(("mach*", "mach-lookup", "mach-register"), "mach"),
    **dict.fromkeys(
        ("signal", "process-info*", "process-info-pidinfo", "mach-priv-task-port", "mach-task-name"),
        "process",
    ),
    **dict.fromkeys(("iokit-open", "iokit-get-properties"), "device"),
    "system-socket": "socket",
    **dict.fromkeys(
        (
            *("default", "process-fork", "sysctl-read", "sysctl-write", "pseudo-tty", "system-info"),
            *("ipc-posix*", "ipc-posix-sem", "ipc-posix-shm*", "ipc-sysv*", "user-preference-read"),
            *("user-preference-write", "appleevent-send", "lsopen", "job-creation"),
            *("authorization-right-obtain", "distributed-notification-post", "system-privilege"),
            *("system-fsctl", "system-audit"),
        ),
        "any",
    ),
}  # fmt: skip

Argument: TypeAlias = Literal["path", "text", "regex", "place", "symbol"]

FILTERS: Final[Mapping[str, tuple[Subject, Argument]]] = {
    **dict.fromkeys(("literal", "path", "subpath", "prefix"), ("file", "path")),
    "regex": ("file", "regex"),
    "vnode-type": ("file", "symbol"),
    **dict.fromkeys(("local", "remote"), ("network", "place")),
    **dict.fromkeys(("global-name", "local-name"), ("mach", "text")),
    "target": ("process", "symbol"),
    "socket-domain": ("socket", "symbol"),
    **dict.fromkeys(("iokit-registry-entry-class", "iokit-user-client-class"), ("device", "text")),
}

SYMBOLS: Final[Mapping[str, frozenset[str]]] = {
    "vnode-type": frozenset(
        ("REGULAR-FILE", "DIRECTORY", "SYMLINK", "CHARACTER-DEVICE", "BLOCK-DEVICE", "FIFO", "SOCKET", "TTY")
    ),
    "target": frozenset(("self", "same-sandbox", "children", "others", "pgrp")),
    "socket-domain": frozenset(("AF_UNIX", "AF_INET", "AF_INET6", "AF_SYSTEM", "AF_ROUTE")),
}

PROTOCOLS: Final = frozenset(("ip", "tcp", "udp"))
"""Before `"host:port"`; the word `unix-socket` stands alone."""

MODIFIERS: Final = frozenset(("report", "no-report", "no-log"))
"""What stands behind `with`; `message` has a text as well."""
