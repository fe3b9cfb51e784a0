"""What tools of servers ask of others: for those who check types alone, so that no start makes the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from caliban_mcp.results import Look
    from caliban_mcp.tool import OnUpdate
    from caliban_mcp_client.content import CallResult


class ToolServer(Protocol):
    """Whoever reaches the server of a tool."""

    @property
    def name(self) -> str:
        """What the server is called here."""
        ...

    @property
    def look(self) -> Look:
        """What a model is shown of an image or a document."""
        ...

    async def call(
        self, tool: str, args: Mapping[str, Any], on_update: OnUpdate, tool_use_id: str = ""
    ) -> CallResult:
        """Call a tool by the name that the server gives it. Raises `CalibanError`."""
        ...
