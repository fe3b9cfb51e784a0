"""Headers that a program of an entry prints: sent to the server, and shown to nobody."""

from __future__ import annotations

import json
import sys

from caliban_provider.testing.loopback import Exchange, LoopbackServer, Request, Send
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
CALL = wire.exchange(wire.tool_use("mcp__keyed__tell", {}, id="c1"))
SECRET = "rather-secret-word-7"


def reply(request: Request) -> Exchange:
    """A server of one tool, which tells the headers that it was asked with."""
    message = json.loads(request.body or b"{}")
    if "id" not in message:
        return Exchange(status=202)
    result = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "tell", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": f"asked with {request.headers.get('x-key')}."}]},
    }.get(message["method"])
    outcome = (
        {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
    )
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode()
    return Exchange(status=200, headers={"content-type": "application/json"}, steps=(Send(body),))


def test_a_header_that_a_program_prints_is_sent_and_masked_in_what_the_server_says_of_it(cli):
    helper = cli.home / "headers.py"
    helper.write_text(f"import json; print(json.dumps({{'X-Key': {SECRET!r}}}))")
    with LoopbackServer(reply) as server:
        cli.configure(
            f'mcp_wait = 30\n[mcp_servers.keyed]\nurl = "{server.url}/mcp"\n'
            f'headers_helper = "{sys.executable} {helper}"\n'
        )
        cli.script(CALL, DONE)
        done = cli.run("-p", "go", "--output-format", "stream-json", "--allow", "mcp__keyed__*")
    (result,) = done.of("tool_result")
    text = result["content"][0]["text"]
    assert text.startswith("asked with ") and "None" not in text and SECRET not in text, text
    assert SECRET not in done.out + done.err + json.dumps(cli.bodies())
