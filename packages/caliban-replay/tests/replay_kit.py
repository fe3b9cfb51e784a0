"""Runs that are recorded and played again in one process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from caliban_agent_core import Agent, AgentOptions, Gate
from caliban_common.event import RunEnd
from caliban_common.permission import Decision
from caliban_common.tool import FixedTools, ToolContext, ToolOutput, ToolSpec
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call
from caliban_replay import (
    RecordingProvider,
    RecordingRules,
    RecordingTools,
    Replay,
    ReplayedRules,
    ReplayingProvider,
    ReplayingTools,
    ReplayOptions,
    Scene,
    Tape,
    load_recording,
)


class Echo:
    """A tool that says what it was given, once for each time it is asked."""

    spec = ToolSpec(
        name="Echo",
        description="says it again",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
    )

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        self.asked.append(args)
        return ToolOutput.of(f"{len(self.asked)}: {args['text']}")


class Allows:
    """Rules that allow everything but one text."""

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        if args.get("text") == "no":
            return Decision(action="deny", reason="not this")
        return Decision(action="allow")


def echo(text: str, id: str) -> Any:
    return tool_call("Echo", {"text": text}, id=id)


SCRIPT = (
    reply(echo("a", "t1"), echo("b", "t2"), echo("no", "t3")),
    reply(echo("c", "t4")),
    reply("done"),
)


async def record_run(file: Path, *script: Any, options: AgentOptions | None = None) -> RunEnd:
    """A run on `script`, recorded in `file`."""
    tape = Tape(file, ())
    inner = ScriptedProvider(list(script or SCRIPT))
    provider = RecordingProvider(inner, tape)
    tools = RecordingTools(FixedTools([Echo()]), tape)
    provider.capabilities("m")
    tape.begin(
        Scene(
            session_id="s",
            provider="scripted",
            family=provider.family,
            model="m",
            messages=(),
            tools=(Echo.spec,),
            options={},
            seed=tape.seed,
        ),
        "test",
    )
    agent = Agent(
        provider,
        "m",
        tools=tools,
        gate=Gate(rules=RecordingRules(Allows(), tape)),
        options=options or AgentOptions(timing=tape.timing),
        new_id=tape.new_id,
    )
    end = await agent.run_to_end("go")
    tape.close()
    return end


async def play_run(file: Path, options: ReplayOptions | None = None) -> tuple[RunEnd, Replay, list[str]]:
    """The run in `file` played again; what was told of it."""
    notices: list[str] = []
    replay = Replay(
        load_recording(file, home=""),
        options or ReplayOptions(),
        tell=lambda one: notices.append(one.message),
        show=lambda line: None,
        act=lambda name, arguments: None,
    )
    agent = Agent(
        ReplayingProvider(replay),
        "m",
        tools=ReplayingTools(FixedTools([Echo()]), replay),
        gate=Gate(rules=ReplayedRules(replay.recording)),
        options=AgentOptions(timing=replay.timing),
        new_id=replay.new_id,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(replay.playhead.run)
        end = await agent.run_to_end("go")
        group.cancel_scope.cancel()
    return end, replay, notices
