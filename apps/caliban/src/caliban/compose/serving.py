"""The MCP servers of a run: what connects them is loaded where settings name some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban.compose.board import Board
from caliban.compose.opening import Opening
from caliban.compose.project import may_have_servers
from caliban_common.tool import ToolSource

if TYPE_CHECKING:
    from caliban.compose.servers.build import RunServers


def run_servers(opening: Opening, board: Board) -> RunServers | None:
    """The servers of settings and plugins, which are told to `board`, not connected yet; `None` without any.

    Raises `ConfigError`.
    """
    if not may_have_servers(opening.project):
        return None
    from caliban.compose.servers.build import ServerInputs, build_servers

    inputs = ServerInputs(
        options=opening.options,
        settings=opening.settings,
        workspace=opening.workspace,
        host=opening.host,
        permissions=opening.permissions,
        report=opening.reporter,
        plugins=opening.project.plugins,
    )
    servers = build_servers(inputs)
    if servers is not None:
        board.servers = servers.fleet
        board.announce(servers.news)
    return servers


def with_servers(tools: ToolSource, servers: RunServers | None) -> ToolSource:
    """`tools`, and behind them those of `servers`."""
    if servers is None:
        return tools
    from caliban.compose.servers.build import LaterTools

    return LaterTools(tools, servers.fleet)
