"""Whoever waits for a server that starts again is told when it does not come back."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from caliban_mcp_client import ClientParts, McpClient
from caliban_mcp_client.errors import McpError, ServerGone
from caliban_mcp_client.target import ServerOptions, StdioTarget
from caliban_process import Runner

SERVER = """
import json, os, sys, time
from pathlib import Path
starts = Path(sys.argv[1])
starts.write_text(starts.read_text() + "x")
is_first = starts.read_text() == "x"
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] != "initialize":
        os._exit(1)
    if not is_first:
        while not starts.with_name("go").exists():  # until the call waits for this start
            time.sleep(0.01)
        os._exit(1)
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
              "serverInfo": {"name": "n", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.anyio
async def test_a_call_during_a_start_that_fails_is_told_so(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.write_text("")
    target = StdioTarget(command=sys.executable, args=("-S", "-E", "-c", SERVER, str(starts)))
    options = ServerOptions(protocol="legacy", start_timeout_s=20.0)
    async with McpClient(target, options, ClientParts(runner=Runner())) as client:
        with pytest.raises(McpError):
            await client.call_tool("any", {})

        async def call() -> None:
            with pytest.raises(ServerGone, match="before it answered"):
                await client.call_tool("any", {})

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                while starts.read_text() != "xx":
                    await anyio.sleep(0.01)
                await anyio.wait_all_tasks_blocked()
                starts.with_name("go").touch()
    assert starts.read_text() == "xx"
