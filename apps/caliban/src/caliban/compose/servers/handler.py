"""What answers the questions of a server; how it does is loaded with the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban.compose.servers.parts import AskedParts

if TYPE_CHECKING:
    from caliban_mcp_client.handler import Elicitation, ElicitResult, LogMessage, Root, SamplingRequest
    from caliban_mcp_client.values import Json


class AskedHandler:
    """Answers what the server `name` asks; its roots are the workspace alone. A `ClientHandler`."""

    def __init__(self, name: str, parts: AskedParts) -> None:
        self._name = name
        self._parts = parts

    async def elicit(self, request: Elicitation) -> ElicitResult:
        """The answer to a question; see `ClientHandler`."""
        from caliban.compose.servers.asked import AskedQuestion

        return await AskedQuestion(self._name, self._parts, request).answer()

    async def sample(self, request: SamplingRequest) -> Json | None:
        """Refuse."""
        del request
        return None

    async def roots(self) -> tuple[Root, ...]:
        """The workspace."""
        from caliban_mcp_client.handler import Root

        workspace = self._parts.workspace
        return (Root(uri=workspace.resolve().as_uri(), name=workspace.name),)

    def log(self, message: LogMessage) -> None:
        """Drop it."""
