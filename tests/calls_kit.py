"""Tool calls through the real command: what the model is told of each, and what the rules say to one."""

from __future__ import annotations

import json
from typing import Any

from command_kit import Cli, Finished

from caliban_provider_anthropic.testing import wire

VERDICTS = {0: "allow", 1: "deny", 2: "ask"}


def run_calls(
    cli: Cli, *calls: tuple[str, dict[str, Any]], flags: tuple[str, ...] = (), **options: Any
) -> tuple[list[str], Finished]:
    """Let the model make `calls` in one reply; the texts of their results, and how the command ended."""
    uses = [wire.tool_use(name, given, id=f"call_{n}") for n, (name, given) in enumerate(calls)]
    cli.script(wire.exchange(*uses), wire.exchange(wire.text("done")))
    done = cli.run("-p", "go", *flags, **options)
    return results(cli), done


def results(cli: Cli) -> list[str]:
    """The texts of the tool results in the last request."""
    texts = []
    for block in cli.bodies()[-1]["messages"][-1]["content"]:
        if block["type"] == "tool_result":
            inner = block["content"]
            texts.append(inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner))
    return texts


def verdict(cli: Cli, tool: str, given: dict[str, Any], *flags: str) -> str:
    """What `caliban perms test` says to a call."""
    return VERDICTS[cli.run("perms", "test", *flags, tool, json.dumps(given)).code]
