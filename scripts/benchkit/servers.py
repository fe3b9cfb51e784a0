"""Rows about servers of tools: what five of them cost, and that one which never answers costs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchkit.rows import Figures, Place, Row, start_figures

SERVER = """\
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or sys.argv[1] == "silent":
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        reply["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "bench", "version": "1"}}
    elif message["method"] == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        reply["result"] = {"tools": [{"name": f"t{n}", "description": "Say it.", "inputSchema": schema}
                                     for n in range(5)]}
    else:
        reply["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(reply), flush=True)
"""


def given(place: Place, **kinds: str) -> tuple[str, str]:
    """The flag that gives servers of these kinds."""
    script = place.home / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    python = str(Path(sys.executable).resolve())
    servers = {
        name: {"command": python, "args": ["-S", "-E", str(script), kind]} for name, kind in kinds.items()
    }
    return "--mcp-config", json.dumps({"mcpServers": servers})


def five(place: Place) -> Figures:
    """Five servers over pipes, connected and listed; their tool lists are known from the round before.

    They connect while the model thinks: one that answers at once would leave them no time for it.
    """
    servers = given(place, **{f"s{n}": "plain" for n in range(5)})
    return start_figures(place.caliban("oneshot-later", *servers))


def none(place: Place) -> Figures:
    """The same without servers."""
    return start_figures(place.caliban("oneshot-later"))


def silent(place: Place) -> Figures:
    """A server that never answers, beside a question that needs none; the round before has waited for it."""
    return start_figures(place.caliban("oneshot", *given(place, quiet="silent")))


ROWS: dict[str, Row] = {"no MCP servers": none, "five MCP servers": five, "silent MCP server": silent}
