from __future__ import annotations

import anyio
import pytest

from caliban_common.message import ImageBlock, OpaqueBlock, RedactedThinkingBlock, ToolUseBlock
from caliban_common.usage import Usage
from caliban_provider.errors import Overloaded, StreamInterrupted
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import BlockStart, MessageStart, MessageStop, StreamEvent, TextDelta
from caliban_provider.testing.contract import ask, assembled, assert_order, collect, contract_checks
from caliban_provider.testing.scripted import (
    Reply,
    ScriptedProvider,
    ScriptExhausted,
    failure,
    reply,
    text,
    thinking,
    tool_call,
)

pytestmark = pytest.mark.anyio
ASK = ask("Go on.", model="m-1")


async def received(provider: ScriptedProvider) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    async with provider.stream(ASK) as stream:
        async for event in stream:
            events.append(event)
    return events


async def test_replies_come_in_order_and_requests_are_recorded() -> None:
    provider = ScriptedProvider(
        [reply(thinking("hm", signature="s"), tool_call("Read", {"path": "x"})), reply("hi")]
    )
    first = assembled(await collect(provider, ASK))
    assert first.message("f", "m").content == (
        thinking("hm", signature="s"),
        ToolUseBlock(id="call_1", name="Read", input={"path": "x"}),
    )
    assert (first.stop_reason, first.model, first.usage) == (
        "tool_use",
        "m-1",
        Usage(input_tokens=10, output_tokens=5),
    )
    second = assembled(await collect(provider, ASK))
    assert (second.message("f", "m").text, second.stop_reason) == ("hi", "end_turn")
    assert (provider.requests, provider.replies_left) == ([ASK, ASK], 0)


async def test_every_block_that_a_model_writes_can_be_scripted() -> None:
    blocks = (
        text("a" * 40),
        thinking("", signature="s"),
        RedactedThinkingBlock(data="x"),
        OpaqueBlock(family="scripted", data={"a": 1}),
        ToolUseBlock(id="own", name="T", input={}, raw_input='{"cut": '),
        tool_call("A"),
        tool_call("A"),
    )
    events = await collect(ScriptedProvider([Reply(blocks=blocks, piece_chars=7)]), ASK)
    assert_order(events)
    written = assembled(events).message("scripted", "m").content
    assert written[:5] == blocks[:5]
    assert [block.id for block in written[5:]] == ["call_1", "call_2"]


async def test_a_block_that_no_model_writes_is_refused() -> None:
    provider = ScriptedProvider([reply(ImageBlock.of(media_type="image/png", data="x"))])
    with pytest.raises(ValueError, match="does not write a block of type 'image'"):
        await collect(provider, ASK)


async def test_facts_of_a_reply_can_be_set() -> None:
    usage = Usage(output_tokens=3)
    provider = ScriptedProvider([reply("x", stop_reason="refusal", usage=usage, detail="why", model="real")])
    made = assembled(await collect(provider, ASK))
    assert (made.stop_reason, made.usage, made.detail, made.model) == ("refusal", usage, "why", "real")


async def test_a_failure_at_the_start_is_raised_on_entering() -> None:
    provider = ScriptedProvider([failure(Overloaded("no")), reply("yes")])
    with pytest.raises(Overloaded, match="no"):
        async with provider.stream(ASK):
            raise AssertionError("it was entered")
    assert assembled(await received(provider)).message("f", "m").text == "yes"


@pytest.mark.parametrize(
    ("after", "kinds"), [(1, [MessageStart]), (3, [MessageStart, BlockStart, TextDelta])]
)
async def test_a_failure_may_come_after_any_event(after: int, kinds: list[type]) -> None:
    provider = ScriptedProvider([reply("x", error=StreamInterrupted("cut"), error_after=after)])
    events = []
    with pytest.raises(StreamInterrupted):
        async with provider.stream(ASK) as stream:
            async for event in stream:
                events.append(event)
    assert [type(event) for event in events] == kinds


async def test_a_failure_after_more_events_than_there_are_takes_the_place_of_the_end() -> None:
    provider = ScriptedProvider([reply("x", error=StreamInterrupted("cut"), error_after=99)])
    events = []
    with pytest.raises(StreamInterrupted):
        async with provider.stream(ASK) as stream:
            async for event in stream:
                events.append(event)
    assert assembled(events).message("f", "m").text == "x"
    assert not any(isinstance(event, MessageStop) for event in events)


async def test_a_reply_can_be_held_back_until_the_test_says_so() -> None:
    reached, go_on = anyio.Event(), anyio.Event()
    provider = ScriptedProvider([reply("x", wait=go_on, wait_before=2, reached=reached)])
    events: list[StreamEvent] = []
    async with anyio.create_task_group() as tasks:

        async def read() -> None:
            async with provider.stream(ASK) as stream:
                async for event in stream:
                    events.append(event)

        tasks.start_soon(read)
        await reached.wait()
        assert [type(event) for event in events] == [MessageStart, BlockStart]
        go_on.set()
    assert isinstance(events[-1], MessageStop)


async def test_a_held_back_reply_can_be_cancelled() -> None:
    reached = anyio.Event()
    provider = ScriptedProvider([reply("x", wait=anyio.Event(), reached=reached)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(received, provider)
        await reached.wait()
        tasks.cancel_scope.cancel()


async def test_an_exhausted_script_is_a_failed_assertion_that_says_which_call() -> None:
    provider = ScriptedProvider([reply("x")], name="mine")
    await received(provider)
    with pytest.raises(ScriptExhausted, match="call 2 of 'mine' has no reply in the script"):
        await received(provider)
    assert issubclass(ScriptExhausted, AssertionError)


async def test_a_callable_answers_each_request() -> None:
    def answer(request: CompletionRequest) -> Reply:
        return reply(request.messages[-1].text.upper())

    assert assembled(await collect(ScriptedProvider(answer), ASK)).message("f", "m").text == "GO ON."


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("number", range(5))
def test_it_keeps_the_contract(number: int, backend: str) -> None:
    def make() -> ScriptedProvider:
        return ScriptedProvider(lambda request: reply("some words"))

    contract_checks(make, model="m-1")[number].run(backend)


async def test_closing_is_recorded_and_one_model_is_listed() -> None:
    provider = ScriptedProvider()
    assert [model.id for model in await provider.list_models()] == ["scripted-1"]
    await provider.aclose()
    await provider.aclose()
    assert provider.closed
