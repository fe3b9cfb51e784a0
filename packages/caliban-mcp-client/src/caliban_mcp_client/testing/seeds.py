"""Conversations with a server of bad manners, made from a number: what must hold whatever the server does."""

from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path
from typing import Any, Final

import anyio
from msgspec import Struct

from caliban_mcp_client.client import McpClient
from caliban_mcp_client.errors import ConnectError, McpError
from caliban_mcp_client.handler import DecliningHandler, Elicitation, ElicitResult
from caliban_mcp_client.parts import ClientParts
from caliban_mcp_client.target import ServerOptions, StdioTarget
from caliban_mcp_client.testing.rude import manners, offers, program
from caliban_process import Runner

_HANG_S: Final = 60.0
_GONE_S: Final = 5.0
_ODD: Final = (
    "silent_probe",
    "late_probe",
    "bad_params",
    "no_error_id",
    "refused_version",
    "integer_version",
    "changes",
    "pages",
    "same_cursor",
    "broken_tools",
    "changes_in_call",
    "asks_in_call",
    "asks_leaving",
    "late",
    "stderr_flood",
    "ping_flood",
    "stdout_flood",
)
_APART: Final = (
    ("batch", "mixed_batch"),
    ("silent_probe", "late_probe"),
    ("silent_probe", "refused_version"),
)
"""Manners that together are more than what they are alone."""


class Play(Struct, frozen=True, kw_only=True):
    """The traits of one conversation, and whether its calls must have their right answers."""

    words: str
    is_kind: bool


class _Yes(DecliningHandler):
    async def elicit(self, request: Elicitation) -> ElicitResult:
        del request
        return ElicitResult(action="accept", content={"name": "Ada"})


def play_of(seed: int) -> Play:
    """What a seed means: an era, some manners that can be borne, and half the time one that cannot."""
    pick = random.Random(seed)
    words = [pick.choice(("plain", "modern", "dual")), f"seed={seed}"]
    words += pick.sample(sorted(manners.KIND), pick.randrange(4))
    words += pick.sample(_ODD, pick.randrange(3))
    faults = [
        *manners.UNKIND,
        *manners.DEADLY,
        "endless_cursor",
        "no_list",
        "unknown_version",
        "other_versions",
    ]
    is_kind = pick.random() < 0.5
    if not is_kind:
        words.append(pick.choice(faults))
    if pick.random() < 0.25:
        words.append(pick.choice(manners.LINGERING))
    for first, second in _APART:
        if first in words and second in words:
            words.remove(second)
    return Play(words=",".join(words), is_kind=is_kind)


async def faults_of(seed: int, runner: Runner) -> list[str]:
    """Play a seed, and say what went wrong: a hang, a wrong answer, somebody else's error, an orphan."""
    play = play_of(seed)
    faults: list[str] = []
    output: list[str] = []
    with anyio.move_on_after(_HANG_S) as scope:
        try:
            output += await _played(seed, play, runner, faults)
        except ConnectError as error:
            output.append(error.stderr)
            if play.is_kind:
                faults.append(f"no conversation: {error}")
        except McpError as error:
            faults.append(f"outside of a call: {error!r}")
    if scope.cancelled_caught:
        faults.append(f"it hung for {_HANG_S:g} s")
    faults += [f"an orphan: {pid}" for pid in await _orphans("".join(output))]
    return [f"{fault} (seed {seed}: {play.words})" for fault in faults]


async def _played(seed: int, play: Play, runner: Runner, faults: list[str]) -> list[str]:
    pick = random.Random(seed + 1)
    options = ServerOptions(
        probe_timeout_s=0.3,
        start_timeout_s=20.0 if play.is_kind else 2.0,
        call_timeout_s=20.0 if play.is_kind else 0.4,
        list_timeout_s=20.0 if play.is_kind else 0.4,
        close_grace_s=0.1,
        max_message_bytes=2_000_000,
    )
    target = StdioTarget(command=sys.executable, args=("-S", "-E", program.__file__, play.words))
    async with McpClient(target, options, ClientParts(runner=runner, handler=_Yes())) as client:
        for _ in range(3):
            async with anyio.create_task_group() as group:
                for _ in range(pick.randrange(1, 4)):
                    group.start_soon(_called, client, pick.randrange(1000), play, faults)
                if pick.random() < 0.3:
                    group.start_soon(_cancelled, client, pick.random() / 20)
                if pick.random() < 0.5:
                    group.start_soon(_listed, client, play, faults)
        return [client.stderr]


async def _called(client: McpClient, number: int, play: Play, faults: list[str]) -> None:
    try:
        result = await client.call_tool("add", {"a": number, "b": 1})
    except McpError as error:
        if play.is_kind:
            faults.append(f"a call without its answer: {error!r}")
        return
    wrong: Any = result.structured
    if wrong != {"sum": number + 1} and "bit" not in play.words.split(","):
        faults.append(f"a wrong answer: {wrong!r} for {number} + 1")


async def _listed(client: McpClient, play: Play, faults: list[str]) -> None:
    try:
        tools = await client.list_tools()
    except McpError as error:
        if play.is_kind:
            faults.append(f"no list: {error!r}")
        return
    if play.is_kind and [tool.name for tool in tools][:4] != [tool["name"] for tool in offers.TOOLS]:
        faults.append(f"a wrong list of {len(tools)}")


async def _cancelled(client: McpClient, after_s: float) -> None:
    with anyio.move_on_after(after_s):
        try:
            await client.call_tool("slow", {"seconds": 0.2, "steps": 2})
        except McpError:
            return


async def _orphans(stderr: str) -> list[int]:
    """What a server has started and nobody has ended."""
    pids = [int(number) for number in re.findall(r"child (\d+)", stderr)]
    with anyio.move_on_after(_GONE_S):
        while any(map(_is_alive, pids)):
            await anyio.sleep(0.02)
    return [pid for pid in pids if _is_alive(pid)]


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return os.name == "posix" and not Path("/proc").exists() and _answers(pid)
    return state != "Z"


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
