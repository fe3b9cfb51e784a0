"""The program on the other end of a run over frames: what it is asked, and what it may do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from caliban.cli.formats import output_format
from caliban.cli.options import Options
from caliban.compose.app import App
from caliban.compose.host import Host, this_host
from caliban_common.event import Warned
from caliban_drive.notice import as_event, as_notice
from caliban_drive.session import Session
from caliban_headless.hostline import HostLine
from caliban_headless.services import FrameServices, PromptServices

if TYPE_CHECKING:
    from caliban.faces.hosted import HostedServers
    from caliban.faces.hostservers import HostServers
    from caliban_headless.requests import Serve
    from caliban_mcp.elicit import ElicitAnswer, Elicitor, ServerQuestion
    from caliban_mcp_client.hosted import HostPipe

SERVER_REQUESTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "mcp_status": "status",
        "mcp_reconnect": "reconnect",
        "mcp_toggle": "toggle",
        "mcp_set_servers": "set_servers",
        "mcp_read_resource": "read_resource",
        "mcp_call": "call",
        "mcp_message": "message",
        "set_mcp_permission_mode_override": "override_mode",
    }
)
"""A request about servers -> the method of `HostServers` that serves it."""


class OtherEnd:
    """Whoever writes and reads the frames. What it is asked, and what serves it, is loaded with its use."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._app: App | None = None
        self._servers: HostedServers | None = None
        self.line: HostLine = HostLine(lambda: self.app.reporter)

    @property
    def app(self) -> App:
        """The app of the run, once it is open."""
        assert self._app is not None
        return self._app

    def host(self) -> Host:
        """What the run is given; where it reads frames, too, the way to its MCP servers."""
        reads = output_format(self._options.output.output_format).holds_notices
        return replace(this_host(), hosted=self.hosted if reads else None)

    @property
    def elicitor(self) -> Elicitor | None:
        """Puts to it what MCP servers ask, where it answers questions."""
        return self if self._options.permissions.permission_prompt_tool == "stdio" else None

    def hosted(self, name: str) -> HostPipe:
        """The way to an MCP server that lives in it."""
        return self.servers(name)

    @property
    def servers(self) -> HostedServers:
        """All the ways to its MCP servers."""
        if self._servers is None:
            from caliban.faces.hosted import HostedServers

            self._servers = HostedServers(self.line)
        return self._servers

    async def elicit(self, question: ServerQuestion) -> ElicitAnswer:
        """See `Elicitor`."""
        from caliban.faces.hostelicited import HostElicitor

        return await HostElicitor(self.line).elicit(question)

    def services(self, app: App, session: Session) -> FrameServices:
        """What is done for it, in the run of `app`."""
        self._app = app
        servers = app.servers
        return FrameServices(
            served={"rewind_files": _rewinds(app, session)},
            at_once=PromptServices(served=self._servers_served(), tell=partial(_told, app)),
            line=self.line,
            unsent=self._unsent,
            ready=servers.hosted_ready if servers is not None and servers.lives_in_host else None,
        )

    def _unsent(self) -> Warned | None:
        held = self.app.reporter.held()
        return None if held is None else as_event(held)

    def _servers_served(self) -> Mapping[str, Serve]:
        """What it may do with MCP servers: loaded with the first request."""
        made: list[HostServers] = []

        def servers() -> HostServers:
            from caliban.faces.hostservers import HostServers

            if not made:
                made.append(HostServers(self.app, self.servers))
            return made[0]

        def serving(name: str) -> Serve:
            async def serve(body: Mapping[str, Any]) -> Mapping[str, Any]:
                method: Serve = getattr(servers(), name)
                return await method(body)

            return serve

        async def initialize(body: Mapping[str, Any]) -> Mapping[str, Any]:
            from caliban.faces.hoststart import HostStart

            return await HostStart(self.app, servers(), self.servers).initialize(body)

        return {
            "initialize": initialize,
            **{subtype: serving(name) for subtype, name in SERVER_REQUESTS.items()},
        }


def _rewinds(app: App, session: Session) -> Serve:
    """Puts files back for the host: loaded with the first request."""

    async def serve(body: Mapping[str, Any]) -> Mapping[str, Any]:
        from caliban.faces.rewound import FileRewinds

        return await FileRewinds(app, session)(body)

    return serve


def _told(app: App, answer: Warned) -> bool:
    """Put the answer to a request into the frames of the prompt that runs; false where none runs."""
    return app.reporter.tell(as_notice(answer))
