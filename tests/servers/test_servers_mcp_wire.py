"""Our client of MCP against servers that nobody here wrote, beside the official client."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from server_kit import FOLDER

from caliban_mcp_client import ClientParts, HttpTarget, McpClient, ServerOptions, StdioTarget
from caliban_mcp_client.content import CallResult, ImageContent, TextContent
from caliban_mcp_client.values import CallUpdate
from caliban_process import Runner
from caliban_provider.http import HttpClient

pytestmark = [pytest.mark.servers, pytest.mark.anyio]

HERE = Path(__file__).parent
NEW, OLD, NPM = FOLDER / "mcp-python", FOLDER / "mcp-python-old", FOLDER / "mcp-npm" / "node_modules"
EVERYTHING = NPM / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
SUM = {"a": 5, "b": 3}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def need(folder: Path) -> None:
    """Skip where a server is not installed."""
    if not folder.exists():
        name = folder.relative_to(FOLDER).parts[0]
        pytest.skip(f"{name} is not there: scripts/servers {name}")


def command(name: str, folder: Path) -> list[str]:
    """The program of a server by its short name; `folder` is one that it may work in."""
    scripts = NPM / "@modelcontextprotocol"
    commands = {
        "everything": ["node", str(EVERYTHING), "stdio"],
        "filesystem": ["node", str(scripts / "server-filesystem" / "dist" / "index.js"), str(folder)],
        "memory": ["node", str(scripts / "server-memory" / "dist" / "index.js")],
        "typescript-2": ["node", str(HERE / "mcp_typescript_server.mjs"), str(NPM)],
        "git": [str(NEW / "bin" / "mcp-server-git")],
        "time": [str(NEW / "bin" / "mcp-server-time")],
        "fetch": [str(NEW / "bin" / "mcp-server-fetch")],
        "python-2": [str(NEW / "bin" / "python"), str(HERE / "mcp_server.py"), "official", "stdio"],
        "python-1": [str(OLD / "bin" / "python"), str(HERE / "mcp_server.py"), "official", "stdio"],
        "fastmcp": [str(OLD / "bin" / "python"), str(HERE / "mcp_server.py"), "fastmcp", "stdio"],
    }
    return commands[name]


CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "everything": [("echo", {"message": "hi"}), ("get-sum", SUM), ("get-tiny-image", {}), ("echo", {})],
    "filesystem": [("list_allowed_directories", {}), ("read_text_file", {"path": "/etc/hostname"})],
    "memory": [("read_graph", {})],
    "typescript-2": [("add", SUM)],
    "git": [("git_status", {"repo_path": "/"})],
    "time": [("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"})],
    "fetch": [("fetch", {"url": "http://127.0.0.1:9/"})],
    "python-2": [("add", SUM), ("words", {"count": 3}), ("fail", {}), ("none", {})],
    "python-1": [("add", SUM), ("words", {"count": 3}), ("fail", {}), ("none", {})],
    "fastmcp": [("add", SUM), ("words", {"count": 3}), ("fail", {}), ("none", {})],
}
ERAS = {"typescript-2": "modern", "git": "modern", "time": "modern", "fetch": "modern", "python-2": "modern"}


def texts(result: CallResult) -> list[str]:
    """The text of a result, and the kind of anything else."""
    return [
        block.text if isinstance(block, TextContent) else type(block).__name__ for block in result.content
    ]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("name", CALLS)
async def test_a_server_is_spoken_to_and_seen_as_the_official_client_sees_it(name, tmp_path):
    argv = command(name, tmp_path)
    need(Path(argv[1] if argv[0] == "node" else argv[0]))
    host = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    target = StdioTarget(command=argv[0], args=tuple(argv[1:]), host_env=host, cwd=str(tmp_path))
    options = ServerOptions(probe_timeout_s=HANG_S, elicitation=())
    with anyio.fail_after(HANG_S):
        async with McpClient(target, options, ClientParts(runner=Runner())) as client:
            assert client.info.era == ERAS.get(name, "legacy")
            tools = await client.list_tools()
            prompts = sorted(prompt.name for prompt in await client.list_prompts())
            resources = sorted(resource.uri for resource in await client.list_resources())
            results = [await client.call_tool(*call) for call in CALLS[name]]
            assert client.problems == ()
    need(NEW)
    script = [str(NEW / "bin" / "python"), str(HERE / "mcp_sdk_client.py")]
    given = json.dumps({"command": argv[0], "args": argv[1:]}), json.dumps(CALLS[name])
    done = await anyio.run_process([*script, *given], cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    theirs = json.loads(done.stdout)
    assert client.info.protocol_version == theirs["version"]
    assert [tool.name for tool in tools] == [tool["name"] for tool in theirs["tools"]]
    for tool, other in zip(tools, theirs["tools"], strict=True):
        assert (tool.description, tool.input_schema) == (other.get("description", ""), other["inputSchema"])
        assert tool.output_schema == other.get("outputSchema")
    assert (prompts, resources) == (theirs["prompts"], theirs["resources"])
    for result, other in zip(results, theirs["results"], strict=True):
        assert result.is_error == other.get("isError", False)
        assert len(result.content) == len(other["content"])
        assert result.structured == other.get("structuredContent")
        assert [text for text in texts(result) if text not in ("ImageContent",)] == [
            block["text"] for block in other["content"] if block["type"] == "text"
        ]


@pytest.mark.parametrize("name", ["python-2", "python-1", "fastmcp"])
async def test_progress_resources_and_prompts_of_the_kits(name, tmp_path):
    argv = command(name, tmp_path)
    need(Path(argv[0]))
    updates: list[CallUpdate] = []
    target = StdioTarget(command=argv[0], args=tuple(argv[1:]), host_env=dict(os.environ))
    options = ServerOptions(probe_timeout_s=HANG_S)
    with anyio.fail_after(HANG_S):
        async with McpClient(target, options, ClientParts(runner=Runner())) as client:
            result = await client.call_tool("slow", {"steps": 3}, on_update=updates.append)
            assert texts(result) == ["done"]
            assert [update.progress for update in updates] == [0, 1, 2]
            (contents,) = await client.read_resource("demo://two")
            assert contents.text == "it is two"
            assert (await client.list_templates())[0].uri_template == "demo://{name}"
            prompt = await client.get_prompt("greet", {"who": "Ada"})
            assert prompt.messages[0].content == TextContent(text="Hello Ada")
            await client.ping()


@contextmanager
def listening(argv: list[str], port: int, folder: Path) -> Iterator[None]:
    """A server at a port, once somebody can connect."""
    env = {**os.environ, "PORT": str(port), "HOME": str(folder)}
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + HANG_S
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("anyio_backend", ["trio"])
@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize("name", ["everything", "python-2", "python-1", "fastmcp"])
async def test_a_server_is_spoken_to_at_an_address(name, transport, tmp_path):
    argv, port = command(name, tmp_path), free_port()
    need(Path(argv[1] if argv[0] == "node" else argv[0]))
    if name == "everything":
        argv = [*argv[:-1], "streamableHttp" if transport == "http" else "sse"]
    else:
        argv = [*argv[:-1], transport, str(port)]
    url = f"http://127.0.0.1:{port}/{'mcp' if transport == 'http' else 'sse'}"
    with listening(argv, port, tmp_path), anyio.fail_after(HANG_S):
        parts = ClientParts(http=lambda: HttpClient(read_s=math.inf))
        async with McpClient(HttpTarget(url=url), ServerOptions(), parts) as client:
            is_modern = transport == "http" and name == "python-2"
            assert client.info.era == ("modern" if is_modern else "legacy")
            assert client.verdict is not None
            assert client.verdict.kind == ("sse" if transport == "sse" else "auto")
            tool = "get-sum" if name == "everything" else "add"
            assert tool in [entry.name for entry in await client.list_tools()]
            assert "8" in str((await client.call_tool(tool, SUM)).content)
            assert await client.list_prompts()
            if name == "everything":
                image = (await client.call_tool("get-tiny-image", {})).content
                assert any(isinstance(block, ImageContent) for block in image)
