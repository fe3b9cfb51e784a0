"""A workspace, and the tools as a plain call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from caliban_common.tool import Tool, ToolContext, ToolOutput
from caliban_tools_builtin import ToolOptions, builtin_tools

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")
Call = Callable[..., ToolOutput]
AsyncCall = Callable[..., Awaitable[ToolOutput]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace, beside a HOME of its own."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    workspace = tmp_path / "ws"
    workspace.mkdir()
    return workspace


def tool_set(workspace: Path, **options: Any) -> Mapping[str, Tool]:
    return {tool.spec.name: tool for tool in builtin_tools(ToolOptions(workspace=workspace, **options))}


@pytest.fixture
def make(ws: Path) -> Callable[..., Call]:
    """Builds a tool set with options and gives a call `call(name, **arguments)`."""

    def build(**options: Any) -> Call:
        tools = tool_set(options.pop("workspace", ws), **options)
        return lambda name, **args: anyio.run(tools[name].invoke, args, CONTEXT)

    return build


@pytest.fixture
def call(make: Callable[..., Call]) -> Call:
    """`call(name, **arguments)` on one tool set with its defaults."""
    return make()


@pytest.fixture
def invoke(ws: Path) -> AsyncCall:
    """`await invoke(name, **arguments)` on one tool set with its defaults."""
    tools = tool_set(ws)
    return lambda name, **args: tools[name].invoke(args, CONTEXT)
