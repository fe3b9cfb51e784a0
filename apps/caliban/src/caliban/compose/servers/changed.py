"""Servers that a person or a host program changes while a run goes on: connected anew, switched off."""

from __future__ import annotations

from typing import Final

from caliban.cli.options import Options
from caliban.compose.servers.build import RunServers
from caliban.errors import CommandRefused
from caliban_mcp.server import RunServer
from caliban_mcp.status import ServerStatus

WAIT_S: Final = 50.0
"""So long a request waits for a server; hosts wait 60 s for an answer."""

OFF: Final = "it was switched off"
RECORDED: Final = "--record keeps the tools that a run begins with: leave it out to change its servers"


def check_unrecorded(options: Options) -> None:
    """Raises `CommandRefused` in a run that is recorded, whose servers stay as they are."""
    if options.session.record is not None:
        raise CommandRefused(RECORDED)


async def connect_anew(run: RunServers, server: RunServer) -> None:
    """Connect to `server` again. Raises `CommandRefused` where it is not there then."""
    server.restart()
    await run.fleet.settle((server,), WAIT_S)
    if server.state != "connected":
        words = why_not(server.status) or f"it was not ready within {WAIT_S:g} s"
        raise CommandRefused(f"the MCP server {server.name} is not there: {words}")


def why_not(status: ServerStatus) -> str:
    """What is wrong with a server, and what to do about it."""
    return f"{status.words} ({status.hint})" if status.hint else status.words
