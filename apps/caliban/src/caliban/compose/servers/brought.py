"""Servers that a program on the other end of a run brings: read as those of `--mcp-config` are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from caliban.compose.project import build_settings
from caliban.compose.servers.written import written_servers
from caliban.errors import CommandRefused
from caliban_common.errors import CalibanError
from caliban_mcp.config import ServerConfig
from caliban_mcp.names import name_part

if TYPE_CHECKING:
    from caliban.compose.app import App


def brought_server(name: str, table: Any, app: App) -> ServerConfig:
    """One entry, as other harnesses write it. Raises `CommandRefused` for one that cannot be used."""
    if not isinstance(table, Mapping):
        raise CommandRefused("it is no object")
    given = json.dumps({"mcpServers": {name: dict(table)}})
    options = replace(app.options.settings, mcp_config=(given,), strict_mcp_config=True)
    try:
        settings = build_settings(options, app.workspace)
    except CalibanError as error:
        raise CommandRefused(error.message.removeprefix("--mcp-config: ")) from error
    written = written_servers(settings)
    config = next((one for one in written.configs if one.scope == "cli" and one.name == name), None)
    if config is None:
        raise CommandRefused("; ".join(written.problems) or "it has neither a command nor a url")
    return config


def taken_problem(name: str, others: Iterable[str]) -> str | None:
    """Why no further server can be called `name` beside `others`, or `None`."""
    part = name_part(name)
    other = next((one for one in others if name_part(one) == part), None)
    return None if other is None else f"there is a server {other} already"
