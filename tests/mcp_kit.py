"""Servers of tools for tests: entries of settings that start the one of `mcp_server.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent / "mcp_server.py"


def entry(what: dict[str, Any]) -> dict[str, Any]:
    """A server as other harnesses write it, which does `what`."""
    return {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), json.dumps(what)]}


def table(name: str, what: dict[str, Any], more: str = "") -> str:
    """The same as settings: a table of TOML, with `more` lines in it."""
    words = entry(what)
    args = ", ".join(json.dumps(word) for word in words["args"])
    return f"[mcp_servers.{name}]\ncommand = {json.dumps(words['command'])}\nargs = [{args}]\n{more}"


def given(**servers: dict[str, Any]) -> str:
    """The value of --mcp-config with these servers."""
    return json.dumps({"mcpServers": {name: entry(what) for name, what in servers.items()}})
