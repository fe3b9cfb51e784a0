from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
import pytest
from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st

import caliban_common.message as made
from caliban_agent_core.compact.cuts import is_request
from caliban_agent_core.compact.summarize import INSTRUCTIONS, PREFIX, Summarizer
from caliban_agent_core.compact.transcript import middle_out, transcript
from caliban_agent_core.errors import CompactionFailed
from caliban_common.estimate import tokens
from caliban_common.history import TargetModel, repair
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.usage import Usage
from caliban_provider.errors import ContextTooLong, RateLimited
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply, thinking

pytestmark = pytest.mark.anyio

ID = "m"
"""One id for all messages here: what is compared is what they say."""

user = partial(made.user, id=ID)
system = partial(made.system, id=ID)
assistant = partial(made.assistant, id=ID)

LONG = "x" * 2000
SUMMARY = system(f"{PREFIX}\nThe user wants STEP-9.")


def turn(number: int, text: str = LONG) -> tuple[Message, Message]:
    """One call and its result."""
    call = ToolUseBlock(id=f"t{number}", name="Read", input={"path": f"/{number}"})
    result = ToolResultBlock(tool_use_id=f"t{number}", content=(TextBlock(text=text),))
    return Message(role="assistant", content=(call,), id=ID), Message(role="user", content=(result,), id=ID)


def turns(*numbers: int) -> tuple[Message, ...]:
    """Some calls with their results."""
    return tuple(message for number in numbers for message in turn(number))


async def compact(
    history: Sequence[Message], provider: ScriptedProvider, *, target_tokens: int = 100_000
) -> tuple[Message, ...]:
    return await Summarizer(new_id=lambda: ID).compact(
        tuple(history), model="m", provider=provider, target_tokens=target_tokens
    )


def summary(text: str = "The user wants STEP-9.") -> ScriptedProvider:
    return ScriptedProvider(lambda request: reply(text))


async def test_older_turns_become_a_summary_and_the_last_four_stay_word_for_word() -> None:
    talk = [message for n in range(9) for message in (user(f"ask {n}"), assistant(LONG))]
    history = (system("be good"), *talk)
    assert await compact(history, summary()) == (history[0], SUMMARY, *history[-8:])


async def test_the_request_at_work_stays_word_for_word_b139() -> None:
    history = (system("RULE-77"), user("old"), assistant(LONG), user("do STEP-9"), *turns(*range(10)))
    after = await compact(history, summary())
    assert after == (history[0], SUMMARY, user("do STEP-9"), *turns(6, 7, 8, 9))


async def test_a_new_request_right_before_compaction_stays_too_b139() -> None:
    history = (user("old"), *turns(*range(10)), assistant("done"), user("do STEP-9"))
    after = await compact(history, summary())
    assert after == (SUMMARY, user("old"), *history[-8:])
    assert after[-1] == user("do STEP-9")


async def test_the_model_is_asked_for_the_summary_in_one_plain_call() -> None:
    provider = summary()
    history = (system("be good"), user("go"), *turns(*range(9)))
    await compact(history, provider)
    (request,) = provider.requests
    assert (request.model, request.max_tokens, request.tools, request.temperature) == ("m", 1024, (), None)
    assert (request.messages[0].role, request.messages[0].text) == ("system", INSTRUCTIONS)
    assert request.messages[1].role == "user"
    assert request.messages[1].text.startswith(
        'Assistant:\n[calls Read with {"path":"/0"}]\n\nUser:\n[result: xxx'
    )
    assert len(request.messages) == 2


async def test_an_earlier_summary_is_read_into_the_new_one() -> None:
    provider = summary()
    first = system(f"{PREFIX}\nEarlier: MARK-1.")
    history = (system("be good"), first, user("go"), *turns(*range(9)))
    after = await compact(history, provider)
    assert after == (history[0], SUMMARY, user("go"), *turns(5, 6, 7, 8))
    assert "MARK-1" in provider.requests[0].messages[1].text


async def test_fewer_turns_stay_when_four_would_not_fit() -> None:
    history = (user("go"), *turns(*range(10)))
    after = await compact(history, summary(), target_tokens=1024 + 1200)
    assert after == (SUMMARY, user("go"), *turns(8, 9))


async def test_what_still_does_not_fit_is_dropped_but_for_the_last_turn() -> None:
    huge = turn(99, "y" * 100_000)
    history = (user("go"), *turns(*range(4)), *huge)
    after = await compact(history, summary(), target_tokens=2000)
    assert after == (SUMMARY, user("go"), *huge)


async def test_a_cut_that_was_moved_back_to_a_request_still_fits() -> None:
    history = (
        user("old"),
        *turns(1, 2, 3),
        user("go"),
        *turn(4, "y" * 9000),
        *turn(5, "z" * 9000),
        *turns(6),
    )
    after = await compact(history, summary(), target_tokens=4000)
    assert after == (SUMMARY, user("go"), *turn(5, "z" * 9000), *turns(6))


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_summary_is_a_failure_b086(text: str) -> None:
    provider = ScriptedProvider([reply(thinking("hm"), text)])
    with pytest.raises(CompactionFailed, match="empty"):
        await compact((user("go"), *turns(*range(9))), provider)


async def test_a_refused_summary_is_a_failure() -> None:
    provider = ScriptedProvider([reply("I would rather not", stop_reason="refusal")])
    with pytest.raises(CompactionFailed, match="declined"):
        await compact((user("go"), *turns(*range(9))), provider)


@pytest.mark.parametrize(
    "broken",
    [
        failure(RateLimited("slow down", hint="wait")),
        reply("half", error=RateLimited("slow down"), error_after=2),
    ],
)
async def test_a_failing_provider_is_a_failure_of_the_compaction(broken: Reply) -> None:
    with pytest.raises(CompactionFailed, match="could not summarise: slow down") as caught:
        await compact((user("go"), *turns(*range(9))), ScriptedProvider([broken]))
    assert isinstance(caught.value.__cause__, RateLimited)


async def test_a_summary_that_is_no_shorter_is_a_failure() -> None:
    history = (user("go"), *(message for n in range(9) for message in turn(n, "ok")))
    with pytest.raises(CompactionFailed, match="no shorter"):
        await compact(history, summary("long " * 1000))


@pytest.mark.parametrize(
    "history",
    [(), (system("be good"),), (user("go"),), (user("go"), *turns(1, 2)), (user("go"), *turns(1, 2, 3, 4))],
)
async def test_with_nothing_old_enough_no_model_is_asked_b142(history: tuple[Message, ...]) -> None:
    provider = ScriptedProvider()
    with pytest.raises(CompactionFailed, match="nothing old enough"):
        await compact(history, provider)
    assert provider.requests == []


async def test_the_cost_is_told_even_when_the_summary_is_not_usable() -> None:
    spent: list[Usage] = []
    costs = [Usage(output_tokens=3), Usage(output_tokens=4)]
    provider = ScriptedProvider([reply("ok", usage=costs[0]), reply("", usage=costs[1])])
    history = (user("go"), *turns(*range(9)))
    for _ in range(2):
        try:
            await Summarizer().compact(
                history, model="m", provider=provider, target_tokens=100_000, spent=spent.append
            )
        except CompactionFailed:
            pass
    assert spent == costs


async def test_cancelling_leaves_nothing_behind() -> None:
    reached, never = anyio.Event(), anyio.Event()
    provider = ScriptedProvider([reply("ok", wait=never, reached=reached)])
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            group.start_soon(compact, (user("go"), *turns(*range(9))), provider)
            await reached.wait()
            group.cancel_scope.cancel()


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    history = [system("be good"), system(f"{PREFIX}\nold")][: draw(st.integers(0, 2))]
    number = 0
    for _ in range(draw(st.integers(0, 4))):
        history.append(user(draw(st.sampled_from(["do this", "w" * 900]))))
        for _ in range(draw(st.integers(0, 6))):
            number += 1
            history += turn(number, draw(st.sampled_from(["ok", LONG, LONG * 5])))
        history += [assistant("done")] if draw(st.booleans()) else []
    return tuple(history)


@settings(max_examples=examples(60))
@given(histories(), st.integers(1, 20_000))
def test_a_compacted_history_is_valid_shorter_and_knows_its_request(
    history: tuple[Message, ...], target_tokens: int
) -> None:
    try:
        after = anyio.run(lambda: compact(history, summary(), target_tokens=target_tokens))
    except CompactionFailed:
        return
    reader = TargetModel(family="f", model="m")
    assert repair(after, reader) is after
    assert tokens(after) < tokens(history)
    assert [m.text.startswith(PREFIX) for m in after].count(True) == 1
    assert [m for m in after if is_request(m)][-1:] == [m for m in history if is_request(m)][-1:]
    assert after[-1] is history[-1]


def test_a_transcript_is_plain_text_without_thoughts_and_images() -> None:
    seen = ToolResultBlock(
        tool_use_id="1",
        content=(TextBlock(text="a"), ImageBlock.of(media_type="image/png", data="AA")),
        is_error=True,
    )
    history = (
        user("hello"),
        Message(
            role="assistant",
            content=(
                ThinkingBlock(text="hm"),
                TextBlock(text="hi"),
                ToolUseBlock(id="1", name="Read", input={}, raw_input="{bad"),
            ),
        ),
        Message(
            role="user",
            content=(seen, DocumentBlock(source=Base64Source(media_type="application/pdf", data="AA"))),
        ),
        Message(role="assistant", content=(ThinkingBlock(text="hm"),)),
    )
    assert transcript(history, max_chars=1000) == (
        "User:\nhello\n\nAssistant:\nhi\n[calls Read with {bad]\n\n"
        "User:\n[error: a\n[image]]\n[document application/pdf]"
    )


def test_arguments_that_cannot_be_written_are_told_as_such() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    call = ToolUseBlock(id="1", name="Read", input={"x": deep})
    text = transcript((Message(role="assistant", content=(call,)),), max_chars=1000)
    assert text == "Assistant:\n[calls Read with arguments nested too deeply to show]"


@given(st.text(max_size=400), st.integers(100, 300))
def test_a_shortened_text_keeps_its_bound_its_beginning_and_its_end(text: str, max_chars: int) -> None:
    short = middle_out(text, max_chars)
    assert len(short) <= max_chars
    assert (short == text) is (len(text) <= max_chars)
    assert (short[:10], short[-10:]) == (text[:10], text[-10:])


@pytest.mark.parametrize("stop_reason", ["max_tokens", "context_window"])
async def test_a_summary_that_was_cut_is_none(stop_reason: str) -> None:
    cut = reply("SUMMARY half of a sen", stop_reason=stop_reason)  # type: ignore[arg-type]
    provider = ScriptedProvider([cut, cut])
    with pytest.raises(CompactionFailed, match="cut off"):
        await compact((user("go"), *turns(*range(9))), provider)
    assert [request.max_tokens for request in provider.requests] == [1024, 4096]
    again = ScriptedProvider([cut, reply("The user wants STEP-9.")])
    assert SUMMARY in await compact((user("go"), *turns(*range(9))), again)


@pytest.mark.parametrize("stop_reason", ["other", "pause_turn", "malformed_call"])
async def test_a_summary_that_ended_for_another_reason_than_its_end_is_none(stop_reason: str) -> None:
    provider = ScriptedProvider([reply("SUMMARY half of a sen", stop_reason=stop_reason)])  # type: ignore[arg-type]
    with pytest.raises(CompactionFailed, match=r"not known|called a tool"):
        await compact((user("go"), *turns(*range(9))), provider)


async def test_a_record_that_is_too_long_is_read_in_pieces_that_fit() -> None:
    def answer(request: CompletionRequest) -> Reply:
        text = request.messages[-1].text
        return failure(ContextTooLong("too long")) if len(text) > 9000 else reply(f"has {len(text)}")

    provider = ScriptedProvider(answer)
    after = await compact((user("go"), *turns(*range(30))), provider, target_tokens=20_000)
    assert after[0].text.startswith(f"{PREFIX}\nhas ")
    sent = [request.messages[-1].text for request in provider.requests]
    assert max(map(len, sent[-2:])) <= 9000
    assert "Your summary of the record so far:" in sent[-1]
