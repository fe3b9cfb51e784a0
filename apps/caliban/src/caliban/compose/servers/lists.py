"""Which servers the administrator, and a person for themselves, let be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from caliban.compose.servers.addresses import is_meant, resembles
from caliban_mcp.config import ServerConfig
from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp.variables import expanded
from caliban_settings import Settings
from caliban_settings.server_names import server_name


def listed_problem(
    config: ServerConfig, settings: Settings, value_of: Callable[[str], str | None]
) -> str | None:
    """Why the lists of settings do not let this server be used, or `None`.

    What counts is what a variable stands for, which `value_of` says; an entry that has the same variable
    means it too. A name is that of the server here, or the one that its file has. On the list of those that
    are denied each member of an entry that fits counts. On the other list a program has to be there by its
    whole command where any entry names one, and an address by its URL: a name is anybody's. One that lives in
    the program which has started the run has a name alone.
    """
    for entry in settings.get("denied_mcp_servers") or ():
        if any(_is_denied(config, kind, value, value_of) for kind, value in _members(entry)):
            return "settings deny it (denied_mcp_servers)"
    allowed = settings.get("allowed_mcp_servers")
    if allowed is None:
        return None
    members = [member for entry in allowed for member in _members(entry)]
    wanted = {"stdio": "command", "sdk": "name"}.get(config.kind, "url")
    binding = [member for member in members if member[0] == wanted]
    if any(_is_allowed(config, kind, value, value_of) for kind, value in binding or members):
        return None
    return "it is not among those that managed settings allow (allowed_mcp_servers)"


def _members(entry: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(entry, str):
        yield "name", entry
    elif isinstance(entry, Mapping):
        yield from entry.items()


def _is_allowed(config: ServerConfig, kind: str, value: Any, value_of: Callable[[str], str | None]) -> bool:
    if kind == "name":
        return config.name in (value, server_name(value) if ":" not in value else value)
    if kind == "command":
        return config.kind == "stdio" and _is_command(config, value, value_of)
    is_address = config.kind not in ("stdio", "sdk")
    return is_address and (config.url == value or is_meant(str(value), _filled(config.url, value_of)))


def _is_denied(config: ServerConfig, kind: str, value: Any, value_of: Callable[[str], str | None]) -> bool:
    if kind != "url":
        return _is_allowed(config, kind, value, value_of)
    urls = (config.url, _filled(config.url, value_of))
    return config.kind not in ("stdio", "sdk") and any(resembles(str(value), url) for url in urls)


def _is_command(config: ServerConfig, listed: Any, value_of: Callable[[str], str | None]) -> bool:
    words = (config.command, *config.args)
    return len(listed) == len(words) and all(
        word == one or _filled(word, value_of) == one for word, one in zip(words, listed, strict=True)
    )


def _filled(text: str, value_of: Callable[[str], str | None]) -> str:
    """`text` with its variables filled in; as it is where one has no value, for it is not started then."""
    try:
        return expanded(text, value_of)
    except ServerMisconfigured:
        return text
