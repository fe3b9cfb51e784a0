"""What tests of the loop share: a tool that tests hold, rules, and a run played to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from hang_guard import HANG_S

from caliban_agent_core import Agent
from caliban_common.event import AgentEvent
from caliban_common.message import Message
from caliban_common.permission import Decision
from caliban_common.tool import ToolContext, ToolKind, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.retry import RetryPolicy
from caliban_provider.testing.scripted import Reply, reply, tool_call

QUICK = RetryPolicy(first_delay_s=0.001)
DONE = "All done."


@dataclass
class Stub:
    """A tool that answers, and remembers what ran at the same time.

    It waits until `together` of its calls have begun, or until `until` is set; `done` is set as it ends.
    """

    name: str
    kind: ToolKind = "other"
    output: str = "ok"
    key: str | None = None
    until: anyio.Event | None = None
    done: anyio.Event | None = None
    together: int = 1
    running: int = 0
    peak: int = 0
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    _met: anyio.Event | None = None

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="stub", input_schema={"type": "object"}, kind=self.kind)

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return args.get("path", self.key)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        self.calls.append(args)
        self.running += 1
        self.peak = max(self.peak, self.running)
        self._met = self._met or anyio.Event()
        if self.running >= self.together:
            self._met.set()
        try:
            await self._met.wait()
            await anyio.lowlevel.checkpoint()
            if self.until is not None:
                await self.until.wait()
        finally:
            self.running -= 1
            if self.done is not None:
                self.done.set()
        return ToolOutput.of(self.output)


@dataclass
class Rules:
    """Denies the tools that are named."""

    denied: tuple[str, ...]

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return Decision(action="deny" if tool.name in self.denied else "allow", reason="by the test")


def cut(text: str = "half", tokens: int = 1024) -> Reply:
    return reply(text, stop_reason="max_tokens", usage=Usage(input_tokens=1, output_tokens=tokens))


async def play(
    agent: Agent, prompt: str | Message | Sequence[Message] = "go"
) -> tuple[list[AgentEvent], Any]:
    events: list[AgentEvent] = []
    with anyio.fail_after(HANG_S):
        async with agent.run(prompt) as run:
            async for event in run.events:
                events.append(event)
    return events, run.outcome


def of(events: list[AgentEvent], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def user_texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if message.role == "user" and message.text]


def three(*names: str) -> Reply:
    return reply(*(tool_call(name, id=f"id_{name}") for name in names))
