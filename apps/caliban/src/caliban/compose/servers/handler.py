"""What answers the questions of a server; how it does is loaded with the first of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_common.hook import Hooks
from caliban_mcp.status import ServerNews
from caliban_mcp_client.handler import DecliningHandler, Elicitation, ElicitResult, Root

if TYPE_CHECKING:
    from caliban.compose.permissions import Permissions
    from caliban_mcp.elicit import Elicitor


class AskedParts(Struct, frozen=True, kw_only=True):
    """Who is asked what servers ask. `session_id` is that of the run, once there is one."""

    workspace: Path
    report: Callable[[ServerNews], None]
    hooks: Hooks | None = None
    elicitor: Elicitor | None = None
    permissions: Permissions | None = None
    session_id: Callable[[], str] = str


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
