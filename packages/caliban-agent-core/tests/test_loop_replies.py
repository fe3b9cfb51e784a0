"""Rows A1 to A10 and A19 to A23 of the conformance table: what becomes of replies."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from loop_kit import DONE, QUICK, Stub, cut, of, play, user_texts

from caliban_agent_core import Agent, AgentOptions
from caliban_agent_core.recovery import RecoveryLimits
from caliban_common.event import ApiRetry, AssistantTextDelta, MessageAdded, ReplyDiscarded, TurnEnd, Warned
from caliban_common.message import Message, TextBlock, assistant, user
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import (
    ContextTooLong,
    NetworkError,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.spoken_provider import SpokenCallsProvider
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply, thinking, tool_call

pytestmark = pytest.mark.anyio


async def test_a1_a_cut_reply_is_asked_again_with_more_room_within_one_turn() -> None:
    final = reply(DONE, usage=Usage(input_tokens=1, output_tokens=1))
    provider = ScriptedProvider([cut(), final])
    events, outcome = await play(Agent(provider, "m"))
    assert outcome.stop.kind == "end_of_turn"
    assert len(of(events, TurnEnd)) == 1
    assert outcome.turns == 1
    assert outcome.usage.output_tokens == 1025
    assert [r.max_tokens for r in provider.requests] == [8192, 16384]


async def test_a2_a_reply_cut_twice_is_continued_by_one_injected_message() -> None:
    provider = ScriptedProvider([cut(), cut(), reply(DONE)])
    events, outcome = await play(Agent(provider, "m"))
    injected = [e.message.text for e in of(events, MessageAdded) if e.injected]
    assert len(injected) == 1
    assert injected[0].startswith("Output token limit hit")
    assert outcome.stop.kind == "end_of_turn"


async def test_a3_continuations_are_bounded() -> None:
    provider = ScriptedProvider([cut() for _ in range(10)])
    _, outcome = await play(Agent(provider, "m"))
    assert outcome.stop.kind == "max_tokens"
    assert outcome.turns == 4
    assert len(provider.requests) == 8


async def test_a4_without_recovery_a_cut_reply_ends_the_run() -> None:
    options = AgentOptions(recovery=RecoveryLimits(enabled=False))
    provider = ScriptedProvider([cut()])
    _, outcome = await play(Agent(provider, "m", options=options))
    assert (outcome.stop.kind, outcome.turns) == ("max_tokens", 1)


async def test_a5_a_stream_that_breaks_before_content_is_asked_again() -> None:
    broken = reply("x", error=StreamInterrupted("gone"), error_after=1)
    provider = ScriptedProvider([broken, reply("recovered answer")])
    events, outcome = await play(Agent(provider, "m", options=AgentOptions(retry=QUICK)))
    assert outcome.stop.kind == "end_of_turn"
    assert outcome.turns == 1
    assert outcome.messages[-1].text == "recovered answer"
    assert [e.category for e in of(events, ApiRetry)] == ["interrupted"]


@pytest.mark.parametrize("error", [StreamInterrupted("boom"), NetworkError("boom")])
async def test_a6_a_stream_that_breaks_after_content_is_taken_back_and_asked_again(
    error: ProviderError,
) -> None:
    broken = reply("partial answer", error=error, error_after=3)
    provider = ScriptedProvider([broken, reply("whole answer")])
    events, outcome = await play(Agent(provider, "m", options=AgentOptions(retry=QUICK)))
    assert [type(e) for e in events if isinstance(e, ReplyDiscarded | ApiRetry)] == [ReplyDiscarded, ApiRetry]
    assert outcome.stop.ok
    assert outcome.text == "whole answer"
    assert [m.text for m in outcome.messages] == ["go", "whole answer"]


async def test_a_stream_that_breaks_each_time_ends_the_run_with_what_was_received() -> None:
    broken = reply("partial answer", error=StreamInterrupted("boom"), error_after=3)
    provider = ScriptedProvider([broken] * 3)
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(retry=QUICK)))
    assert outcome.stop.kind == "provider_error"
    assert "boom" in outcome.stop.message
    assert outcome.messages[-1].text == "partial answer"


async def test_an_error_that_the_provider_declares_after_content_takes_the_reply_back() -> None:
    broken = reply("Hel", error=ServerError("overloaded"), error_after=3)
    provider = ScriptedProvider([broken, reply("Hello")])
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(retry=QUICK)))
    assert [m.text for m in outcome.messages if m.role == "assistant"] == ["Hello"]


async def test_a9_an_empty_turn_is_nudged_and_the_run_goes_on() -> None:
    silent = reply(thinking("hm", signature="s"), usage=Usage(output_tokens=7))
    provider = ScriptedProvider([silent, reply(tool_call("Look")), reply("text")])
    events, outcome = await play(Agent(provider, "m", tools=[Stub("Look")]))
    assert outcome.messages[-1].text == "text"
    assert len([e for e in of(events, MessageAdded) if e.injected]) == 1


async def test_a9_nudges_are_bounded_and_can_be_switched_off() -> None:
    silent = reply(thinking("hm", signature="s"), usage=Usage(output_tokens=7))
    _, outcome = await play(Agent(ScriptedProvider([silent] * 3), "m"))
    assert (outcome.stop.kind, outcome.stop.message) == ("provider_error", "the model wrote nothing")
    assert outcome.turns == 3
    options = AgentOptions(max_empty_nudges=0)
    _, outcome = await play(Agent(ScriptedProvider([silent]), "m", options=options))
    assert outcome.turns == 1


async def test_a10_turns_without_an_edit_are_nudged_once_and_an_edit_rearms() -> None:
    look, edit = reply(tool_call("Look")), reply(tool_call("Edit"))
    options = AgentOptions(no_edit_nudge_turns=2)
    tools = [Stub("Look"), Stub("Edit", kind="edit")]
    script = [look, look, look, look, edit, look, look, reply("end")]
    _, outcome = await play(Agent(ScriptedProvider(script), "m", tools=tools, options=options))
    nudges = [t for t in user_texts(outcome.messages) if "without editing any files" in t]
    assert len(nudges) == 2
    assert outcome.no_edit_nudge_emitted


async def test_a10_the_no_edit_nudge_never_masks_a_refusal_and_zero_is_off() -> None:
    options = AgentOptions(no_edit_nudge_turns=1)
    provider = ScriptedProvider([reply("no", stop_reason="refusal", detail="why")])
    _, outcome = await play(Agent(provider, "m", options=options))
    assert outcome.stop.kind == "refusal"
    script = [reply(tool_call("Look"))] * 3 + [reply("end")]
    agent = Agent(
        ScriptedProvider(script), "m", tools=[Stub("Look")], options=AgentOptions(no_edit_nudge_turns=0)
    )
    _, outcome = await play(agent)
    assert user_texts(outcome.messages) == ["go"]


async def test_a19_a_prompt_that_is_too_long_is_compacted_and_asked_once_more() -> None:
    def answer(request: Any) -> Reply:
        if any(m.text.startswith("Summary of earlier conversation:") for m in request.messages):
            return reply("after")
        if not request.tools and request.max_tokens == 1024:
            return reply("what was said")
        return failure(ContextTooLong("too long"))

    provider = ScriptedProvider(answer)
    history = [
        message
        for n in range(20)
        for message in (
            user(f"q{n} " * 50),
            assistant(f"a{n} " * 50),
        )
    ]
    agent = Agent(provider, "m", tools=[Stub("a")])
    outcome = await agent.run_to_end([*history, user("now")])
    assert outcome.stop.kind == "end_of_turn"
    assert outcome.messages[-1].text == "after"


@pytest.mark.parametrize("output_tokens", [0, 3])
async def test_a_prompt_that_leaves_no_room_for_a_word_is_compacted_like_one_that_is_too_long(
    output_tokens: int,
) -> None:
    usage = Usage(input_tokens=200_000, output_tokens=output_tokens)

    def answer(request: Any) -> Reply:
        if any(m.text.startswith("Summary of earlier conversation:") for m in request.messages):
            return reply("after")
        if not request.tools and request.max_tokens == 1024:
            return reply("what was said")
        return reply(stop_reason="max_tokens", usage=usage)

    history = [message for n in range(20) for message in (user(f"q{n} " * 50), assistant(f"a{n} " * 50))]
    provider = ScriptedProvider(answer)
    outcome = await Agent(provider, "m", tools=[Stub("a")]).run_to_end([*history, user("now")])
    assert (outcome.stop.kind, outcome.text) == (
        ("end_of_turn", "after") if not output_tokens else ("max_tokens", "")
    )


async def test_a_reply_that_its_provider_pauses_is_one_answer_with_what_follows() -> None:
    pieces = [reply("I look. ", stop_reason="pause_turn"), reply("Found. ", stop_reason="pause_turn")]
    _, outcome = await play(Agent(ScriptedProvider([*pieces, reply("It is 5.")]), "m"))
    assert (outcome.text, outcome.turns) == ("I look. Found. It is 5.", 3)


async def test_a_wait_that_a_server_names_is_shown_within_its_own_allowance() -> None:
    busy = RateLimited("slow", retry_after_s=0.001)
    provider = ScriptedProvider([*[failure(busy)] * 4, reply("at last")])
    events, _ = await play(Agent(provider, "m", options=AgentOptions(retry=QUICK)))
    attempts = [(event.attempt, event.max_retries) for event in of(events, ApiRetry)]
    assert attempts == [(1, 10), (2, 10), (3, 10), (4, 10)]


async def test_a19_a_prompt_that_stays_too_long_ends_the_run() -> None:
    provider = ScriptedProvider(lambda request: failure(ContextTooLong("too long")))
    _, outcome = await play(Agent(provider, "m"))
    assert outcome.stop.kind == "provider_error"
    assert outcome.stop.category == "context_too_long"


async def test_a20_compaction_that_fails_twice_is_switched_off_and_the_run_goes_on() -> None:
    summaries = 0

    def answer(request: Any) -> Reply:
        nonlocal summaries
        if not request.tools:
            summaries += 1
            return reply(" ")
        return reply(tool_call("a")) if len(provider.requests) < 12 else reply(DONE)

    small = Capabilities(context_tokens=400)
    provider = ScriptedProvider(answer, capabilities=small)
    agent = Agent(provider, "m", tools=[Stub("a", output="y" * 400)])
    events, outcome = await play(agent, prompt="p" * 1200)
    assert outcome.stop.kind == "end_of_turn"
    assert len([e for e in of(events, Warned) if e.subtype == "compaction_failed"]) == 2
    assert summaries <= 2


class Shorter:
    """A compactor that makes a history shorter by a word, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def compact(self, messages: tuple[Message, ...], **how: Any) -> tuple[Message, ...]:
        self.asked += 1
        return (user(messages[0].text[:-1]), *messages[1:])


async def test_a20_a_compaction_that_makes_no_room_counts_as_a_failure() -> None:
    provider = ScriptedProvider(
        lambda request: reply(tool_call("a")) if len(provider.requests) < 8 else reply(DONE),
        capabilities=Capabilities(context_tokens=400),
    )
    compactor = Shorter()
    agent = Agent(provider, "m", tools=[Stub("a")], compactor=compactor)
    events, outcome = await play(agent, prompt="p" * 1300)
    assert outcome.stop.kind == "end_of_turn"
    assert compactor.asked == 2
    assert [event.subtype for event in of(events, Warned) if event.subtype != "status"] == ["compaction_off"]


async def test_a_summary_that_calls_a_tool_is_none() -> None:
    def answer(request: Any) -> Reply:
        return reply(DONE) if request.tools else reply("a summary", tool_call("a"))

    provider = ScriptedProvider(answer, capabilities=Capabilities(context_tokens=1000))
    history = [*(user("q " * 100), assistant("a " * 100)) * 10, user("now")]
    async with Agent(provider, "m", tools=[Stub("a")]).run(history) as run:
        events = [event async for event in run.events]
    words = "the conversation could not be summarised: the model called a tool in place of a summary"
    assert words in [event.message for event in of(events, Warned)]
    assert run.outcome.messages[0] == history[0]


async def test_files_that_were_read_are_named_again_after_a_compaction() -> None:
    seen: list[str] = []

    class Look(Stub):
        @property
        def spec(self) -> ToolSpec:
            return ToolSpec(name="Look", description="", input_schema={}, roles={"path": "reads"})

    def answer(request: Any) -> Reply:
        if not request.tools:
            return reply("short")
        seen.append("\n".join(message.text for message in request.messages))
        number = len(seen)
        return reply(tool_call("Look", {"path": f"{number}.py"})) if number < 12 else reply(DONE)

    provider = ScriptedProvider(answer, capabilities=Capabilities(context_tokens=2400))
    _, outcome = await play(Agent(provider, "m", tools=[Look("Look", output="z" * 700)]))
    assert outcome.stop.ok
    assert any("<after_compaction>" in text and "- read: 1.py" in text for text in seen)


@pytest.mark.parametrize(("reason", "kind"), [("refusal", "refusal"), ("content_filter", "content_filter")])
async def test_a21_a_refusal_is_a_stop_of_its_own_with_a_note(reason: Any, kind: str) -> None:
    provider = ScriptedProvider([reply("I will", stop_reason=reason, detail="cyber")])
    _, outcome = await play(Agent(provider, "m"))
    assert outcome.stop.kind == kind
    assert outcome.messages[-1].role == "assistant"
    assert "cyber" in outcome.messages[-1].text
    assert "I will" not in outcome.messages[-1].text


async def test_a23_thinking_past_its_cap_ends_the_run_and_zero_is_off() -> None:
    long = reply(thinking("t" * 100, signature="s"), "answer")
    options = AgentOptions(thinking_cap_chars=50)
    _, outcome = await play(Agent(ScriptedProvider([long]), "m", options=options))
    assert outcome.stop.kind == "thinking_budget"
    options = AgentOptions(thinking_cap_chars=0)
    _, outcome = await play(Agent(ScriptedProvider([long]), "m", options=options))
    assert outcome.stop.kind == "end_of_turn"


@pytest.mark.parametrize("where", ["text", "arguments"])
async def test_a_reply_that_does_not_end_is_given_up(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caliban_agent_core.reply.MAX_REPLY_CHARS", 50)
    script = [reply("t" * 60) if where == "text" else reply(tool_call("a", {"path": "t" * 60}))]
    provider = ScriptedProvider(script)
    _, outcome = await play(Agent(provider, "m", tools=[Stub("a")]))
    assert outcome.stop.kind == "provider_error" and "the reply does not end" in outcome.stop.message
    assert len(provider.requests) == 1 and len(outcome.messages[-1].text) <= 50


async def test_max_turns_of_zero_asks_nobody() -> None:
    provider = ScriptedProvider([])
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(max_turns=0)))
    assert (outcome.stop.kind, outcome.turns) == ("max_turns", 0)
    assert provider.requests == []


async def test_the_same_other_model_is_warned_about_once() -> None:
    script = [reply(tool_call("a"), model="llama3.2"), reply("x", model="llama3.2")]
    events, _ = await play(Agent(ScriptedProvider(script), "llama3.1", tools=[Stub("a")]))
    assert [e.details for e in of(events, Warned)] == [{"requested": "llama3.1", "actual": "llama3.2"}]


async def test_b073_an_unreadable_call_is_asked_for_again_and_then_given_up() -> None:
    bad = reply("", stop_reason="malformed_call")
    _, outcome = await play(Agent(ScriptedProvider([bad, bad, reply("fine")]), "m"))
    assert outcome.messages[-1].text == "fine"
    provider = ScriptedProvider([bad] * 5)
    _, outcome = await play(Agent(provider, "m"))
    assert (outcome.stop.kind, len(provider.requests)) == ("provider_error", 3)
    assert [m.role for m in outcome.messages] == ["user"]


async def test_b073_a_reply_without_content_for_a_reason_nobody_knows_is_an_error_that_names_it() -> None:
    _, outcome = await play(Agent(ScriptedProvider([reply("", stop_reason="other", detail="FOO")]), "m"))
    assert (outcome.stop.kind, outcome.stop.message) == ("provider_error", "the model wrote nothing: FOO")
    assert [m.role for m in outcome.messages] == ["user"]
    _, outcome = await play(Agent(ScriptedProvider([reply("words", stop_reason="other", detail="FOO")]), "m"))
    assert outcome.stop.kind == "provider_error"
    assert outcome.stop.message == "the reply ended for a reason that is not known: FOO"
    assert outcome.text == "words"


@pytest.mark.parametrize(
    "written", ['{"name": "a", "arg', "Look: <tool_call>{", "```json\n{", "  \n", "words"]
)
async def test_what_may_become_a_call_is_kept_when_a_person_cancels(written: str) -> None:
    reached = anyio.Event()
    hangs = Reply(
        blocks=(TextBlock(text=written),),
        piece_chars=1,
        wait=anyio.Event(),
        wait_before=len(written) + 2,
        reached=reached,
    )
    provider = SpokenCallsProvider(ScriptedProvider([hangs]), print, always=True)
    agent = Agent(provider, "m", tools=[Stub("a")])
    shown = ""
    with anyio.fail_after(HANG_S):
        async with agent.run("go") as run:
            await reached.wait()
            run.cancel()
            async for event in run.events:
                shown += event.text if isinstance(event, AssistantTextDelta) else ""
    assert run.outcome.stop.kind == "cancelled"
    assert shown == written
    kept = [message.text for message in run.outcome.messages if message.role == "assistant"]
    assert kept == ([written] if written.strip() else [])
