"""What a prompt amounts to: its sums, and an answer that fits its schema."""

from __future__ import annotations

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core import Agent
from caliban_agent_core.errors import RunNotFinished
from caliban_common.event import RunEnd, ToolCallEnd, ToolCallReady
from caliban_common.message import TextBlock, ToolResultBlock, ToolUseBlock, user
from caliban_common.stop import Stop
from caliban_drive import BadSchema, PromptResult, RunTotals, SchemaMismatch, Session
from caliban_drive.structured import AnswerSchema, extract, load_schema
from caliban_provider.testing.scripted import ScriptedProvider, reply

COLOUR = AnswerSchema(
    data={"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
)


def session_of(*replies) -> Session:
    return Session(Agent(ScriptedProvider(replies), "m"), id="s")


async def answer(session: Session, schema: AnswerSchema | None = None, **more) -> tuple[PromptResult, list]:
    events = []
    with anyio.fail_after(HANG_S):
        async with session.submit(user("which?"), schema=schema, **more) as submission:
            async for event in submission.events:
                events.append(event)
    return submission.result, events


def test_calls_of_one_id_are_counted_each():
    totals = RunTotals(model="m")
    for number in range(3):
        call = ToolUseBlock(id="same", name="Bash", input={"n": number})
        totals.add(ToolCallReady(turn=number, call=call))
        result = ToolResultBlock(tool_use_id="same", content=(TextBlock(text="no"),), is_error=True)
        totals.add(ToolCallEnd(turn=number, name="Bash", result=result, outcome="denied", reason="no"))
    result = totals.result(Stop(kind="max_turns"))
    assert result.tool_calls_seen == 3
    assert [denial["tool_input"] for denial in result.denials] == [{"n": 0}, {"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("reply_text", "value"),
    [
        ("[1, 2]", [1, 2]),
        ("}{", None),
        ('x {"a": {"b": 1}} y', {"a": {"b": 1}}),
        ('{"a": 1', None),
        ("", None),
    ],
)
def test_the_first_object_is_found(reply_text, value):
    if value is None:
        with pytest.raises(SchemaMismatch):
            extract(reply_text)
    else:
        assert extract(reply_text) == value


def test_h25_a_type_list_takes_each_of_its_types():
    schema = load_schema('{"type":"object","properties":{"x":{"type":["string","null"]}}}')
    assert schema.check('{"x":"hi"}') == {"x": "hi"}
    assert schema.check('{"x":null}') == {"x": None}
    with pytest.raises(SchemaMismatch, match="`x`"):
        schema.check('{"x":5}')


def test_what_is_no_schema_is_refused_with_the_reason():
    for text, why in (
        ("{", "is not JSON"),
        ('{"type": "nonsense"}', "is not a JSON Schema"),
        ("/nowhere", ""),
    ):
        with pytest.raises(BadSchema, match=f"--json-schema.*{why}"):
            load_schema(text)


@pytest.mark.anyio
async def test_an_answer_that_fits_is_the_value_of_the_result():
    result, _ = await answer(session_of(reply('It is {"colour": "red"}.')), COLOUR)
    assert (result.subtype, result.has_structured, result.structured) == ("success", True, {"colour": "red"})


@pytest.mark.anyio
async def test_an_answer_that_does_not_fit_is_asked_for_again_in_the_same_prompt():
    session = session_of(reply("{}"), reply('{"colour": "blue"}'))
    result, events = await answer(session, COLOUR)
    assert (result.structured, result.turns) == ({"colour": "blue"}, 2)
    assert [type(event) for event in events].count(RunEnd) == 2
    assert [m.role for m in session.messages] == ["user", "assistant", "user", "assistant"]
    assert "cannot be used" in session.messages[2].text


@pytest.mark.anyio
async def test_an_answer_that_never_fits_is_an_error_that_says_where():
    result, events = await answer(session_of(reply("{}"), reply("{}"), reply("{}")), COLOUR)
    assert (result.subtype, result.stop.kind, result.has_structured) == ("error", "schema_mismatch", False)
    assert "does not fit the schema" in result.error
    assert [type(event) for event in events].count(RunEnd) == 3


@pytest.mark.anyio
async def test_a_prompt_that_was_interrupted_is_not_asked_for_again():
    session = session_of(reply("{}"), reply('{"colour": "blue"}'))
    session.interrupt(waiting=True)
    result, _ = await answer(session, COLOUR)
    assert (result.subtype, result.has_structured) == ("cancelled", False)
    result, _ = await answer(session)
    assert result.subtype == "success"


@pytest.mark.anyio
async def test_one_result_answers_several_prompts_whose_totals_go_on():
    session = session_of(reply("one"), reply("two"))
    totals = session.totals()
    first, _ = await answer(session, totals=totals)
    second, _ = await answer(session, totals=totals)
    assert (first.turns, second.turns, second.text) == (1, 2, "two")
    assert second.usage == first.usage + first.usage


@pytest.mark.anyio
async def test_there_is_no_result_before_the_end():
    async with session_of(reply("x")).submit(user("hi")) as submission:
        with pytest.raises(RunNotFinished):
            assert submission.result
    assert submission.result.subtype == "cancelled"
