"""Hooks that are tools of servers: what they are given, and how their words are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from caliban_common.errors import CalibanError
from caliban_hooks import BadHook, HookFailed, HookSpec, ServerCalls, read_hooks

EVENT = json.dumps({"tool_name": "Bash", "tool_input": {"command": "rm x", "n": 3}}).encode()
pytestmark = pytest.mark.anyio


class Servers:
    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.calls: list[tuple[str, str, Mapping[str, Any]]] = []

    async def call(self, server: str, tool: str, input: Mapping[str, Any]) -> str:
        self.calls.append((server, tool, input))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Silent:
    async def call(self, server: str, tool: str, input: Mapping[str, Any]) -> str:
        await anyio.sleep_forever()
        return ""


def spec(**more: Any) -> HookSpec:
    (hook,) = read_hooks(
        {"PreToolUse": [{"hooks": [{"type": "mcp_tool", "server": "s", "tool": "t", **more}]}]}, source="x"
    )
    return hook


async def test_a_tool_is_given_the_event_or_what_the_hook_takes_of_it():
    servers = Servers('{"decision": "block", "reason": "no"}')
    answer = await ServerCalls(tools=servers).ask(spec(), EVENT)
    assert (answer.decision, answer.reason) == ("deny", "no")
    given = {"line": "run ${tool_input.command}", "more": ["${tool_input.n}", 1], "none": "${a.b}"}
    assert (await ServerCalls(tools=Servers("fine")).ask(spec(), EVENT)).decision == "continue"
    await ServerCalls(tools=servers).ask(spec(input=given), EVENT)
    assert servers.calls == [
        ("s", "t", json.loads(EVENT)),
        ("s", "t", {"line": "run rm x", "more": ["3", 1], "none": ""}),
    ]


async def test_a_tool_that_fails_or_says_nothing_gives_no_answer():
    with pytest.raises(HookFailed, match="it fell over"):
        await ServerCalls(tools=Servers(CalibanError("it fell over"))).ask(spec(), EVENT)
    with pytest.raises(HookFailed, match="did not answer"):
        await ServerCalls(tools=Silent()).ask(spec(timeout="1ms"), EVENT)
    with pytest.raises(HookFailed):
        await ServerCalls(tools=Servers('{"decision": "blo')).ask(spec(), EVENT)


@pytest.mark.parametrize(
    "hook",
    [
        {"type": "mcp"},
        {"type": "mcp", "mcp": "a"},
        {"type": "mcp", "tool": "a"},
        {"type": "mcp", "mcp": "a", "server": "b", "tool": "c"},
        {"type": "mcp", "mcp": "a", "tool": "c", "input": 3},
        {"type": "mcp", "mcp": 3, "tool": "c"},
        {"type": "agent"},
        {"type": "agent", "prompt": "x", "agent": 3},
    ],
    ids=str,
)
def test_a_hook_that_lacks_its_members_is_refused(hook):
    with pytest.raises(BadHook):
        read_hooks({"PreToolUse": [{"hooks": [hook]}]}, source="x")
