"""Replies that are no answer, models that turn in circles, limits that hold."""

from __future__ import annotations

import pytest
from loop_kit import DONE, QUICK, Stub, of, play, user_texts

from caliban_agent_core import Agent, AgentOptions
from caliban_common.event import HistoryReplaced, ReplyDiscarded, ToolCallEnd, Warned
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    assistant,
    user,
)
from caliban_common.remedy import Remedy
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import ContextTooLong, InvalidRequest
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply, thinking, tool_call

pytestmark = pytest.mark.anyio

SOME = Usage(input_tokens=5, output_tokens=2)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        pytest.param(reply(usage=SOME), "the model wrote nothing", id="f205-empty"),
        pytest.param(reply(), "the model wrote nothing", id="f205-empty-unbilled"),
        pytest.param(reply(" \n", usage=SOME), "the model wrote nothing", id="f205-whitespace"),
        pytest.param(reply(thinking("hm"), usage=SOME), "the model wrote nothing", id="f204-thoughts"),
        pytest.param(
            reply(stop_reason="tool_use", usage=SOME),
            "the model announced a tool call and made none",
            id="f205-no-call",
        ),
        pytest.param(
            reply("I look.", stop_reason="tool_use", usage=SOME),
            "the model announced a tool call and made none",
            id="f205-words-and-no-call",
        ),
    ],
)
async def test_a_run_that_ends_without_an_answer_is_an_error(last: Reply, words: str) -> None:
    provider = ScriptedProvider([reply("I look.", tool_call("Look")), *[last] * 3])
    _, outcome = await play(Agent(provider, "m", tools=[Stub("Look", kind="read")]))
    assert (outcome.stop.kind, outcome.stop.message) == ("provider_error", words)


async def test_a_reply_that_filled_the_window_of_a_fresh_conversation_is_cut() -> None:
    provider = ScriptedProvider([reply("Half of the answ", stop_reason="context_window")])
    _, outcome = await play(Agent(provider, "m"))
    assert outcome.stop.kind == "max_tokens"
    assert "window is full" in outcome.stop.message
    assert outcome.text == "Half of the answ"


async def test_calls_of_a_reply_that_filled_the_window_are_not_run() -> None:
    look = Stub("Look")
    provider = ScriptedProvider([reply(tool_call("Look"), stop_reason="context_window")])
    _, outcome = await play(Agent(provider, "m", tools=[look]))
    assert (outcome.stop.kind, look.calls) == ("max_tokens", [])
    assert [block.is_error for block in outcome.messages[-1].tool_results] == [True]


def long_talk() -> list[Message]:
    turns = [message for n in range(9) for message in (user(f"ask {n} " + "x" * 400), assistant("y" * 400))]
    return [*turns, user("go")]


async def test_a_reply_that_filled_the_window_is_taken_back_where_the_history_can_be_shortened() -> None:
    provider = ScriptedProvider([reply("Half", stop_reason="context_window"), reply("summary"), reply(DONE)])
    events = []
    async with Agent(provider, "m").run(long_talk()) as run:
        async for event in run.events:
            events.append(event)
    assert [type(e) for e in events if isinstance(e, HistoryReplaced | ReplyDiscarded)] == [
        HistoryReplaced,
        ReplyDiscarded,
    ]
    assert (run.outcome.stop.kind, run.outcome.text) == ("end_of_turn", DONE)
    assert "Half" not in [message.text for message in run.outcome.messages]


async def test_an_explicit_limit_is_never_exceeded() -> None:
    provider = ScriptedProvider(lambda request: reply("half", stop_reason="max_tokens"))
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(max_tokens=77)))
    assert outcome.stop.kind == "max_tokens"
    assert [request.max_tokens for request in provider.requests] == [77] * 4


class Failing:
    """A tool that never works."""

    spec = ToolSpec(name="Read", description="reads", kind="read", input_schema={"type": "object"})

    def conflict_key(self, args: object) -> str | None:
        return None

    async def invoke(self, args: object, context: ToolContext) -> ToolOutput:
        return ToolOutput.of("no such file", is_error=True)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((("Read", {"path": "x"}),), id="alone"),
        pytest.param((("Read", {"path": "x"}), ("Read", {"path": "x"})), id="twice-in-one-reply"),
        pytest.param((("Read", {"path": "x"}), ("Look", {})), id="beside-one-that-works"),
        pytest.param((("Read", {"path": "x"}), ("Read", {"path": "y"})), id="two-in-turn"),
    ],
)
async def test_a_model_that_repeats_a_failing_call_is_told_and_then_stopped(
    calls: tuple[tuple[str, dict[str, str]], ...],
) -> None:
    made = reply(*(tool_call(name, args) for name, args in calls))
    provider = ScriptedProvider(lambda request: made)
    tools = [Failing(), Stub("Look", kind="read")]
    _, outcome = await play(Agent(provider, "m", tools=tools))
    assert (outcome.stop.kind, len(provider.requests)) == ("doom_loop", 6)
    nudges = [text for text in user_texts(outcome.messages) if text.startswith("The same call has failed")]
    assert len(nudges) == 1


async def test_a_failing_call_after_something_changed_is_no_repetition() -> None:
    check, edit = reply(tool_call("Read", {"path": "x"})), reply(tool_call("Edit"))
    provider = ScriptedProvider([*[check, check, edit] * 4, reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=[Failing(), Stub("Edit", kind="edit")]))
    assert outcome.stop.ok
    assert user_texts(outcome.messages) == ["go"]


async def test_calls_beyond_the_most_of_a_reply_are_answered_and_not_run() -> None:
    look = Stub("Look")
    provider = ScriptedProvider([reply(*(tool_call("Look") for _ in range(5))), reply(DONE)])
    agent = Agent(provider, "m", tools=[look], options=AgentOptions(max_calls_per_reply=3))
    events, outcome = await play(agent)
    assert len(look.calls) == 3
    assert sorted(e.outcome for e in of(events, ToolCallEnd)) == ["invalid", "invalid", "ran", "ran", "ran"]
    assert outcome.stop.ok


async def test_a_call_that_does_not_fit_its_schema_is_invalid() -> None:
    from caliban_agent_core import tool

    @tool
    async def add(a: int) -> int:
        """Add."""
        return a

    provider = ScriptedProvider([reply(tool_call("add", {"a": "x"})), reply(DONE)])
    events, _ = await play(Agent(provider, "m", tools=[add]))
    (end,) = of(events, ToolCallEnd)
    assert end.outcome == "invalid"
    assert end.result.content[0].text.startswith("Error: invalid input: add: a: ")


async def test_no_edit_is_missed_where_no_tool_can_edit() -> None:
    looks = [reply(tool_call("Look", {"n": str(n)})) for n in range(5)]
    options = AgentOptions(no_edit_nudge_turns=2)
    provider = ScriptedProvider([*looks, reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=[Stub("Look")], options=options))
    assert user_texts(outcome.messages) == ["go"]
    assert AgentOptions().no_edit_nudge_turns == 0


BROKEN = Message(
    role="user",
    content=(
        ToolResultBlock(tool_use_id="t", content=(ImageBlock.of(media_type="image/png", data="AA=="),)),
    ),
)


async def test_an_image_that_the_provider_refuses_gives_way_to_words() -> None:
    refusal = failure(InvalidRequest("messages.2: Could not process image"))
    provider = ScriptedProvider([reply(tool_call("Look", id="t")), refusal, reply(DONE)])

    class Look(Stub):
        async def invoke(self, args: object, context: ToolContext) -> ToolOutput:
            return ToolOutput(content=(ImageBlock.of(media_type="image/png", data="AA=="),))

    events, outcome = await play(Agent(provider, "m", tools=[Look("Look")]))
    assert outcome.stop.ok
    assert [e.subtype for e in of(events, Warned)] == ["image_refused"]
    (part,) = outcome.messages[2].tool_results[0].content
    assert isinstance(part, TextBlock)
    assert "Could not process image" in part.text
    assert provider.requests[-1].messages[2] == outcome.messages[2]


async def test_a_document_that_the_provider_refuses_gives_way_to_words() -> None:
    paper = DocumentBlock(source=Base64Source(media_type="application/pdf", data="AA=="))
    provider = ScriptedProvider([failure(InvalidRequest("The PDF specified was not valid")), reply(DONE)])
    prompt = Message(role="user", content=(TextBlock(text="read"), paper))
    events, outcome = await play(Agent(provider, "m"), prompt)
    assert outcome.stop.ok
    assert [e.subtype for e in of(events, Warned)] == ["image_refused"]
    assert "a document was left out" in provider.requests[-1].messages[0].text


class Blind(ScriptedProvider):
    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(vision=False, documents=False)


SHOWN = Message(
    role="user",
    content=(TextBlock(text="look"), ImageBlock.of(media_type="image/png", data="AA==")),
)


async def test_a_prompt_that_the_model_cannot_see_is_refused_before_anything_is_sent() -> None:
    provider = Blind([])
    _, outcome = await play(Agent(provider, "m"), SHOWN)
    assert outcome.stop.message == "m cannot see images, and the prompt comes with one: nothing was sent"
    assert outcome.stop.remedy == Remedy(kind="seeing_model", name="m")
    assert provider.requests == []


async def test_what_is_older_or_comes_from_a_tool_becomes_words_and_is_told_once() -> None:
    provider = Blind([reply(DONE), reply(tool_call("Look", id="t")), reply(DONE)])

    class Look(Stub):
        async def invoke(self, args: object, context: ToolContext) -> ToolOutput:
            return ToolOutput(content=(ImageBlock.of(media_type="image/png", data="AAAA"),))

    agent = Agent(provider, "m", tools=[Look("Look")])
    events, outcome = await play(agent, (SHOWN, user("and?")))
    more, _ = await play(agent, (*outcome.messages, user("go on")))
    assert [e.subtype for e in of((*events, *more), Warned)] == ["media_unseen"]
    words = "[an image of type image/png, 3 bytes: this model cannot see it]"
    assert words in provider.requests[0].messages[0].text
    last = provider.requests[-1].messages
    assert [part.text for message in last for block in message.tool_results for part in block.content] == [
        words
    ]
    assert SHOWN in outcome.messages  # the history keeps what it had, for a model that sees


async def test_words_stand_for_a_prompt_where_that_is_wanted() -> None:
    provider = Blind([reply(DONE)])
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(strict_media=False)), SHOWN)
    assert outcome.stop.ok
    assert "this model cannot see it" in provider.requests[0].messages[0].text


async def test_a_refusal_that_names_an_image_where_there_is_none_ends_the_run() -> None:
    provider = ScriptedProvider([failure(InvalidRequest("no image model"))])
    _, outcome = await play(Agent(provider, "m"))
    assert (outcome.stop.kind, len(provider.requests)) == ("provider_error", 1)


async def test_the_window_that_a_refusal_states_holds_for_the_agent_from_then_on() -> None:
    words = "prompt is too long: 3000 tokens > 2000 maximum"

    def answer(request: object) -> Reply:
        size = sum(len(message.text) for message in request.messages)  # type: ignore[attr-defined]
        return failure(ContextTooLong(words)) if size > 6000 else reply("short")

    provider = ScriptedProvider(answer)
    agent = Agent(provider, "m", options=AgentOptions(retry=QUICK))
    outcome = await agent.run_to_end(long_talk())
    assert outcome.stop.ok
    asked = len(provider.requests)
    outcome = await agent.run_to_end([*outcome.messages, *long_talk()])
    assert outcome.stop.ok
    refused = [r for r in provider.requests[asked:] if sum(len(m.text) for m in r.messages) > 6000]
    assert refused == [], "the history was made shorter before it was sent"
