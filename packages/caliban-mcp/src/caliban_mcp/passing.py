"""For servers that nothing is kept of: they are part of the program that has started us."""

from __future__ import annotations

from collections.abc import Iterable

from caliban_mcp.cache import CachedServer, ListCache
from caliban_mcp.pins import JudgedTools, PinStore, ServerPins
from caliban_mcp_client.values import McpTool


class NoLists(ListCache):
    """Remembers nothing."""

    def load(self, key: str) -> CachedServer | None:
        """Nothing."""
        return None

    def save(self, key: str, entry: CachedServer) -> None:
        """Keep nothing."""


class OpenPins(PinStore):
    """Lets in whatever there is: who changes it has started the run."""

    def judge(self, identity: str, first: ServerPins, tools: Iterable[McpTool]) -> JudgedTools:
        """All of it, as accepted."""
        return JudgedTools(
            offered=tuple((tool, "accepted") for tool in tools), instructions=first.instructions
        )
