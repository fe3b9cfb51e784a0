"""A sub-agent is a tool: it runs an agent behind its caller's gate and hooks, with its caller's money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from caliban_agent_core import Agent, AgentOptions, Gate, tool
from caliban_agent_core.metered import MeteredProvider
from caliban_common.event import ChildEvent, ToolCallEnd
from caliban_common.hook import HookEvent, HookVerdict
from caliban_common.permission import Decision
from caliban_common.stop import Stop
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.provider import Provider
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class Delegate:
    """The whole tool."""

    spec = ToolSpec(name="Delegate", description="Let a helper do it.", input_schema={"type": "object"})

    def __init__(self, child: Agent) -> None:
        self._child = child

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        name = self._child.options.agent
        async with self._child.run(str(args["prompt"])) as run:
            async for event in run.events:
                await context.emit(ChildEvent(tool_use_id=context.tool_use_id, agent=name, event=event))
        return ToolOutput.of(run.outcome.messages[-1].text, is_error=not run.outcome.stop.ok)


class Purse:
    """Money for a number of calls, and in whose name each was made."""

    def __init__(self, calls: int) -> None:
        self._left = calls
        self.spent: list[str] = []

    async def before_call(
        self, *, provider: str, model: str, prompt_tokens: int, max_tokens: int, agent: str = ""
    ) -> int | Stop:
        if len(self.spent) == self._left:
            return Stop(kind="budget", message="the budget is spent")
        self.spent.append(agent)
        return len(self.spent)

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> None:
        return None


class NoDeleting:
    """Rules, and hooks that only listen."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return Decision(action="deny" if tool.name == "delete" else "allow", reason="nothing is deleted")

    async def fire(self, event: HookEvent) -> HookVerdict:
        if event.type == "PreToolUse":
            self.calls.append(event.call.name)  # type: ignore[union-attr]
        return HookVerdict()


@tool
async def delete() -> str:
    """Delete everything."""
    raise AssertionError("must not run")


def family(purse: Purse, policy: NoDeleting) -> Agent:
    """An agent that delegates once; its helper wants to delete and then answers."""

    def metered(provider: Provider, agent: str) -> Provider:
        return MeteredProvider(provider, purse, agent=agent)

    gate = Gate(rules=policy)
    helper = ScriptedProvider([reply(tool_call("delete")), reply("I may not.")])
    options = AgentOptions(agent="helper")
    child = Agent(metered(helper, "helper"), "m", tools=[delete], gate=gate, hooks=policy, options=options)
    main = ScriptedProvider([reply(tool_call("Delegate", {"prompt": "clean up"}, id="d1")), reply("Pity.")])
    return Agent(metered(main, ""), "m", tools=[Delegate(child)], gate=gate, hooks=policy)


async def test_a_child_passes_the_gate_and_hooks_of_its_parent_and_spends_its_money():
    purse, policy = Purse(10), NoDeleting()
    seen: list[ChildEvent] = []
    async with family(purse, policy).run("go") as run:
        async for event in run.events:
            if isinstance(event, ChildEvent):
                seen.append(event)
    assert run.outcome.messages[-1].text == "Pity."
    assert purse.spent == ["", "helper", "helper", ""]
    assert policy.calls == ["Delegate", "delete"]
    denied = [child.event for child in seen if isinstance(child.event, ToolCallEnd)]
    assert [(end.outcome, end.reason) for end in denied] == [("denied", "nothing is deleted")]
    assert {(child.tool_use_id, child.agent) for child in seen} == {("d1", "helper")}


async def test_a_child_is_refused_when_the_money_of_the_family_is_spent():
    purse = Purse(2)
    outcome = await family(purse, NoDeleting()).run_to_end("go")
    assert outcome.stop.kind == "budget"
    assert purse.spent == ["", "helper"]
