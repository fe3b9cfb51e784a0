"""Tools of the run's MCP servers for hooks: of those that it offers, as far as rules do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban.compose.board import Board
from caliban.compose.permissions import Permissions
from caliban_common.message import TextBlock
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_hooks import HookFailed
from caliban_mcp.results import output_of
from caliban_mcp.server import RunServer


class FleetTools:
    """The `ServerTools` of the run whose servers come to `board`.

    What `permissions` deny altogether is not called, nor what waits to be looked at or an entry leaves out.
    """

    def __init__(self, board: Board, permissions: Permissions) -> None:
        self._board = board
        self._permissions = permissions

    async def call(self, server: str, tool: str, input: Mapping[str, Any]) -> str:
        """The text that a tool answers with; see `ServerTools`. Raises `HookFailed` and what servers do."""
        fleet_server = self._server(server)
        await fleet_server.connected()
        offered = next((one for one in fleet_server.tools if one.tool.name == tool), None)
        shown = one_line(tool, max_chars=80)
        if offered is None:
            meant = did_you_mean(tool, [one.tool.name for one in fleet_server.tools])
            words = meant or f"caliban mcp get {fleet_server.name} shows what it has"
            raise HookFailed(f"the MCP server {fleet_server.name} offers no tool {shown!r} here; {words}")
        if not self._permissions.offers(offered.spec):
            raise HookFailed(f"a rule denies the tool {shown!r} of the MCP server {fleet_server.name}")
        output = output_of(await fleet_server.call(tool, input, lambda _: None))
        text = "\n".join(part.text for part in output.content if isinstance(part, TextBlock))
        if output.is_error:
            raise HookFailed(f"the tool {shown!r} says that it failed: {one_line(text, max_chars=300)}")
        return text

    def _server(self, name: str) -> RunServer:
        fleet = self._board.servers
        known = None if fleet is None else fleet.find(name)
        if known is not None:
            return known
        shown = one_line(name, max_chars=80)
        idle = () if fleet is None else fleet.statuses
        why = next((f": {status.words}" for status in idle if status.name == name), "")
        raise HookFailed(f"the MCP server {shown!r} is not one of this run{why}")
