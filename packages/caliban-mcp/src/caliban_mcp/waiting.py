"""The tool that waits for servers which have not told their tools yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from caliban_common.arguments import Arguments
from caliban_common.text import plural
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from caliban_mcp.fleet import ServerFleet

NAME: Final = "WaitForMcpServers"
MAX_WAIT_S: Final = 60
WAIT_S: Final = 15


def wait_spec() -> ToolSpec:
    """The spec; it names no server, so that it is the same whatever connects."""
    return ToolSpec(
        name=NAME,
        description="Wait for servers of tools that are still connecting. Their tools can be called from "
        "your next reply on.",
        input_schema={
            "type": "object",
            "properties": {
                "timeout_seconds": {
                    "type": "integer",
                    "description": f"default {WAIT_S}",
                    "maximum": MAX_WAIT_S,
                }
            },
            "additionalProperties": False,
        },
        kind="read",
        aliases={"timeout": "timeout_seconds"},
    )


class WaitForServers:
    """Waits for the servers of `fleet`."""

    def __init__(self, fleet: ServerFleet) -> None:
        self.spec: ToolSpec = wait_spec()
        self._fleet = fleet

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Wait; see `Tool`. Raises `ArgumentError`."""
        given = Arguments(args, known=("timeout_seconds",))
        seconds = given.integer("timeout_seconds", WAIT_S, low=0, high=MAX_WAIT_S)
        await self._fleet.settle(self._fleet.pending(), seconds)
        lines = []
        for status in self._fleet.statuses:
            match status.state:
                case "connected":
                    lines.append(f"{status.name}: connected, {plural(status.tools, 'tool')}")
                case "pending":
                    lines.append(f"{status.name}: still connecting")
                case "failed" | "needs-auth":
                    lines.append(f"{status.name}: cannot be used: {status.words}")
                case _:
                    continue
        return ToolOutput.of("\n".join(lines) or "there are no servers")
