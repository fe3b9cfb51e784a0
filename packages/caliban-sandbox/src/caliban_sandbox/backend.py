"""Which program holds the sandbox on this machine, found without starting it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_sandbox.errors import SandboxUnavailable
from caliban_sandbox.mounts import is_below
from caliban_sandbox.policy import SandboxPolicy

NAME: Final = "bwrap"
USUAL: Final = ("/usr/bin", "/usr/local/bin", "/bin")
OLDEST: Final = (0, 5)
"""Older ones do not end with their parent."""
LOCKS: Final = (0, 8)
"""From here on it can keep programs from making user namespaces."""
_VERSION = lazy_pattern(r"bubblewrap (\d+)\.(\d+)")


def find_bubblewrap(policy: SandboxPolicy, environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Where bubblewrap is: as the policy says, or else where it is usually, or on the PATH of `environ`.

    What the programs in the sandbox may write is not looked at. Raises `SandboxUnavailable`.
    """
    if platform != "linux":
        system = {"win32": "Windows", "cygwin": "Windows"}.get(platform, platform)
        raise SandboxUnavailable(
            f"there is no sandbox for {system}", hint="use WSL" if system == "Windows" else None
        )
    if policy.backend is not None:
        if _runs(policy.backend):
            return policy.backend
        raise SandboxUnavailable(f"{policy.backend} is no program that can be run")
    for folder in (*USUAL, *environ.get("PATH", "").split(os.pathsep)):
        path = f"{folder}/{NAME}"
        if (
            folder.startswith("/")
            and _runs(path)
            and not is_below(os.path.realpath(path), policy.files.writable)
        ):
            return path
    raise SandboxUnavailable("bubblewrap (bwrap) is not installed", hint="install the package bubblewrap")


def version_of(text: str) -> tuple[int, int] | None:
    """The version in what `bwrap --version` prints."""
    match = _VERSION.match(text)
    return None if match is None else (int(match[1]), int(match[2]))


def _runs(path: str) -> bool:
    return path.startswith("/") and os.path.isfile(path) and os.access(path, os.X_OK)
