"""The MCP servers of a run: what connects them is loaded where there are some."""

from __future__ import annotations

from contextlib import AsyncExitStack
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup

from caliban.cli.formats import input_format
from caliban.compose.opening import Opening
from caliban.compose.project import may_have_servers
from caliban.errors import CommandRefused
from caliban_common.hook import Hooks
from caliban_common.tool import Tool, ToolSource

if TYPE_CHECKING:
    from caliban.compose.servers.build import RunServers, ServerInputs
    from caliban.compose.tools import ToolInputs
    from caliban_mcp.elicit import Elicitor


class ServerSlot:
    """The servers of a run: those of settings and plugins, or none until somebody on the other end has some.

    `hooks` and the `elicitor` are asked what servers ask; without either, questions are declined.
    """

    def __init__(
        self,
        opening: Opening,
        tools: ToolInputs,
        hooks: Hooks,
        elicitor: Elicitor | None,
    ) -> None:
        self.run: RunServers | None = None
        self._opening = opening
        self._board = tools.board
        self._media = tools.media
        self._hooks = hooks
        self._elicitor = elicitor
        self._tasks: TaskGroup | None = None
        self._opened: AsyncExitStack | None = None

    @property
    def may_come(self) -> bool:
        """Whether there are none yet, and frames on standard input may bring some."""
        opening = self._opening
        is_framed = input_format(opening.options.output.input_format).is_framed
        left_out = opening.options.extensions.no_mcp or opening.options.workspace.no_tools
        return self.run is None and is_framed and not left_out and opening.options.session.record is None

    @property
    def counts(self) -> bool:
        """Whether there are servers, or may be."""
        return self.run is not None or self.may_come

    async def open(self, stack: AsyncExitStack, tasks: TaskGroup | None, *, connects: bool = True) -> None:
        """Connect those of settings and plugins, until `stack` is left; they live in `tasks`.

        Without `connects` they offer what is remembered of them. Raises `ConfigError`.
        """
        self._opened, self._tasks = stack, tasks
        if not may_have_servers(self._opening.project):
            return
        from caliban.compose.servers.build import build_servers

        servers = build_servers(self._inputs())
        if servers is not None:
            self._take(servers)
        if servers is not None and connects:
            await stack.enter_async_context(servers.opened(tasks))

    async def there(self) -> RunServers:
        """The servers of the run; where it had none, a set that takes some. Raises `CommandRefused`."""
        if self.run is not None:
            return self.run
        from caliban.compose.servers.build import build_servers

        if not self.may_come or self._opened is None or self._tasks is None:
            raise CommandRefused("this run takes no servers")
        made = build_servers(self._inputs(), empty=True)
        if made is None:
            raise CommandRefused("this run takes no servers")
        self._take(made)
        await self._opened.enter_async_context(made.opened(self._tasks))
        return made

    def tool_names(self) -> frozenset[str]:
        """The names of the tools of servers now."""
        return frozenset() if self.run is None else self.run.tool_names()

    def tools(self) -> tuple[Tool, ...]:
        """The tools of servers; see `ToolSource`."""
        return () if self.run is None else self.run.fleet.tools()

    def is_new(self, name: str) -> bool:
        """Whether the tool of this name is one that nobody has looked at yet."""
        return self.run is not None and self.run.fleet.is_new(name)

    def _take(self, servers: RunServers) -> None:
        self.run = servers
        self._board.servers = servers.fleet
        self._board.announce(servers.news)

    def _inputs(self) -> ServerInputs:
        from caliban.compose.servers.build import ServerInputs

        opening, board = self._opening, self._board
        return ServerInputs(
            options=opening.options,
            settings=opening.settings,
            workspace=opening.workspace,
            host=opening.host,
            permissions=opening.permissions,
            report=opening.reporter,
            plugins=opening.project.plugins,
            hooks=self._hooks,
            elicitor=self._elicitor,
            hosted=opening.host.hosted,
            media=self._media,
            session_id=lambda: "" if board.session is None else board.session.id,
        )


class LaterTools:
    """`source`, and behind its tools those of servers, which may come later."""

    def __init__(self, source: ToolSource, servers: ToolSource) -> None:
        self._sources = (source, servers)
        self._seen: tuple[tuple[Tool, ...], ...] = ()
        self._all: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those of both; see `ToolSource`."""
        now = tuple(source.tools() for source in self._sources)
        if len(now) != len(self._seen) or not all(map(is_, now, self._seen)):
            self._seen = now
            self._all = tuple(chain.from_iterable(now))
        return self._all


def with_servers(tools: ToolSource, slot: ServerSlot | None) -> ToolSource:
    """`tools`, and behind them those of servers, where there are some or may come some."""
    if slot is None or not slot.counts:
        return tools
    return LaterTools(tools, slot)
