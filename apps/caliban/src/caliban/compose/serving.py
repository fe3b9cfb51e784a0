"""The MCP servers of a run: what connects them is loaded where settings name some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban.compose.opening import Opening
from caliban_common.tool import ToolSource

if TYPE_CHECKING:
    from caliban.compose.servers.build import RunServers


def run_servers(opening: Opening) -> RunServers | None:
    """The servers that settings name, not connected yet; `None` without any. Raises `ConfigError`."""
    if not opening.settings.get("mcp_servers"):
        return None
    from caliban.compose.servers.build import ServerInputs, build_servers

    inputs = ServerInputs(
        options=opening.options,
        settings=opening.settings,
        workspace=opening.workspace,
        host=opening.host,
        permissions=opening.permissions,
        report=opening.reporter,
    )
    return build_servers(inputs)


def with_servers(tools: ToolSource, servers: RunServers | None) -> ToolSource:
    """`tools`, and behind them those of `servers`."""
    if servers is None:
        return tools
    from caliban.compose.servers.build import LaterTools

    return LaterTools(tools, servers.fleet)
