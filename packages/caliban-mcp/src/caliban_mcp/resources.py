"""What servers have to be read: tools that list and read it, of its own server alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from caliban_common.arguments import Arguments
from caliban_common.errors import ArgumentError, CalibanError
from caliban_common.message import TextBlock
from caliban_common.text import one_line
from caliban_common.tool import ShownArgument, ToolContext, ToolOutput, ToolSpec
from caliban_mcp.errors import ServerMissing
from caliban_mcp.hidden import without_hidden
from caliban_mcp.results import read_contents
from caliban_mcp_client.content import ResourceContents

if TYPE_CHECKING:
    from caliban_mcp.fleet import ServerFleet
    from caliban_mcp.server import RunServer

LIST_NAME: Final = "ListMcpResources"
READ_NAME: Final = "ReadMcpResource"
MAX_LISTED: Final = 500
MAX_URI_CHARS: Final = 8192


def list_spec() -> ToolSpec:
    """What a model reads of the list."""
    return ToolSpec(
        name=LIST_NAME,
        description="List what MCP servers have to be read: resources by URI, and templates of URIs.",
        input_schema={
            "type": "object",
            "properties": {"server": {"type": "string", "description": "default: all"}},
            "additionalProperties": False,
        },
        shows=(ShownArgument(name="server"),),
        deferred=True,
    )


def read_spec() -> ToolSpec:
    """What a model reads of the reader."""
    return ToolSpec(
        name=READ_NAME,
        description="Read a resource of an MCP server by its URI; only that server is asked for it.",
        input_schema={
            "type": "object",
            "properties": {"server": {"type": "string"}, "uri": {"type": "string"}},
            "required": ["server", "uri"],
            "additionalProperties": False,
        },
        shows=(ShownArgument(name="uri"),),
        deferred=True,
    )


class ListResources:
    """Lists the resources of the servers of `fleet`."""

    def __init__(self, fleet: ServerFleet) -> None:
        self.spec: ToolSpec = list_spec()
        self._fleet = fleet

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """List; see `Tool`. Raises `ArgumentError`."""
        given = Arguments(args, known=("server",))
        name = given.string("server", "")
        servers = (_server(self._fleet, name),) if name else self._fleet.servers
        lines: list[str] = []
        for server in servers:
            if not name and not server.has_resources:
                continue
            try:
                lines += await resource_lines(server)
            except CalibanError as error:
                lines.append(f"{server.name}: {one_line(error.message, max_chars=300)}")
        more = f"\nand {len(lines) - MAX_LISTED} more" if len(lines) > MAX_LISTED else ""
        return ToolOutput.of("\n".join(lines[:MAX_LISTED]) + more or "no server has anything to be read")


class ReadResource:
    """Reads a resource of one server of `fleet`."""

    def __init__(self, fleet: ServerFleet) -> None:
        self.spec: ToolSpec = read_spec()
        self._fleet = fleet

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Read; see `Tool`. Raises `ArgumentError`."""
        given = Arguments(args, known=("server", "uri"))
        server, uri = _server(self._fleet, given.string("server")), given.string("uri")
        try:
            contents = await read_resource(server, uri)
        except CalibanError as error:
            return ToolOutput.of(one_line(error.message, max_chars=1000), is_error=True)
        parts = await read_contents(contents, server.look)
        return ToolOutput(content=parts or (TextBlock(text="(the resource is empty)"),))


async def read_resource(server: RunServer, uri: str) -> tuple[ResourceContents, ...]:
    """What the server gives for `uri`; nobody else is asked. Raises `CalibanError`."""
    if len(uri) > MAX_URI_CHARS:
        raise ServerMissing(f"a URI of more than {MAX_URI_CHARS:,} characters is asked of nobody")
    client = await server.connected()
    return await client.read_resource(uri)


async def resource_lines(server: RunServer) -> list[str]:
    """What a server has to be read, a line each. Raises `CalibanError`."""
    client = await server.connected()
    if not client.info.offers("resources"):
        return [f"{server.name}: it has no resources"]
    lines = []
    for resource in await client.list_resources():
        about = resource.description or resource.title or resource.name
        lines.append(_line(server.name, resource.uri, about))
    for template in await client.list_templates():
        lines.append(_line(server.name, template.uri_template, template.description or template.name))
    return lines


def _server(fleet: ServerFleet, name: str) -> RunServer:
    server = fleet.find(name)
    if server is None:
        names = ", ".join(one.name for one in fleet.servers)
        raise ArgumentError(f"there is no server {one_line(name, max_chars=80)!r}; there are: {names}")
    return server


def _line(server: str, uri: str, about: str) -> str:
    words = one_line(without_hidden(about), max_chars=200)
    return f"{server}: {one_line(without_hidden(uri), max_chars=1000)} {words}".rstrip()
