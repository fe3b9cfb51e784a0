"""Real reports of users of such tools, by their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.codec import message_from_json, message_to_json
from caliban_common.history import TargetModel, repair
from caliban_common.message import (
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import Assembler
from caliban_provider.errors import Overloaded, ProviderError, RateLimited
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.testing.exchange import Exchange, Send
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.factory import FACTORY
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

pytestmark = pytest.mark.anyio

BASH = ToolSpec(
    name="Bash",
    description="Run.",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
EVIL = "你好世界 🌍 ✅ \u2028x\u0085y"


def ask(*messages: Message, model: str = wire.MODEL, **members: Any) -> CompletionRequest:
    repaired = repair(messages or (user("Hi"),), TargetModel(family="anthropic", model=model))
    return CompletionRequest(model=model, messages=repaired, max_tokens=4000, tools=(BASH,), **members)


async def folded(server: LoopbackServer, *requests: CompletionRequest) -> list[Assembler]:
    provider = FACTORY.create(ProviderOptions(api_key="k", base_url=server.url))
    out = []
    for request in requests:
        assembler = Assembler()
        async with provider.stream(request) as events:
            async for event in events:
                assembler.add(event)
        assert assembler.complete
        out.append(assembler)
    await provider.aclose()
    return out


def said(assembler: Assembler) -> Message:
    return assembler.message("anthropic", wire.MODEL)


def answered(reply: Message, text: str = "done") -> Message:
    return Message(
        role="user",
        content=tuple(
            ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=text),)) for call in reply.tool_uses
        ),
    )


async def test_b061_text_cut_inside_characters_and_line_ends_arrives_whole() -> None:
    data = b"".join(wire.reply(wire.text(EVIL)))
    crlf = data.replace(b"\n", b"\r\n")
    halves = [half for line in crlf.split(b"\n") for half in (line, b"\n")][:-1]
    with LoopbackServer(
        [
            wire.exchange(wire.text(EVIL), bytewise=True),
            Exchange(headers={"content-type": "text/event-stream"}, steps=(Send(data),)),
            Exchange(
                headers={"content-type": "text/event-stream"}, steps=tuple(Send(half) for half in halves)
            ),
        ]
    ) as server:
        replies = await folded(server, ask(), ask(), ask())
    assert [said(reply).text for reply in replies] == [EVIL] * 3


@pytest.mark.parametrize(
    "blocks",
    [(wire.text("Hel", "lo"),), (wire.tool_use("Bash", {"command": "true"}), wire.text("x"))],
)
async def test_b062_an_overload_inside_a_good_stream_is_told_apart_and_the_next_attempt_is_whole(
    blocks: tuple[wire.WireBlock, ...],
) -> None:
    broken = wire.broken(*blocks, after=5, end=wire.error_event("overloaded_error", "Overloaded"))
    with LoopbackServer([broken, wire.exchange(wire.text("Hello"))]) as server:
        with pytest.raises(Overloaded) as raised:
            await folded(server, ask())
        assert raised.value.retryable
        (reply,) = await folded(server, ask())
    assert said(reply).text == "Hello"


async def test_b063_a_failed_attempt_and_the_next_are_two_streams_each_with_its_own_start() -> None:
    broken = wire.broken(wire.text("Hel"), after=2, end=wire.error_event("api_error"))
    starts = 0
    with LoopbackServer([broken, wire.exchange(wire.text("Hello"))]) as server:
        provider = FACTORY.create(ProviderOptions(api_key="k", base_url=server.url))
        kinds: list[list[str]] = []
        for _ in range(2):
            seen: list[StreamEvent] = []
            try:
                async with provider.stream(ask()) as events:
                    async for event in events:
                        seen.append(event)
            except ProviderError:
                starts += 1
            kinds.append([type(event).__name__ for event in seen])
        await provider.aclose()
    assert starts == 1
    assert kinds[0] == ["MessageStart"]
    assert kinds[1].count("MessageStart") == kinds[1].count("MessageStop") == 1


@pytest.mark.parametrize(
    ("headers", "message", "told_s"),
    [
        ({"retry_after": "3"}, "Slow down", 3.0),
        ({}, "Please try again in 2.5s", 2.5),
        ({"retry_after_ms": "700"}, "Slow down", 0.7),
        ({"retry_after": "86400"}, "Slow down", 86400.0),
    ],
)
async def test_b064_the_wait_that_a_429_asks_for_is_found(
    headers: dict[str, str], message: str, told_s: float
) -> None:
    refusal = wire.failure(429, "rate_limit_error", message, **headers)
    with LoopbackServer([refusal]) as server, pytest.raises(RateLimited) as raised:
        await folded(server, ask())
    assert raised.value.retry_after_s == told_s


async def test_b068_calls_that_grow_in_turns_keep_their_own_input() -> None:
    first = wire.tool_use("Bash", {"command": "echo one"}, id="a", piece_chars=3)
    second = wire.tool_use("Bash", {"command": "echo two"}, id="b", piece_chars=3)
    with LoopbackServer([wire.exchange(wire.together(first, second))]) as server:
        (reply,) = await folded(server, ask())
    assert said(reply).tool_uses == (
        ToolUseBlock(id="a", name="Bash", input={"command": "echo one"}),
        ToolUseBlock(id="b", name="Bash", input={"command": "echo two"}),
    )


SIGNED = (wire.thinking("abc", signature="SIG1"), wire.redacted("cipher"))


async def test_b071_signed_reasoning_goes_back_with_the_result_and_to_nobody_else() -> None:
    exchange = wire.exchange(*SIGNED, wire.tool_use("Bash", {"command": "ls"}, id="t"))
    done = wire.exchange(wire.text("Done."))
    strict = StrictValidator(signed=SIGNED)
    with LoopbackServer([exchange, done, done], validator=strict) as server:
        (first,) = await folded(server, ask())
        reply = message_from_json(message_to_json(said(first)))
        assert reply.content[:2] == (
            ThinkingBlock(text="abc", signature="SIG1"),
            RedactedThinkingBlock(data="cipher"),
        )
        history = (user("Hi"), reply, answered(reply))
        await folded(server, ask(*history), ask(*history, model="claude-opus-4-6"))
        assert not server.refused
        same, other = (request.json["messages"][1]["content"] for request in server.requests[1:])
    assert same[:2] == [dict(block.whole) for block in SIGNED]
    assert [block["type"] for block in other] == ["tool_use"]


async def test_b071_a_signature_without_text_is_kept_as_it_is() -> None:
    hidden = wire.thinking(signature="SIG2")
    exchange = wire.exchange(
        hidden, wire.tool_use("Bash", {"command": "ls"}, id="t"), model="claude-opus-5-5"
    )
    strict = StrictValidator(signed=[hidden], must_replay=False)
    with LoopbackServer([exchange, wire.exchange(wire.text("Done."))], validator=strict) as server:
        (first,) = await folded(server, ask(model="claude-opus-5-5"))
        reply = said(first)
        await folded(server, ask(user("Hi"), reply, answered(reply), model="claude-opus-5-5"))
        assert server.requests[1].json["messages"][1]["content"][0] == {
            "type": "thinking",
            "thinking": "",
            "signature": "SIG2",
        }
        assert not server.refused


async def test_b071_a_snapshot_that_answers_does_not_cost_the_signature() -> None:
    exchange = wire.exchange(
        *SIGNED, wire.tool_use("Bash", {"command": "ls"}, id="t"), model="claude-haiku-4-5-20251001"
    )
    strict = StrictValidator(signed=SIGNED)
    with LoopbackServer([exchange, wire.exchange(wire.text("Done."))], validator=strict) as server:
        model = "claude-haiku-4-5"
        (first,) = await folded(server, ask(model=model, thinking_tokens=2000))
        reply = said(first)
        await folded(server, ask(user("Hi"), reply, answered(reply), model=model, thinking_tokens=2000))
        assert not server.refused
        second = server.requests[1].json
    assert second["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert [block["type"] for block in second["messages"][1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "tool_use",
    ]


async def test_b084_ids_of_any_vendor_are_accepted_consistent_and_unique() -> None:
    ids = ("functions.Read:0", "call_" + "x" * 60, "a b/c", "", "functions.Read:0", "fine_1")
    messages = [user("Hi")]
    for id in ids:
        call = Message(role="assistant", content=(ToolUseBlock(id=id, name="Bash", input={"command": "ls"}),))
        messages += [call, answered(call)]
    pair = Message(
        role="assistant",
        content=tuple(ToolUseBlock(id="0", name="Bash", input={"command": c}) for c in ("a", "b")),
    )
    messages += [pair, answered(pair)]
    with LoopbackServer([wire.exchange(wire.text("ok"))], validator=StrictValidator()) as server:
        await folded(server, ask(*messages))
        (request,) = server.requests
    sent = request.json["messages"]
    calls = [block["id"] for m in sent for block in m["content"] if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for m in sent for block in m["content"] if block["type"] == "tool_result"]
    assert calls == results and len(set(calls)) == len(calls) == len(ids) + 2
    assert calls[5] == "fine_1"


async def test_b086_blank_blocks_never_poison_a_session() -> None:
    call = ToolUseBlock(id="t", name="Bash", input={"command": "true"})
    history = (
        user(""),
        user("Hi"),
        Message(role="assistant", content=(TextBlock(text=" \n"), call)),
        Message(role="user", content=(ToolResultBlock(tool_use_id="t", content=()), TextBlock(text=""))),
        Message(role="assistant", content=(TextBlock(text=""),)),
        user("\u2003 \n"),
        Message(role="assistant", content=()),
        user("Well?"),
    )
    plain = CompletionRequest(model=wire.MODEL, messages=history, max_tokens=100)
    exchanges = [wire.exchange(wire.text("ok"))] * 2
    with LoopbackServer(exchanges, validator=StrictValidator()) as server:
        await folded(server, ask(*history), plain)
        assert not server.refused


async def test_b087_a_call_without_any_input_is_a_call_with_an_empty_one() -> None:
    pieces = wire.reply(wire.tool_use("Bash", None, id="t"))
    unclosed = [piece for piece in pieces if b"content_block_stop" not in piece]
    bare = Exchange(
        headers={"content-type": "text/event-stream"}, steps=tuple(Send(piece) for piece in unclosed)
    )
    with LoopbackServer([wire.exchange(wire.tool_use("Bash", None, id="t")), bare]) as server:
        for reply in await folded(server, ask(), ask()):
            assert said(reply).content == (ToolUseBlock(id="t", name="Bash", input={}),)
            assert reply.stop_reason == "tool_use"


async def test_a_broken_input_is_kept_as_text_and_replayed_as_an_empty_one() -> None:
    exchange = wire.exchange(wire.tool_use("Bash", '{"command": "ec', id="t"), stop_reason="max_tokens")
    done = wire.exchange(wire.text("ok"))
    with LoopbackServer([exchange, done], validator=StrictValidator()) as server:
        (first,) = await folded(server, ask())
        reply = said(first)
        (call,) = reply.tool_uses
        assert (call.input, call.raw_input) == ({}, '{"command": "ec')
        await folded(server, ask(user("Hi"), reply, answered(reply, "invalid input")))
        assert server.requests[1].json["messages"][1]["content"][0]["input"] == {}
