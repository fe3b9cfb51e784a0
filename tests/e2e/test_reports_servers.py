"""A report about servers that stood without a test: what one prints beside its frames."""

from __future__ import annotations

import json
import sys

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")


def results(done) -> list[tuple[str, bool]]:
    return [(frame["content"][0].get("text", ""), frame["is_error"]) for frame in done.of("tool_result")]


NOISE = """\
import json, sys
out = sys.stdout.buffer
def say(data):
    out.write(data)
    out.flush()
say(b"Server v1 started\\n\\n\\xff\\xfe\\r\\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        say(b'LOG{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\\n')
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "noisy", "version": "1"}}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "big", "description": "d" * 5_000_000,
                                       "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": "fine"}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    say(json.dumps(answer).encode() + b"\\r\\n")
"""


def test_b099_what_a_server_prints_beside_its_frames_is_passed_over_and_named(cli, tmp_path):
    script = tmp_path / "noisy.py"
    script.write_text(NOISE)
    server = {"command": sys.executable, "args": ["-S", str(script)]}
    config = ("--mcp-config", json.dumps({"mcpServers": {"noisy": server}}))
    cli.configure("mcp_wait = 30\n")
    cli.script(wire.exchange(wire.tool_use("mcp__noisy__big", {}, id="c1")), DONE)
    done = cli.run(*STREAM, *config, "--allow", "mcp__noisy__big")
    assert results(done) == [("fine", False)], done.err
    output = done.err + "".join(frame["message"] for frame in done.of("warning"))
    assert (
        "a line with a frame at its end" in output and "a line that is no message of the protocol" in output
    )
    examined = cli.run("mcp", "doctor", "noisy", *config)
    assert "a line with a frame at its end" in examined.out
