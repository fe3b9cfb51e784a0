"""Which servers the administrator, and a person for themselves, let be used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from caliban_mcp.config import ServerConfig
from caliban_settings import Settings


def listed_problem(config: ServerConfig, settings: Settings) -> str | None:
    """Why the lists of settings do not let this server be used, or `None`.

    On the list of those that are denied each member of an entry that fits counts. On the other list a program
    has to be there by its whole command where any entry names one, and an address by its URL: a name is
    anybody's. One that lives in the program which has started the run has a name alone.
    """
    for entry in settings.get("denied_mcp_servers") or ():
        if any(_fits(config, kind, value) for kind, value in _members(entry)):
            return "settings deny it (denied_mcp_servers)"
    allowed = settings.get("allowed_mcp_servers")
    if allowed is None:
        return None
    members = [member for entry in allowed for member in _members(entry)]
    wanted = {"stdio": "command", "sdk": "name"}.get(config.kind, "url")
    binding = [member for member in members if member[0] == wanted]
    if any(_fits(config, kind, value) for kind, value in binding or members):
        return None
    return "it is not among those that managed settings allow (allowed_mcp_servers)"


def _members(entry: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(entry, str):
        yield "name", entry
    elif isinstance(entry, Mapping):
        yield from entry.items()


def _fits(config: ServerConfig, kind: str, value: Any) -> bool:
    if kind == "name":
        return bool(value == config.name)
    if kind == "command":
        return config.kind == "stdio" and list(value) == [config.command, *config.args]
    return config.kind not in ("stdio", "sdk") and _matches(str(value), config.url)


def _matches(pattern: str, url: str) -> bool:
    """Whether `url` is one that `pattern` means: `*` stands for anything."""
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), url, re.DOTALL) is not None
