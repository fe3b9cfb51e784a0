"""All servers of a run: connected side by side, and closed side by side."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

from caliban_common.tool import Tool
from caliban_mcp.config import ServerConfig
from caliban_mcp.parts import ServerParts
from caliban_mcp.server import RunServer
from caliban_mcp.status import ServerStatus
from caliban_mcp.tool import ServerTool, instructions_for_model

DISABLED: Final = "it is disabled"
OPEN_S: Final = 0.5
REQUEST_S: Final = 0.05
"""So long those wait whom nobody misses: after the opening, and after word that a request will leave."""


class ServerFleet:
    """The servers of a run, and the source of their tools (see `ToolSource`).

    Tools stand in the order of server and name; what comes later stands behind all others, in whatever order
    it is listed then, so that the beginning of a prompt stays. `idle` are servers that are not started, for a
    person; a server whose entry is disabled waits until somebody lets it begin.
    """

    def __init__(
        self,
        configs: Sequence[ServerConfig],
        parts: Callable[[ServerConfig], ServerParts],
        *,
        idle: Sequence[ServerStatus] = (),
    ) -> None:
        self._parts = parts
        self._group: TaskGroup | None = None
        self.servers: tuple[RunServer, ...] = ()
        self._idle = tuple(idle)
        self._order: list[str] = []
        self._tools: tuple[Tool, ...] = ()
        self._told: dict[str, str] = {}
        self._own: tuple[Tool, ...] = ()
        self._reads = False
        self._built: tuple[tuple[Tool, ...], ...] = ()
        self._pause: anyio.CancelScope | None = None
        self._watcher: Callable[[], None] = _nobody
        self.servers = tuple(map(self._made, sorted(configs, key=lambda config: config.name)))
        self._rebuild()

    @property
    def statuses(self) -> tuple[ServerStatus, ...]:
        """Every server by its name, those that are not started too."""
        return tuple(sorted((*(s.status for s in self.servers), *self._idle), key=lambda one: one.name))

    def tools(self) -> tuple[Tool, ...]:
        """The tools of all servers; see `ToolSource`."""
        return self._tools

    def begin(self) -> None:
        """The first request is about to leave: where servers are awaited, the model may wait for them."""
        if self._pause is not None:
            self._pause.deadline = min(self._pause.deadline, anyio.current_time() + REQUEST_S)
        if any(not server.is_settled and not server.is_cached for server in self.servers):
            from caliban_mcp.waiting import WaitForServers

            self._own = (WaitForServers(self), *self._own)
            self._rebuild()

    def news(self) -> tuple[str, ...]:
        """What servers say of how to use them, once for each: lines for the model."""
        lines = []
        for server in self.servers:
            text = instructions_for_model(server.instructions)
            if text and self._told.get(server.name) != text:
                self._told[server.name] = text
                lines.append(f"The MCP server {server.name} says of its tools: {text}")
        return tuple(lines)

    def is_new(self, name: str) -> bool:
        """Whether the tool of this name is one that nobody has looked at yet."""
        return any(
            isinstance(tool, ServerTool) and tool.is_new for tool in self._tools if tool.spec.name == name
        )

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` from now on whenever a server's state or its tools are others; nobody else then."""
        self._watcher = changed

    def find(self, name: str) -> RunServer | None:
        """The server of this name, if it is one of the run."""
        return next((server for server in self.servers if server.name == name), None)

    def pending(self) -> tuple[RunServer, ...]:
        """Those that have not told their tools in this run."""
        return tuple(server for server in self.servers if not server.is_settled)

    def add(self, config: ServerConfig) -> RunServer:
        """A further server, connected beside the others; its tools stand behind all that there are."""
        server = self._made(config)
        server.begin()
        self.servers = (*self.servers, server)
        self._rebuild()
        if self._group is not None:
            self._group.start_soon(server.run)
        return server

    async def remove(self, server: RunServer) -> None:
        """Let go of a server: its tools are gone at once, and nothing of it is left when this returns."""
        self.servers = tuple(one for one in self.servers if one is not server)
        self._told.pop(server.name, None)
        self._rebuild()
        server.close()
        if self._group is not None:
            await server.ended()

    def revive(self) -> tuple[RunServer, ...]:
        """Begin anew with those that are not there for want of a login, where there are other logins now."""
        waiting = tuple(server for server in self.servers if server.has_new_login)
        for server in waiting:
            server.restart()
        return waiting

    async def settle(self, servers: Iterable[RunServer], within_s: float | None) -> tuple[RunServer, ...]:
        """Wait until these have told their tools, or will not; which have done neither in that time."""
        waited = tuple(servers)
        with anyio.move_on_after(within_s):
            async with anyio.create_task_group() as group:
                for server in waited:
                    group.start_soon(server.settled)
        return tuple(server for server in waited if not server.is_settled)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connect to all of them while the block goes on; behind it nothing of them is left.

        To start programs would hold a first request up: those that nobody misses before it begin behind it.
        """
        async with anyio.create_task_group() as group:
            self._group = group
            for server in self.servers:
                if not server.may_wait:
                    server.begin()
                group.start_soon(server.run)
            if any(server.may_wait for server in self.servers):
                group.start_soon(self._begin_later)
            try:
                yield
            finally:
                self._group = None
                for server in self.servers:
                    server.close()
                if self._pause is not None:
                    self._pause.cancel()

    async def _begin_later(self) -> None:
        """Let all begin a moment after the opening, or sooner where a request leaves."""
        with anyio.CancelScope(deadline=anyio.current_time() + OPEN_S) as self._pause:
            await anyio.sleep_forever()
        self._pause = None
        for server in self.servers:
            server.begin()

    def _made(self, config: ServerConfig) -> RunServer:
        paused = DISABLED if config.disabled else ""
        server = RunServer(config, self._parts(config), self._rebuild, paused=paused)
        if not paused:
            server.remember()
        return server

    def _rebuild(self) -> None:
        """The tools anew, where they are others than before."""
        if not self._reads and any(server.has_resources for server in self.servers):
            from caliban_mcp.resources import ListResources, ReadResource

            self._own, self._reads = (*self._own, ListResources(self), ReadResource(self)), True
        parts = (self._own, *(server.tools for server in self.servers))
        if len(parts) == len(self._built) and all(map(operator.is_, parts, self._built)):
            self._watcher()
            return
        self._built = parts
        there: dict[str, Tool] = {tool.spec.name: tool for tool in self._own}
        for server in self.servers:
            there |= {tool.spec.name: tool for tool in sorted(server.tools, key=lambda tool: tool.tool.name)}
        kept = [name for name in self._order if name in there]
        self._order = [*kept, *(name for name in there if name not in kept)]
        tools = tuple(there[name] for name in self._order)
        if tools != self._tools:
            self._tools = tools
        self._watcher()


def _nobody() -> None:
    """Nobody watches."""
