"""One server, made with the kit that is installed: the official one before and since 2, or fastmcp.

`python mcp_server.py KIT TRANSPORT [PORT]`, KIT `official` or `fastmcp`, TRANSPORT `stdio`, `http` or `sse`.
"""

from __future__ import annotations

import sys
from typing import Any

from pydantic import BaseModel


class Sum(BaseModel):
    """The result of adding."""

    total: int


class Person(BaseModel):
    """What a person is asked for."""

    name: str


def made(kit: str, port: int) -> Any:
    """A server of that kit, without tools yet."""
    if kit == "fastmcp":
        from fastmcp import FastMCP

        return FastMCP("kit")
    try:
        from mcp.server import MCPServer
    except ImportError:
        from mcp.server.fastmcp import FastMCP as Before

        return Before("kit", port=port)
    return MCPServer("kit")


def context_of(kit: str) -> Any:
    """The type by which a tool of that kit is given its context."""
    if kit == "fastmcp":
        from fastmcp import Context

        return Context
    try:
        from mcp.server.mcpserver import Context as Since
    except ImportError:
        from mcp.server.fastmcp import Context as Before

        return Before
    return Since


def furnish(server: Any, kit: str) -> None:
    """Give it tools, a resource, a template and a prompt."""

    @server.tool()
    def add(a: int, b: int) -> Sum:
        """Adds two numbers."""
        return Sum(total=a + b)

    @server.tool()
    def words(count: int) -> str:
        """So many words."""
        return "ü " * count

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise ValueError("it failed")

    async def slow(steps: int, ctx: Any) -> str:
        """Tells how far it is."""
        for step in range(steps):
            await ctx.report_progress(step, steps)
        return "done"

    slow.__annotations__["ctx"] = context_of(kit)
    server.tool()(slow)

    @server.resource("demo://one")
    def one() -> str:
        """One resource."""
        return "the first"

    @server.resource("demo://{name}")
    def any_of(name: str) -> str:
        """A family of them."""
        return f"it is {name}"

    @server.prompt()
    def greet(who: str) -> str:
        """Greets."""
        return f"Hello {who}"

    if kit == "official":
        complete(server)


def complete(server: Any) -> None:
    """Let it say how arguments of its prompt and its template could go on."""
    try:
        from mcp.types import Completion
    except ImportError:
        from mcp_types import Completion

    @server.completion()
    async def completed(ref: Any, argument: Any, context: Any) -> Completion:
        """Names that begin as the argument does."""
        names = ("Ada", "Adam", "Bob")
        return Completion(values=[name for name in names if name.startswith(argument.value)])


def main(kit: str, transport: str, port: int) -> None:
    """Serve."""
    server = made(kit, port)
    furnish(server, kit)
    name = {"stdio": "stdio", "http": "streamable-http", "sse": "sse"}[transport]
    takes_port = transport != "stdio" and (kit == "fastmcp" or type(server).__name__ == "MCPServer")
    server.run(transport=name, **({"port": port} if takes_port else {}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 8000)
