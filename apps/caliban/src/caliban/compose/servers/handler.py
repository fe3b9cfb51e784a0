"""What answers the questions of a server; how it does is loaded with the first of them."""

from __future__ import annotations

from caliban.compose.servers.parts import AskedParts
from caliban_mcp_client.handler import DecliningHandler, Elicitation, ElicitResult, Root


class AskedHandler(DecliningHandler):
    """Answers what the server `name` asks; its roots are the workspace alone."""

    def __init__(self, name: str, parts: AskedParts) -> None:
        self._name = name
        self._parts = parts

    async def elicit(self, request: Elicitation) -> ElicitResult:
        """The answer to a question; see `ClientHandler`."""
        from caliban.compose.servers.asked import AskedQuestion

        return await AskedQuestion(self._name, self._parts, request).answer()

    async def roots(self) -> tuple[Root, ...]:
        """The workspace."""
        workspace = self._parts.workspace
        return (Root(uri=workspace.resolve().as_uri(), name=workspace.name),)
