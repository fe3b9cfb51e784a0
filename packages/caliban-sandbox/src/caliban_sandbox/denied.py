"""What the sandbox has refused, read off what a program printed when it failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_sandbox.mounts import is_below
from caliban_sandbox.policy import SandboxPolicy

DenialKind: TypeAlias = Literal["write", "read", "network", "socket", "right", "setup", "repository"]

_PATTERNS: Final[tuple[tuple[DenialKind, re.Pattern[str]], ...]] = (
    ("setup", lazy_pattern(r"(?m)^bwrap: ")),
    (
        "repository",
        lazy_pattern(
            r"(?im)^fatal: (cannot (mkdir|copy)|could not create|unable to (create|access))[^\n]*\.git\b"
        ),
    ),
    ("write", lazy_pattern(r"(?i)read-only file ?system|\bEROFS\b|os error 30\b")),
    ("socket", lazy_pattern(r"(?i)(unix|docker|/run/|\.sock\b|\bagent\b)[^\n]*operation not permitted")),
    (
        "network",
        lazy_pattern(
            r"(?i)network is unreachable|\bENETUNREACH\b|could not resolve|name resolution|\bEAI_AGAIN\b"
            r"|name or service not known|nodename nor servname|no such host|failed to lookup address"
            r"|unable to resolve|temporary failure resolving|getaddrinfo"
        ),
    ),
    ("right", lazy_pattern(r"(?i)operation not permitted|\bEPERM\b|device or resource busy|\bEBUSY\b")),
)
_PATH = lazy_pattern(r"(?:~|/)[^\s'\":;,()<>|]+")
_REFUSED = lazy_pattern(r"(?i)permission denied|no such file or directory|not a directory|is a directory")

_SETTINGS: Final[Mapping[DenialKind, str]] = {
    "write": "sandbox.filesystem.allow_write",
    "read": "sandbox.filesystem.deny_read",
    "network": "sandbox.network.allowed_domains",
    "socket": "sandbox.network.allow_unix_sockets",
    "right": "",
    "setup": "",
    "repository": "sandbox.allow_unsandboxed_commands, with `git init*`",
}
_WHAT: Final[Mapping[DenialKind, str]] = {
    "write": "it may write in the workspace and in /tmp only, and not what decides what runs later",
    "read": "what it wanted to read is hidden: keys, tokens, histories and the like",
    "network": "it reaches no host but those that the user has listed",
    "socket": "sockets with a path, and so the services behind them, are closed to it",
    "right": "it has no rights over the system, and may not rename what is protected",
    "repository": "it may make no repository at the top of the workspace, as .git decides what runs later "
    "(`git init` in a directory below works)",
    "setup": "the sandbox could not be made as the disk is now, and the command did not run",
}


class SandboxDenial(Struct, frozen=True, kw_only=True):
    """What was refused. `setting` is what a person would change; empty where nothing would help."""

    kind: DenialKind
    setting: str

    @property
    def words(self) -> str:
        """One line for the model: what it is, and that only a person can open it."""
        end = "Do without it, or tell the user what you need."
        if self.setting:
            end = f"Only the user can change that, in the settings ({self.setting}). {end}"
        return f"This command ran in a sandbox: {_WHAT[self.kind]}. {end}"

    @property
    def notice(self) -> str:
        """One line for the person."""
        return f"the sandbox refused something that a command needed: {_WHAT[self.kind]}"


def find_denial(output: str, policy: SandboxPolicy) -> SandboxDenial | None:
    """What of `policy` a program ran into that failed with this output; `None` where nothing points to it."""
    for kind, pattern in _PATTERNS:
        if pattern.search(output):
            return SandboxDenial(kind=kind, setting=_SETTINGS[kind])
    if not _REFUSED.search(output):
        return None
    paths = tuple(match.group().rstrip(".") for match in _PATH.finditer(output))
    if _names(paths, policy.files.hidden):
        return SandboxDenial(kind="read", setting=_SETTINGS["read"])
    if _names(paths, policy.files.protected):
        return SandboxDenial(kind="write", setting=_SETTINGS["write"])
    return None


def _names(paths: Iterable[str], roots: tuple[str, ...]) -> bool:
    return any(is_below(path, roots) for path in paths)
