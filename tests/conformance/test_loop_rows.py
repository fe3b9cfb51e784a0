"""Rows A1 to A23 of the conformance table: what the loop does, through the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import pytest

from caliban_agent_core import Agent, AgentOptions, Gate
from caliban_agent_core.recovery import RecoveryLimits
from caliban_common.event import AgentEvent, ApiRetry, MessageAdded, ToolCallEnd, TurnEnd, Warned
from caliban_common.message import Message
from caliban_common.permission import Decision
from caliban_common.tool import ToolContext, ToolKind, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import ContextTooLong, ServerError, StreamInterrupted
from caliban_provider.retry import RetryPolicy
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply, thinking, tool_call

pytestmark = pytest.mark.anyio
QUICK = RetryPolicy(first_delay_s=0.001)
DONE = "All done."


@dataclass
class Stub:
    """A tool that waits, answers, and remembers what ran at the same time."""

    name: str
    wait_s: float = 0.0
    kind: ToolKind = "other"
    output: str = "ok"
    key: str | None = None
    running: int = 0
    peak: int = 0
    calls: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="stub", input_schema={"type": "object"}, kind=self.kind)

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return args.get("path", self.key)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        self.calls.append(args)
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await anyio.sleep(self.wait_s)
        finally:
            self.running -= 1
        return ToolOutput.of(self.output)


@dataclass
class Rules:
    """Denies the tools that are named."""

    denied: tuple[str, ...]

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return Decision(action="deny" if tool.name in self.denied else "allow", reason="by the test")


def cut(text: str = "half", tokens: int = 1024) -> Reply:
    return reply(text, stop_reason="max_tokens", usage=Usage(input_tokens=1, output_tokens=tokens))


async def play(agent: Agent, prompt: str = "go") -> tuple[list[AgentEvent], Any]:
    events: list[AgentEvent] = []
    with anyio.fail_after(20):
        async with agent.run(prompt) as run:
            async for event in run.events:
                events.append(event)
    return events, run.outcome


def of(events: list[AgentEvent], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def user_texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if message.role == "user" and message.text]


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


async def test_a6_a_stream_that_breaks_after_content_is_final() -> None:
    broken = reply("partial answer", error=StreamInterrupted("boom"), error_after=3)
    provider = ScriptedProvider([broken, reply("never")])
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(retry=QUICK)))
    assert outcome.stop.kind == "provider_error"
    assert "boom" in outcome.stop.message
    assert len(provider.requests) == 1
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
    assert (outcome.stop.kind, outcome.turns) == ("end_of_turn", 3)
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


def three(*names: str) -> Reply:
    return reply(*(tool_call(name, id=f"id_{name}") for name in names))


async def test_a11_tools_of_one_reply_run_in_parallel_or_one_by_one() -> None:
    async def wall(limit: int) -> float:
        tools = [Stub(name, wait_s=0.1) for name in "abc"]
        provider = ScriptedProvider([three("a", "b", "c"), reply(DONE)])
        started = perf_counter()
        await play(Agent(provider, "m", tools=tools, options=AgentOptions(parallel_limit=limit)))
        return perf_counter() - started

    parallel, serial = await wall(8), await wall(1)
    assert serial >= 0.28
    assert parallel < serial * 0.75


async def test_a12_events_come_as_calls_finish_and_history_as_they_were_made() -> None:
    tools = [Stub("a", wait_s=0.16), Stub("b", wait_s=0.08), Stub("c", wait_s=0.005)]
    provider = ScriptedProvider([three("a", "b", "c"), reply(DONE)])
    events, outcome = await play(Agent(provider, "m", tools=tools))
    assert [e.name for e in of(events, ToolCallEnd)] == ["c", "b", "a"]
    results = next(m for m in outcome.messages if m.tool_results).tool_results
    assert [r.tool_use_id for r in results] == ["id_a", "id_b", "id_c"]


async def test_a13_the_limit_bounds_what_runs_at_once() -> None:
    tool = Stub("a", wait_s=0.03)
    calls = reply(*(tool_call("a", {"n": n}) for n in range(5)))
    provider = ScriptedProvider([calls, reply(DONE)])
    await play(Agent(provider, "m", tools=[tool], options=AgentOptions(parallel_limit=2)))
    assert tool.peak == 2


async def test_a14_calls_on_one_path_wait_for_each_other_and_other_paths_do_not() -> None:
    tool = Stub("Write", wait_s=0.03)
    same = reply(*(tool_call("Write", {"path": "x", "n": n}) for n in range(3)))
    await play(Agent(ScriptedProvider([same, reply(DONE)]), "m", tools=[tool]))
    assert tool.peak == 1
    assert [call["n"] for call in tool.calls] == [0, 1, 2]
    other = reply(*(tool_call("Write", {"path": str(n)}) for n in range(3)))
    await play(Agent(ScriptedProvider([other, reply(DONE)]), "m", tools=[tool]))
    assert tool.peak == 3


async def test_a15_a_denied_call_keeps_its_place_in_the_history() -> None:
    gate = Gate(rules=Rules(denied=("b",)))
    tools = [Stub(name) for name in "abc"]
    provider = ScriptedProvider([three("a", "b", "c"), reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=tools, gate=gate))
    results = next(m for m in outcome.messages if m.tool_results).tool_results
    assert [(r.tool_use_id, r.is_error) for r in results] == [
        ("id_a", False),
        ("id_b", True),
        ("id_c", False),
    ]
    assert results[1].content[0].text == "Tool call denied: by the test"
    assert tools[1].calls == []


async def test_a16_a_cancelled_run_ends_at_once_with_every_call_answered() -> None:
    tools = [Stub("a", wait_s=30), Stub("b", wait_s=0)]
    agent = Agent(ScriptedProvider([three("a", "b")]), "m", tools=tools)
    with anyio.fail_after(5):
        async with agent.run("go") as run:
            async for event in run.events:
                if isinstance(event, ToolCallEnd) and event.name == "b":
                    run.cancel()
    outcome = run.outcome
    assert outcome.stop.kind == "cancelled"
    results = outcome.messages[-1].tool_results
    assert [(r.tool_use_id, r.is_error) for r in results] == [("id_a", True), ("id_b", False)]


async def test_a_run_that_is_left_early_is_over_when_the_block_is() -> None:
    tool = Stub("a", wait_s=30)
    agent = Agent(ScriptedProvider([three("a")]), "m", tools=[tool])
    with anyio.fail_after(5):
        async with agent.run("go") as run:
            async for event in run.events:
                if isinstance(event, MessageAdded):
                    break
    assert run.outcome.stop.kind == "cancelled"
    assert tool.running == 0
    assert run.outcome.messages[-1].tool_results


async def test_an_error_of_the_reader_comes_out_as_it_was_raised() -> None:
    agent = Agent(ScriptedProvider([reply("x")]), "m")
    with pytest.raises(KeyError, match="mine"):
        async with agent.run("go") as run:
            async for _ in run.events:
                raise KeyError("mine")


async def test_a17_a_long_result_is_cut_and_kept_whole_in_a_file(tmp_path: Path) -> None:
    options = AgentOptions(session_id="sess", tool_result_cap_chars=50, overflow_dir=tmp_path)
    provider = ScriptedProvider([reply(tool_call("a", id="tu_1")), reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=[Stub("a", output="x" * 500)], options=options))
    text = next(m for m in outcome.messages if m.tool_results).tool_results[0].content[0].text
    assert text.startswith("[truncated: 500 chars")
    assert str(tmp_path) in text
    assert (tmp_path / "sess" / "tu_1.txt").read_text() == "x" * 500


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
            Message(role="user", content=_text(f"q{n} " * 50)),
            Message(role="assistant", content=_text(f"a{n} " * 50)),
        )
    ]
    agent = Agent(provider, "m", tools=[Stub("a")])
    outcome = await agent.run_to_end([*history, Message(role="user", content=_text("now"))])
    assert outcome.stop.kind == "end_of_turn"
    assert outcome.messages[-1].text == "after"


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


async def test_max_turns_of_zero_asks_nobody() -> None:
    provider = ScriptedProvider([])
    _, outcome = await play(Agent(provider, "m", options=AgentOptions(max_turns=0)))
    assert (outcome.stop.kind, outcome.turns) == ("max_turns", 0)
    assert provider.requests == []


async def test_b081_a_cancelled_history_takes_a_new_prompt() -> None:
    agent = Agent(ScriptedProvider([three("a")]), "m", tools=[Stub("a", wait_s=30)])
    async with agent.run("go") as run:
        async for event in run.events:
            if isinstance(event, MessageAdded):
                run.cancel()
    second = Agent(ScriptedProvider([reply("fine")]), "m", tools=[Stub("a")])
    outcome = await second.run_to_end([*run.outcome.messages, Message(role="user", content=_text("again"))])
    assert outcome.messages[-1].text == "fine"


async def test_unknown_tools_and_broken_arguments_are_answered() -> None:
    from caliban_common.message import ToolUseBlock

    bad = ToolUseBlock(id="t2", name="a", input={}, raw_input='{"x": ')
    provider = ScriptedProvider([reply(tool_call("nope", id="t1"), bad), reply(DONE)])
    tool = Stub("a")
    _, outcome = await play(Agent(provider, "m", tools=[tool]))
    results = next(m for m in outcome.messages if m.tool_results).tool_results
    assert results[0].content[0].text == "Error: invalid input: tool not found: nope"
    assert "not a JSON object" in results[1].content[0].text
    assert tool.calls == []


async def test_the_same_other_model_is_warned_about_once() -> None:
    script = [reply(tool_call("a"), model="llama3.2"), reply("x", model="llama3.2")]
    events, _ = await play(Agent(ScriptedProvider(script), "llama3.1", tools=[Stub("a")]))
    assert [e.details for e in of(events, Warned)] == [{"requested": "llama3.1", "actual": "llama3.2"}]


def _text(text: str) -> Any:
    from caliban_common.message import TextBlock

    return (TextBlock(text=text),)


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
    assert outcome.stop.ok
