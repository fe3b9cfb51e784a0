"""The MCP servers of a run as the terminal shows and changes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from caliban.commands.mcp.list import ListedServers, described, whole_row
from caliban.commands.mcp.login import check_login, log_in, login_port
from caliban.compose.app import App
from caliban.compose.servers.browser import open_browser
from caliban.compose.servers.changed import OFF, check_unrecorded, connect_anew
from caliban.errors import CommandRefused
from caliban.faces.terminal.asking import PersonAsker
from caliban_common.text import one_line, plural
from caliban_mcp.server import RunServer
from caliban_tui.overlay.views import ServerRow
from caliban_tui.question.asked import AskedField, FieldsAnswer, FieldsQuestion
from caliban_tui.question.desk import ApprovalDesk


class ServerList:
    """See `ViewHost`: the servers of `app`."""

    def __init__(self, app: App) -> None:
        self._app = app

    def rows(self) -> tuple[ServerRow, ...]:
        """Those of the run, then those that are written and not used."""
        return tuple(self._rows(ListedServers(self._app.options)))

    async def reconnect(self, name: str) -> str:
        """Connect anew. Raises `CommandRefused`."""
        server = self._found(name)
        if server.state == "disabled":
            return f"{name} is switched off: d switches it on"
        return await self._anew(server)

    async def toggle(self, name: str) -> str:
        """Off for this session, or on again. Raises `CommandRefused`."""
        server = self._found(name)
        if server.state == "disabled":
            return await self._anew(server)
        server.pause(OFF)
        return f"{name} is off in this session; caliban mcp disable {name} keeps it so"

    async def log_in(self, name: str) -> str:
        """Log in by the browser, then connect anew. Raises `CommandRefused`, `LoginFailed`."""
        inputs = self._app.live.inputs
        if inputs is None:
            raise CommandRefused("nothing is open yet that could log in")
        listed = ListedServers(self._app.options)
        config = listed.find(name)
        check_login(config)
        state = listed.state(config)
        if state and state != "disabled":
            raise CommandRefused(f"the MCP server {name} is not used: {state}")
        asker = inputs.host.asker
        if not isinstance(asker, PersonAsker):
            raise CommandRefused("nobody is at a terminal who could log in")
        agent = ScreenAgent(asker.desk, inputs.host.environ, name)
        host = replace(listed.inputs(), host=inputs.host)
        words = await log_in(config, host, agent, login_port(None, inputs.host))
        run = self._app.servers
        server = None if run is None else run.fleet.find(name)
        if server is not None:
            await self._anew(server)
        return one_line(self._app.masker.text(words), max_chars=300)

    def _rows(self, listed: ListedServers) -> Iterator[ServerRow]:
        run = self._app.servers
        statuses = () if run is None else run.fleet.statuses
        for status in statuses:
            config = listed.written.find(status.name)
            about = () if config is None else tuple(described(config, whole_row(listed, config)))
            yield ServerRow(
                name=status.name,
                state=status.state,
                tools=status.tools,
                scope=status.scope,
                words=one_line(" ".join(filter(None, (status.words, status.hint))), max_chars=300),
                about=about,
            )
        known = {status.name for status in statuses}
        for config in listed.written.configs:
            if config.name not in known:
                about = tuple(described(config, whole_row(listed, config)))
                state = listed.state(config) or "not in this run"
                yield ServerRow(name=config.name, state=state, scope=config.scope, about=about)
        for name, (place, why) in sorted(listed.waiting().items()):
            yield ServerRow(name=one_line(name, max_chars=64), state=why, about=(place,))

    def _found(self, name: str) -> RunServer:
        check_unrecorded(self._app.options)
        run = self._app.servers
        server = None if run is None else run.fleet.find(name)
        if server is None:
            raise CommandRefused(f"{one_line(name, max_chars=80)} is no server of this run")
        return server

    async def _anew(self, server: RunServer) -> str:
        run = self._app.servers
        assert run is not None, "it has this server"
        await connect_anew(run, server)
        return f"{server.name} is connected: {plural(server.status.tools, 'tool')}"


class ScreenAgent:
    """The person's side of a login to the server `name`, as a question on the screen. See `LoginAgent`.

    Notices would not do: they hide what the address has to say.
    """

    def __init__(self, desk: ApprovalDesk, environ: Mapping[str, str], name: str) -> None:
        self._desk = desk
        self._environ = environ
        self._name = name
        self._words = ""
        self._is_wrong = ""

    async def show(self, url: str, redirect_uri: str) -> None:
        """See `LoginAgent`."""
        opened = open_browser(url, self._environ)
        lead = "Your browser opens this address:" if opened else "Open this address in a browser:"
        self._words = (
            f"{lead}\n\n{url}\n\nA browser on another machine ends at an address that it cannot open, "
            f"beginning with {redirect_uri}"
        )

    async def pasted(self) -> str | None:
        """See `LoginAgent`. The question goes when the browser comes back first."""
        field = AskedField(
            name="address",
            label="paste that address here; nothing needs to be typed if the browser is on this machine",
            required=False,
            warning=self._is_wrong,
        )
        title = f"Log in to the MCP server {self._name}"
        answer = await self._desk.ask(FieldsQuestion(title=title, words=self._words, fields=(field,)))
        given = answer.values.get("address") if isinstance(answer, FieldsAnswer) else None
        return given.strip() if isinstance(given, str) and given.strip() else None

    async def refused(self, words: str) -> None:
        """See `LoginAgent`."""
        self._is_wrong = words
