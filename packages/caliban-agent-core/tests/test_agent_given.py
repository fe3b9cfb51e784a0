"""What a newcomer hands over by mistake is named where it was handed over, and nothing waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban_agent_core import Agent, AgentOptions, ApprovalRequest, Decision, ToolDefinitionError, tool, user
from caliban_common.message import assistant
from caliban_provider.testing.scripted import ScriptedProvider, reply

pytestmark = pytest.mark.anyio


@tool
async def look() -> str:
    """Look."""
    return "seen"


class Desk:
    async def approve(self, request: ApprovalRequest) -> Decision:
        return Decision(action="allow")


def make_agent(**given: Any) -> Agent:
    return Agent(ScriptedProvider([reply("Yes.")]), "m", **given)


async def test_events_of_a_run_that_was_not_entered_say_so_and_can_be_read_once_it_is() -> None:
    run = make_agent().run("x")
    with anyio.fail_after(5), pytest.raises(RuntimeError, match=r"async with agent\.run"):
        async for _ in run.events:
            pass
    async with run:
        kinds = [event.type async for event in run.events]
    assert kinds[-1] == "run_end" and run.outcome.text == "Yes."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gate": Desk()}, r"gate takes Gate, not Desk: .*Gate\(approver="),
        ({"options": {"max_turns": 3}}, r"options takes AgentOptions, not dict: AgentOptions\(max_turns"),
        ({"system": ["be brief"]}, r"system takes Message, not list: a text"),
    ],
    ids=["gate", "options", "system"],
)
async def test_an_argument_of_another_type_is_refused_where_the_agent_is_made(given: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make_agent(**given)


@pytest.mark.parametrize("tools", [look, None, {"look": look}], ids=["one", "none", "table"])
async def test_what_is_no_sequence_of_tools_is_refused_with_the_way_to_give_one(tools: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="is no sequence of tools") as refused:
        make_agent(tools=tools)
    assert "tools=[one]" in str(refused.value)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"description": None}, "its description is no text"),
        ({"input_schema": None}, "its input_schema is no JSON Schema"),
        (
            {"input_schema": {"properties": {"at": {"default": object()}}}},
            "properties.at.default holds a object",
        ),
        ({"input_schema": {"enum": [1, b"x"]}}, "its input_schema.enum.1 holds a bytes"),
    ],
)
async def test_a_tool_that_no_request_can_hold_is_refused_where_the_agent_is_made(
    facts: dict[str, Any], said: str
) -> None:
    tool = copy(look)
    tool.spec = replace(look.spec, **facts)
    with pytest.raises(ToolDefinitionError, match="the tool 'look' cannot be told to a model: ") as refused:
        make_agent(tools=[tool])
    assert said in refused.value.message


async def test_a_schema_that_holds_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"x": schema}
    tool = copy(look)
    tool.spec = replace(look.spec, input_schema=schema)
    with pytest.raises(ToolDefinitionError, match="is nested too deeply"):
        make_agent(tools=[tool])


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (None, "not NoneType"),
        (b"hi", "not bytes"),
        ({"role": "user"}, "not dict"),
        ([user("hi"), "and?"], r"message 1 of the history is str .*user\(text\)"),
        ([{"role": "user", "content": "hi"}], "message 0 of the history is dict .*message_from_json"),
    ],
    ids=["none", "bytes", "table", "texts", "plain"],
)
async def test_a_history_of_anything_but_messages_is_refused_before_a_request(
    history: Any, said: str
) -> None:
    agent = make_agent()
    for start in (agent.run, agent.resume):
        with pytest.raises(TypeError, match=said):
            start(history)
    with pytest.raises(TypeError, match=said):
        await agent.compact(history)
    assert (await agent.run_to_end("x")).text == "Yes."  # the one reply of the script is still there


class Opaque:
    """Nothing that pydantic knows."""


@pytest.mark.parametrize("kind", [5, Opaque, Callable[[], int]], ids=["value", "class", "no_schema"])
async def test_a_type_that_no_answer_can_have_is_refused_before_a_request(kind: Any) -> None:
    agent = make_agent()
    with pytest.raises(TypeError, match="output_type takes what pydantic can validate and describe, not "):
        agent.run("x", output_type=kind)
    assert (await agent.run_to_end("x")).text == "Yes."


async def test_a_summary_that_is_asked_for_needs_no_reader_of_its_events() -> None:
    history = [say(f"{number} {'word ' * 300}") for number in range(12) for say in (user, assistant)]
    agent = Agent(ScriptedProvider([reply("All of it.")]), "m", options=AgentOptions(event_buffer=1))
    with anyio.fail_after(HANG_S):
        compacted = await agent.compact(history)
    assert (compacted.is_done, [event.type for event in compacted.events]) == (
        True,
        ["warned", "history_replaced"],
    )
