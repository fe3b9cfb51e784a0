"""What a newcomer hands over by mistake is named where it was handed over, and nothing waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban_agent_core import (
    Agent,
    AgentOptions,
    ApprovalRequest,
    Decision,
    Gate,
    ToolDefinitionError,
    tool,
    user,
)
from caliban_common.message import assistant
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


@tool
async def look() -> str:
    """Look."""
    return "seen"


class Desk:
    async def approve(self, request: ApprovalRequest) -> Decision:
        return Decision(action="allow")


def make_agent(**given: Any) -> Agent:
    return Agent(**{"provider": ScriptedProvider([reply("Yes.")]), "model": "m", **given})


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
        (
            {"provider": "anthropic"},
            r"provider takes an object with stream\(\), not str: connect",
        ),
        ({"provider": ScriptedProvider}, r"not the class ScriptedProvider: connect"),
        ({"model": None}, r"model takes str, not NoneType"),
        ({"hooks": [print]}, r"hooks takes an object with fire\(\), not list"),
        ({"compactor": print}, r"compactor takes an object with compact\(\), not builtin_function_or_method"),
    ],
    ids=["gate", "options", "system", "name", "class", "model", "hooks", "compactor"],
)
async def test_an_argument_of_another_type_is_refused_where_the_agent_is_made(given: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make_agent(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rules": lambda tool, args: True}, r"rules takes an object with decide\(\), not function"),
        ({"approver": lambda request: True}, r"approver takes an object with approve\(\), not function"),
        ({"approver": Desk}, r"approver takes an object with approve\(\), not the class Desk"),
        ({"log": []}, r"log takes an object with record\(\), not list"),
    ],
)
def test_a_gate_of_anything_that_does_not_judge_is_refused_where_it_is_made(given: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Gate(**given)


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"max_turns": "5"}, TypeError, "max_turns takes a whole number, not '5'"),
        ({"max_turns": True}, TypeError, "max_turns takes a whole number, not True"),
        ({"max_turns": None}, TypeError, "max_turns takes a whole number, not None"),
        ({"max_turns": -1}, ValueError, "max_turns takes a number at least 0, not -1"),
        ({"max_tokens": 0}, ValueError, "max_tokens takes a number at least 1, not 0"),
        ({"event_buffer": -1}, ValueError, "event_buffer takes a number at least 0, not -1"),
        ({"temperature": float("nan")}, ValueError, "temperature takes a number from 0 to 2, not nan"),
        ({"auto_compact_threshold": 75}, ValueError, "from 0 to 1, not 75"),
        ({"effort": "huge"}, ValueError, "effort takes one of low, medium, high, xhigh, max, not 'huge'"),
        ({"retry": 3}, TypeError, "retry takes RetryPolicy, not int"),
        ({"session_id": 5}, TypeError, "session_id takes str, not int"),
        ({"masker": str}, TypeError, "masker takes Masker, not type"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(
    given: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        AgentOptions(**given)


def test_every_option_with_a_bound_takes_what_it_says() -> None:
    none = (
        "max_tokens",
        "thinking_tokens",
        "server_result_cap_chars",
        "temperature",
        "auto_compact_threshold",
    )
    least = AgentOptions(max_turns=0, event_buffer=0, temperature=2, auto_compact_threshold=0.0)
    given = AgentOptions(**dict.fromkeys(none), timing=least.timing)
    assert given == AgentOptions(auto_compact_threshold=None, timing=least.timing)


async def test_a_session_by_another_type_is_refused_before_a_request() -> None:
    with pytest.raises(TypeError, match="session_id takes str, not int"):
        make_agent().run("x", session_id=5)  # type: ignore[call-overload]


async def test_an_approver_that_answers_at_once_need_not_be_async() -> None:
    class AtOnce:
        def approve(self, request: ApprovalRequest) -> Decision:
            return Decision(action="allow")

    provider = ScriptedProvider([reply(tool_call("look")), reply("Done.")])
    gate = Gate(approver=AtOnce())  # type: ignore[arg-type]
    end = await Agent(provider, "m", tools=[look], gate=gate).run_to_end("x")
    results = [result for message in end.messages for result in message.tool_results]
    assert [block.text for result in results for block in result.content] == ["seen"]


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


@pytest.mark.parametrize(
    "kind", [5, Opaque, Callable[[], int], "Nowhere"], ids=["value", "class", "no_schema", "name"]
)
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


async def test_an_answer_that_is_none_is_a_denial_that_says_so() -> None:
    class Vague:
        async def approve(self, request: ApprovalRequest) -> Decision:
            return Decision(action="perhaps")  # type: ignore[arg-type]

    provider = ScriptedProvider([reply(tool_call("look")), reply("Done.")])
    end = await Agent(provider, "m", tools=[look], gate=Gate(approver=Vague())).run_to_end("x")
    results = [result for message in end.messages for result in message.tool_results]
    texts = "".join(block.text for result in results for block in result.content)
    assert "the approver failed: TypeError: it answered 'perhaps', which is none of allow, ask, deny" in texts
