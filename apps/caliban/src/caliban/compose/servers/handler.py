"""What servers are answered where nobody is there to be asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from caliban_common.text import one_line
from caliban_mcp.status import ServerNews
from caliban_mcp_client.handler import (
    DecliningHandler,
    Elicitation,
    ElicitResult,
    FormElicitation,
    Root,
)

NOBODY = "nobody is there to answer"


class HeadlessHandler(DecliningHandler):
    """Declines what the server `name` asks, and says so; its roots are the workspace alone."""

    def __init__(self, name: str, workspace: Path, report: Callable[[ServerNews], None]) -> None:
        self._name = name
        self._workspace = workspace
        self._report = report

    async def elicit(self, request: Elicitation) -> ElicitResult:
        """Decline; a person hears what was asked, an address by its host."""
        what = one_line(request.message, max_chars=200)
        if isinstance(request, FormElicitation):
            words = f"{what!r} ({NOBODY})"
        else:
            words = f"{what!r}, to be answered at {_host(request.url)} ({NOBODY}, and nothing was opened)"
        self._report(ServerNews(kind="declined", server=self._name, words=words))
        return ElicitResult(action="decline")

    async def roots(self) -> tuple[Root, ...]:
        """The workspace."""
        return (Root(uri=self._workspace.resolve().as_uri(), name=self._workspace.name),)


def _host(url: str) -> str:
    """The host of an address as it is asked for: in punycode, whatever it looks like."""
    try:
        host = urlsplit(url).hostname or ""
        return one_line(host.encode("idna").decode(), max_chars=260) or "no address"
    except (ValueError, UnicodeError):
        return "no address that can be read"
