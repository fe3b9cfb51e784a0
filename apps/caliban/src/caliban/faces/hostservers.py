"""What a host program may do with the MCP servers of a run, by frames on standard input.

It is whoever started the run: what it brings counts like servers of `--mcp-config`, within the lists of the
administrator. Nothing here asks the rules for more than a model would be given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from caliban.compose.app import App
from caliban.compose.servers.brought import brought_server, taken_problem
from caliban.compose.servers.build import RunServers
from caliban.compose.servers.changed import OFF, WAIT_S, check_unrecorded, connect_anew, why_not
from caliban.errors import CommandRefused
from caliban.faces.hosted import HostedServers
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_mcp.config import ServerConfig
from caliban_mcp.hidden import without_hidden
from caliban_mcp.resources import read_resource, read_spec
from caliban_mcp.results import parts_of
from caliban_mcp.server import RunServer
from caliban_mcp.status import ServerStatus
from caliban_mcp.tool import ServerTool
from caliban_mcp_client.content import AudioContent, Content, ImageContent, TextContent
from caliban_mcp_client.values import ToolAnnotations

MAX_ANSWER_BYTES: Final = 900_000
"""So large an answer may be: hosts of the dialect read lines of at most 1 MiB."""


class HostServers:
    """Serves the requests of one run of `app` about its servers; `hosted` are those of the host itself."""

    def __init__(self, app: App, hosted: HostedServers) -> None:
        self._app = app
        self._hosted = hosted
        self._brought: dict[str, RunServer] = {}

    async def status(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Every server: how it is, what is wrong with it, and its tools."""
        del body
        run = self._app.servers
        if run is None:
            return {"mcpServers": []}
        by_name = {server.name: server for server in run.fleet.servers}
        return {"mcpServers": [_row(status, by_name.get(status.name)) for status in run.fleet.statuses]}

    async def reconnect(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Begin anew with `serverName`. Raises `CommandRefused` where it is not there then."""
        run, server = self._found(body)
        if server.state == "disabled":
            raise CommandRefused(f"the MCP server {server.name} is disabled: mcp_toggle enables it")
        await connect_anew(run, server)
        return {}

    async def toggle(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Let `serverName` be used where it is `enabled`, or not. Raises `CommandRefused`."""
        enabled = body.get("enabled")
        if not isinstance(enabled, bool):
            raise CommandRefused("enabled is neither true nor false")
        run, server = self._found(body)
        if not enabled:
            server.pause(OFF)
        elif server.state == "disabled":
            await connect_anew(run, server)
        return {}

    async def set_servers(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Let `servers`, by name, be all those that were brought; what came of that.

        Those of settings and plugins stay as they are. One that is as it was is left in peace.
        """
        check_unrecorded(self._app.options)
        wanted = body.get("servers")
        if not isinstance(wanted, Mapping):
            raise CommandRefused("servers is no object of servers by their names")
        run, errors = await self._slot(), dict[str, str]()
        configs = self._configs(run, wanted, errors)
        gone = [name for name, there in self._brought.items() if configs.get(name) != there.config]
        for name in gone:
            await run.fleet.remove(self._brought.pop(name))
        fresh = [name for name in configs if name not in self._brought]
        for name in fresh:
            self._brought[name] = run.fleet.add(configs[name])
        await run.fleet.settle([self._brought[name] for name in fresh], WAIT_S)
        for name in fresh:
            status = self._brought[name].status
            if status.state != "connected":
                errors[name] = why_not(status) or "it has not told its tools yet"
        return {"added": fresh, "removed": gone, "errors": errors}

    async def read_resource(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `serverName` has under `uri`; a rule may deny it, as it does for prompts."""
        _, server = self._found(body)
        uri = body.get("uri")
        if not isinstance(uri, str) or not uri:
            raise CommandRefused("uri names nothing")
        if self._app.permissions.forbids(read_spec(), {"server": server.name, "uri": uri}):
            raise CommandRefused("a rule denies it")
        contents = []
        for one in await read_resource(server, uri):
            held = {"text": one.text} if one.text is not None else {"blob": one.blob or ""}
            contents.append({"uri": one.uri, "mimeType": one.mime_type, **held})
        return self._sized({"contents": contents})

    async def call(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the `tool` of a server by its whole name; the result as the protocol has it.

        What rules deny, and what nobody has looked at yet, is not called. Raises `CommandRefused`.
        """
        name, args = body.get("tool"), body.get("arguments", {})
        if not isinstance(name, str) or not isinstance(args, Mapping):
            raise CommandRefused("tool names no tool, or arguments is no object")
        run = self._app.servers
        tools = () if run is None else run.fleet.tools()
        tool = next((one for one in tools if isinstance(one, ServerTool) and one.spec.name == name), None)
        permissions = self._app.permissions
        if run is None or tool is None or not permissions.offers(tool.spec):
            raise CommandRefused(f"no MCP server offers a tool {one_line(name, max_chars=80)!r} here")
        if permissions.forbids(tool.spec, args):
            raise CommandRefused("a rule denies it")
        server = run.fleet.find(tool.spec.server)
        if server is None or tool.is_new:
            raise CommandRefused(
                "the tool is new on its server: caliban mcp review lets it in once somebody has seen it"
            )
        result = await server.call(tool.tool.name, args, lambda _: None)
        structured = {"structuredContent": result.structured} if result.has_structured else {}
        content = [_content(part) for part in result.content]
        return self._sized({"content": content, "isError": result.is_error, **structured})

    async def override_mode(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Judge the calls of `serverName` in `mode`; null is that of the run. Raises `CommandRefused`."""
        mode = body.get("mode")
        if mode not in ("default", "auto", None):
            raise CommandRefused("mode is neither default nor auto nor null")
        _, server = self._found(body)
        warning = self._app.permissions.set_server_mode(server.name, mode)
        return {} if warning is None else {"warning": warning}

    async def message(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a server of the host tells by itself. Raises `CommandRefused`."""
        return await self._hosted.message(body)

    def _configs(
        self, run: RunServers, wanted: Mapping[str, Any], errors: dict[str, str]
    ) -> dict[str, ServerConfig]:
        """The entries that can be used; why others cannot goes into `errors`."""
        configs: dict[str, ServerConfig] = {}
        own = [one.name for one in run.fleet.statuses if one.name not in self._brought]
        for name, table in wanted.items():
            try:
                config = brought_server(name, table, self._app)
                problem = taken_problem(name, (*own, *configs)) or run.judge(config)
                if problem is not None:
                    raise CommandRefused(problem)
            except CalibanError as error:
                errors[name] = one_line(error.message, max_chars=500)
            else:
                configs[name] = config
        return configs

    async def _slot(self) -> RunServers:
        slot = self._app.slot
        if slot is None:
            raise CommandRefused("this run takes no servers: its model cannot call tools")
        return await slot.there()

    def _found(self, body: Mapping[str, Any]) -> tuple[RunServers, RunServer]:
        check_unrecorded(self._app.options)
        name, run = body.get("serverName"), self._app.servers
        if not isinstance(name, str):
            raise CommandRefused("serverName names no server")
        server = None if run is None else run.fleet.find(name)
        if run is not None and server is not None:
            return run, server
        idle = () if run is None else run.fleet.statuses
        why = next((f": {status.words}" for status in idle if status.name == name), "")
        shown = one_line(name, max_chars=80)
        raise CommandRefused(f"the MCP server {shown!r} is not one of this run{why}")

    def _sized(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(json.dumps(answer)) > MAX_ANSWER_BYTES:
            raise CommandRefused(f"the answer has more than {MAX_ANSWER_BYTES:,} bytes")
        return answer


def _row(status: ServerStatus, server: RunServer | None) -> dict[str, Any]:
    """A server as hosts read it: nothing of its environment, its headers, its arguments' variables."""
    row: dict[str, Any] = {"name": status.name, "status": status.state}
    if status.scope:
        row["scope"] = status.scope
    if status.words:
        row["error"] = why_not(status)
    if server is None:
        return row
    config = server.config
    if config.kind == "sdk":
        row["config"] = {"type": "sdk", "name": config.name}
    elif config.kind == "stdio":
        row["config"] = {"type": "stdio", "command": config.command, "args": list(config.args)}
    else:
        row["config"] = {"type": config.kind, "url": config.url}
    if server.client is not None:
        info = server.client.info
        row["serverInfo"] = {"name": without_hidden(info.name), "version": without_hidden(info.version)}
    row["tools"] = [
        {
            "name": one.tool.name,
            "description": one.spec.description,
            "annotations": _annotations(one.tool.annotations),
        }
        for one in server.tools
    ]
    return row


def _annotations(claims: ToolAnnotations) -> dict[str, bool]:
    hints = {
        "readOnly": claims.read_only,
        "destructive": claims.destructive,
        "openWorld": claims.open_world,
    }
    return {name: value for name, value in hints.items() if value is not None}


def _content(part: Content) -> Mapping[str, str]:
    """A piece of a result as the protocol has it."""
    match part:
        case TextContent(text=text):
            return {"type": "text", "text": without_hidden(text)}
        case ImageContent(data=data, mime_type=kind):
            return {"type": "image", "data": data, "mimeType": kind}
        case AudioContent(data=data, mime_type=kind):
            return {"type": "audio", "data": data, "mimeType": kind}
        case _:
            texts = [getattr(one, "text", "") for one in parts_of(part)]
            return {"type": "text", "text": without_hidden("\n".join(filter(None, texts)))}
