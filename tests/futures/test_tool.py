"""A tool to come touches only its own room: its spec says how it is judged, shown and compacted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from caliban_agent_core import Agent, AgentOptions, Gate
from caliban_common.event import ToolCallEnd, ToolCallReady
from caliban_common.message import Message, ToolResultBlock
from caliban_common.permission import PermissionMode
from caliban_common.tool import FixedTools, ToolContext, ToolOutput, ToolSpec
from caliban_headless.notices import Notices
from caliban_permissions import Engine, RuleSet, parse_rules
from caliban_provider.capabilities import Capabilities
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.scripted import Reply, ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


# The whole tool.


class Tail:
    """The last lines of a file."""

    spec = ToolSpec(
        name="Tail",
        description="Show the last lines of a file.",
        input_schema={"type": "object", "properties": {"log": {"type": "string"}}, "required": ["log"]},
        kind="read",
        main_argument="log",
        roles={"log": "reads"},
        repeat_key=("log",),
    )

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """A reader conflicts with nothing."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Answer at length."""
        return ToolOutput.of(f"the end of {args['log']}\n" + "line\n" * 100)


RULES = {"deny": ["Read:**/secret.log"], "ask": ["Tail:big.log"]}
DONE = "Done."


def gate(workspace: Path, mode: PermissionMode = "default", *, vouched: bool = True) -> Gate:
    engine = Engine(
        RuleSet(user=parse_rules(RULES, source="user")),
        mode=mode,
        workspace=workspace,
        interactive=False,
        vouched=[Tail.spec] if vouched else [],
    )
    return Gate(rules=engine)


async def ends(agent: Agent) -> dict[str, str]:
    """The outcome of each call of a run, by the file it is about."""
    files: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    async with agent.run("Go.") as run:
        async for event in run.events:
            match event:
                case ToolCallReady():
                    files[event.call.id] = str(event.call.input["log"])
                case ToolCallEnd():
                    outcomes[files[event.result.tool_use_id]] = event.outcome
    return outcomes


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk"])
async def test_it_is_judged_by_the_rules_for_reading_and_by_those_that_name_it(
    mode: PermissionMode, tmp_path: Path
) -> None:
    calls = [tool_call("Tail", {"log": name}) for name in ("a.log", "secret.log", "big.log")]
    agent = Agent(
        ScriptedProvider([reply(*calls), reply(DONE)]), "m", tools=[Tail()], gate=gate(tmp_path, mode)
    )
    asked = "ran" if mode == "dontAsk" else "denied"
    assert await ends(agent) == {"a.log": "ran", "secret.log": "denied", "big.log": asked}


async def test_nobody_need_believe_it(tmp_path: Path) -> None:
    provider = ScriptedProvider([reply(tool_call("Tail", {"log": "a.log"})), reply(DONE)])
    agent = Agent(provider, "m", tools=[Tail()], gate=gate(tmp_path, vouched=False))
    assert await ends(agent) == {"a.log": "denied"}


async def test_a_person_sees_what_the_call_is_about() -> None:
    agent = Agent(
        ScriptedProvider([reply(tool_call("Tail", {"log": "a.log"})), reply(DONE)]), "m", tools=[Tail()]
    )
    notices = Notices(announce=True, tools=FixedTools([Tail()]))
    async with agent.run("Go.") as run:
        lines = [line async for event in run.events if (line := notices.event(event))]
    assert lines == ["[Tail a.log]\n"]


async def test_a_later_result_takes_the_place_of_an_earlier_one_when_room_is_short() -> None:
    def answer(request: CompletionRequest) -> Reply:
        assert request.tools, "the history was summarised"
        asked = sum(bool(message.tool_uses) for message in request.messages)
        return reply(tool_call("Tail", {"log": "a.log"})) if asked < 6 else reply(DONE)

    provider = ScriptedProvider(answer, capabilities=Capabilities(context_tokens=900))
    agent = Agent(provider, "m", tools=[Tail()], options=AgentOptions(max_turns=9))
    outcome = await agent.run_to_end("Go.")
    assert outcome.messages[-1].text == DONE
    texts = [text for message in outcome.messages for text in results(message)]
    assert set(texts[:-2]) >= {"[superseded: Tail(a.log)]"}
    assert texts[-1].startswith("the end of a.log\n")


def results(message: Message) -> list[str]:
    blocks = [block for block in message.content if isinstance(block, ToolResultBlock)]
    return ["".join(getattr(part, "text", "") for part in block.content) for block in blocks]
