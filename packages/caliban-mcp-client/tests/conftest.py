"""Both event loops, clients of servers that misbehave, and the kit of this folder on the import path."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from caliban_mcp_client import ClientParts, HttpTarget, McpClient, ServerOptions, StdioTarget
from caliban_mcp_client.testing.rude import program as rude
from caliban_process import Runner
from caliban_provider.http import HttpClient

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def rude_target(words: str) -> StdioTarget:
    """The program with these behaviours; without what Python does at a start for others."""
    return StdioTarget(command=sys.executable, args=("-S", "-E", rude.__file__, words))


@pytest.fixture
def program() -> Callable[..., McpClient]:
    """`program(words, **options)` is a client of a server with these behaviours."""

    def client(words: str, *, parts: ClientParts | None = None, **options) -> McpClient:
        given = {"probe_timeout_s": 60.0, **options}
        runner = Runner()
        parts = (
            ClientParts(runner=runner)
            if parts is None
            else ClientParts(runner=runner, handler=parts.handler, verdict=parts.verdict)
        )
        return McpClient(rude_target(words), ServerOptions(**given), parts)

    return client


@pytest.fixture
def address() -> Callable[..., McpClient]:
    """`address(url, kind=..., **options)` is a client of a server over HTTP."""

    def client(url: str, *, target: dict | None = None, parts: dict | None = None, **options) -> McpClient:
        return McpClient(
            HttpTarget(url=url, **(target or {})),
            ServerOptions(**options),
            ClientParts(http=lambda: HttpClient(read_s=math.inf), **(parts or {})),
        )

    return client
