"""Tools that were written for one era of the protocol, on a server that speaks both."""

from __future__ import annotations

import json
import sys

import pytest

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
CALL = wire.exchange(wire.tool_use("mcp__both__ask", {}, id="c1"))
SERVER = """
import json, sys
calls = 0
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    caps, said = {"tools": {}}, None
    match message["method"]:
        case "server/discover":
            said = {"supportedVersions": ["2026-07-28"], "capabilities": caps, "resultType": "complete"}
        case "initialize":
            info = {"name": "both", "version": "1"}
            said = {"protocolVersion": "2025-11-25", "capabilities": caps, "serverInfo": info}
        case "tools/list":
            said = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}], "resultType": "complete"}
        case "tools/call":
            calls += 1
            modern = any("/protocolVersion" in name for name in message["params"].get("_meta", {}))
            code, words = (-32600, "no Back-Channel here") if modern else (-32603, "an invalid result")
            error = {"code": code, "message": f"{words}, call {calls}"}
    answer = {"error": error} if said is None else {"result": said}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("auto", "call 1 (-32600) (this tool asks in the older way: set its server's protocol to legacy)"),
        ("legacy", "call 1 (-32603) (if this tool asks for something in the newer way, set its server's"),
    ],
)
def test_a_tool_for_the_other_era_is_called_once_and_the_setting_that_helps_is_named(cli, protocol, words):
    script = cli.home / "both.py"
    script.write_text(SERVER)
    cli.configure(
        f"mcp_wait = 30\n[mcp_servers.both]\ncommand = {json.dumps(sys.executable)}\n"
        f'args = ["{script}"]\nprotocol = "{protocol}"\n'
    )
    cli.script(CALL, DONE)
    done = cli.run("-p", "go", "--output-format", "stream-json", "--allow", "mcp__both__*")
    (result,) = done.of("tool_result")
    assert result["is_error"] and words in result["content"][0]["text"], result
