"""MCP servers that live in the program on the other end: their messages are requests to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from caliban.errors import CommandRefused
from caliban_common.text import one_line
from caliban_headless.hostline import HostLine

if TYPE_CHECKING:
    from caliban.faces.manifests import ServerManifest

NO_ANSWER: Final = "the host's answer holds no mcp_response"


class HostedServer:
    """See `HostPipe`: the way to the server that the host knows by `name`."""

    def __init__(self, line: HostLine, name: str) -> None:
        self._line = line
        self._name = name
        self._take: Callable[[Mapping[str, Any]], None] | None = None
        self._known: dict[str, Mapping[str, Any]] = {}
        self._is_begun = False

    def park(self, manifest: ServerManifest) -> bool:
        """Keep what it will say first, unless it was asked already: false then."""
        if self._is_begun:
            return False
        self._known = {"initialize": manifest.initialize}
        if manifest.tools is not None:
            self._known["tools/list"] = manifest.tools
        return True

    def forget(self) -> None:
        """Ask it all that was kept."""
        self._known = {}

    async def send(self, message: Mapping[str, Any]) -> object:
        """See `HostPipe`. Raises `HostRefused` and `CommandRefused`.

        What a manifest says is taken once: whoever begins anew with the server asks it.
        """
        method = message.get("method")
        if method == "initialize":
            self._is_begun = True
        known = self._known.pop(method, None) if isinstance(method, str) else None
        if known is not None and "cursor" not in message.get("params", {}):
            return {"jsonrpc": "2.0", "id": message["id"], "result": known}
        body = {"subtype": "mcp_message", "server_name": self._name, "message": dict(message)}
        answer = await self._line.ask(body)
        if "mcp_response" not in answer:
            raise CommandRefused(NO_ANSWER)
        return answer["mcp_response"]

    def listen(self, take: Callable[[Mapping[str, Any]], None] | None) -> None:
        """See `HostPipe`."""
        self._take = take

    def told(self, message: Mapping[str, Any]) -> None:
        """The server tells something by itself. Raises `CommandRefused` where nobody speaks with it."""
        if self._take is None:
            raise CommandRefused(f"the MCP server {self._name} is not connected")
        self._take(message)


class HostedServers:
    """The servers of the host by their names, as far as they were asked for."""

    def __init__(self, line: HostLine) -> None:
        self._line = line
        self._servers: dict[str, HostedServer] = {}

    def __call__(self, name: str) -> HostedServer:
        """The way to a server."""
        return self._servers.setdefault(name, HostedServer(self._line, name))

    async def message(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """A message of a server of the host, which nobody asked for. Raises `CommandRefused`."""
        name, message = body.get("server_name"), body.get("message")
        server = self._servers.get(name) if isinstance(name, str) else None
        if not isinstance(name, str):
            raise CommandRefused("mcp_message says no server_name")
        if server is None:
            shown = one_line(name, max_chars=80)
            raise CommandRefused(f"{shown!r} is no MCP server that lives in the host")
        if not isinstance(message, Mapping) or "id" in message or not isinstance(message.get("method"), str):
            raise CommandRefused("message is no notification: servers of the host ask nothing")
        server.told(message)
        return {}
