"""What `caliban doctor` says of MCP servers: which ones a run would use. None is started for it."""

from __future__ import annotations

from typing import Literal

from caliban.cli.options import Options
from caliban.commands.mcp.list import ListedServers
from caliban.compose.servers.build import pins_dir
from caliban_common.text import one_line
from caliban_mcp import PinStore, PinsUnusable


def server_row(options: Options) -> tuple[Literal["pass", "warn"], str] | None:
    """How the servers of a run stand; `None` where there are none."""
    listed = ListedServers(options)
    configs, waiting = listed.written.configs, listed.waiting()
    if not configs and not waiting and not listed.written.problems:
        return None
    words = [one_line(f"{config.name} ({listed.state(config) or 'would be used'})") for config in configs]
    words += [f"{one_line(name, max_chars=64)} ({why})" for name, (_, why) in sorted(waiting.items())]
    problems = list(listed.written.problems)
    for config in configs:
        try:
            pins = PinStore(pins_dir()).load(config.identity)
        except PinsUnusable as error:
            problems.append(error.message)
            continue
        if pins is not None and pins.waits:
            problems.append(f"tools of {config.name} wait to be looked at: caliban mcp review {config.name}")
    text = "; ".join([*problems, ", ".join(words)])
    return ("warn" if problems or waiting else "pass"), f"{text}; caliban mcp doctor connects to them"
