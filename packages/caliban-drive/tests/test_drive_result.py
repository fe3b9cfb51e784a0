"""What a prompt amounts to: its sums, and an answer that fits its schema."""

from __future__ import annotations

import anyio
import pytest
from hang_guard import HANG_S
from hypothesis import given
from hypothesis import strategies as st

from caliban_agent_core import Agent, AgentOptions, RetryPolicy
from caliban_agent_core.errors import RunNotFinished
from caliban_agent_core.metered import MeteredProvider
from caliban_common.event import RunEnd, ToolCallEnd, ToolCallReady
from caliban_common.message import TextBlock, ToolResultBlock, ToolUseBlock, user
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_drive import BadSchema, PromptResult, RunTotals, SchemaMismatch, Session, SessionParts
from caliban_drive.structured import AnswerSchema, load_schema
from caliban_provider.errors import ServerError, StreamInterrupted
from caliban_provider.testing.scripted import ScriptedProvider, failure, reply, tool_call

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


ANY = AnswerSchema(data={"type": ["object", "array"]})
A = AnswerSchema(
    data={
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
)
LIST = AnswerSchema(data={"type": "array", "items": {"type": "object"}})


@pytest.mark.parametrize(
    ("schema", "reply_text", "value"),
    [
        pytest.param(A, '<think>let me see {"a": 9}</think>\n{"a": 1}', {"a": 1}, id="f207-thought"),
        pytest.param(A, 'it may be {"a": 9}\n</think>\n{"a": 1}', {"a": 1}, id="thought-that-nothing-opens"),
        pytest.param(A, '<think>never closed {"a": 9}', None, id="thought-that-nothing-closes"),
        pytest.param(A, '{"b": 1} no: {"a": 2}', {"a": 2}, id="f207-later-one-fits"),
        pytest.param(A, 'Draft: {"a": 9}. Final: {"a": 1}', {"a": 1}, id="last"),
        pytest.param(A, '```json\n{"a": 1}\n```\nunlike {"a": 2}', {"a": 1}, id="fenced"),
        pytest.param(A, '```\n{"a": 9}\n```\nor\n```json\n{"a": 1}\n```', {"a": 1}, id="last-fenced"),
        pytest.param(A, 'if (x) { return } and {"a": 1}', {"a": 1}, id="code-before"),
        pytest.param(A, 'see {"deep": {"a": 1}}', None, id="an-inner-object-is-no-answer"),
        pytest.param(LIST, 'Here: [{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}], id="f207-array-introduced"),
        pytest.param(LIST, '```json\n[{"a": 1}]\n```', [{"a": 1}], id="f207-array-fenced"),
        pytest.param(A, '{"a": 1} </think>', {"a": 1}, id="stray-tag"),
        pytest.param(
            ANY, '{"text": "<think>{}</think>"}', {"text": "<think>{}</think>"}, id="tags-in-a-string"
        ),
        pytest.param(
            ANY,
            'So: {"text": "<think>{}</think>"}',
            {"text": "<think>{}</think>"},
            id="tags-in-a-string-introduced",
        ),
        pytest.param(ANY, "nothing here", None, id="none"),
        pytest.param(ANY, "[" * 100_000, None, id="brackets"),
    ],
)
def test_the_answer_is_found_in_what_stands_around_it(schema, reply_text, value):
    if value is None:
        with pytest.raises(SchemaMismatch):
            schema.check(reply_text)
    else:
        assert schema.check(reply_text) == value


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
        with pytest.raises(BadSchema, match=f"^the answer's form.*{why}"):
            load_schema(text, name="the answer's form")


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


class Books:
    """A ledger and what it knows: as the command has it."""

    def __init__(self) -> None:
        self.models: dict[str, Usage] = {}
        self.open: dict[int, str] = {}

    async def before_call(self, *, model: str, **more: object) -> int:
        self.open[len(self.open)] = model
        return len(self.open) - 1

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> None:
        more = Usage(output_tokens=max(0, seen_output_tokens - usage.output_tokens))
        model = self.open[number]
        self.models[model] = self.models.get(model, Usage()) + usage + more

    def total_usd(self) -> float:
        return 0.0

    def by_model(self) -> tuple[tuple[str, Usage, float | None], ...]:
        return tuple((model, usage, None) for model, usage in self.models.items())

    def by_agent(self) -> tuple[tuple[str, Usage, float | None], ...]:
        return ()


SPENT = Usage(input_tokens=10, output_tokens=6)
WORDS = "some words in several pieces"
ENDS = {
    "answer": reply(WORDS, usage=SPENT),
    "call": reply(tool_call("Nothing"), usage=SPENT),
    "empty": reply(usage=SPENT),
    "cut": reply(WORDS, usage=SPENT, stop_reason="max_tokens"),
    "window": reply(WORDS, usage=SPENT, stop_reason="context_window"),
    "broken": reply(WORDS, usage=SPENT, error=StreamInterrupted("cut"), error_after=4),
    "refused": failure(ServerError("500")),
    "unbilled": reply(WORDS),
}


@given(
    st.lists(st.lists(st.sampled_from(sorted(ENDS)), max_size=6), min_size=1, max_size=3),
    st.integers(0, 30) | st.none(),
)
def test_all_sums_of_a_result_are_the_ledgers(prompts: list[list[str]], cut_after: int | None) -> None:
    script = [ENDS[name] for names in prompts for name in [*names, "answer"]]
    books, answers = Books(), iter([*script, *[ENDS["answer"]] * 40])
    provider = MeteredProvider(ScriptedProvider(lambda request: next(answers)), books)
    options = AgentOptions(retry=RetryPolicy(first_delay_s=0.0))
    session = Session(Agent(provider, "m", options=options), id="s", parts=SessionParts(costs=books))

    async def ask() -> PromptResult:
        async with session.submit(user("go")) as submission:
            number = 0
            async for _ in submission.events:
                number += 1
                if number == cut_after:
                    submission.interrupt()
        return submission.result

    async def ask_all() -> list[PromptResult]:
        return [await ask() for _ in prompts]

    results = anyio.run(ask_all)
    for result in results:
        assert result.usage == sum((usage for _, usage, _ in result.model_usage), Usage())
    assert sum((result.usage for result in results), Usage()) == sum(books.models.values(), Usage())
