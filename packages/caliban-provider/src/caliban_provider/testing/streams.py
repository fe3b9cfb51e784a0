"""Checks of what an adapter makes of good answers, however they are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from msgspec.structs import replace

from caliban_common.message import Block, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_provider.assemble import Assembler
from caliban_provider.errors import ProviderError
from caliban_provider.stream import MessageStart, TextDelta
from caliban_provider.testing.contract import ask, ask_with_history, assembled, assert_order, collect
from caliban_provider.testing.exchange import Hang, Pause
from caliban_provider.testing.vendor import KEY, USAGE, Vendor, VendorCheck

TEXT = 'Hello, 你好世界 🌍 ✅ e\u0301 \u2028x\u0085y "quoted" \\ back\n\ndata: not an event\r\nlast'
"""Text with everything that a decoder of lines or characters may stumble on."""

CALL = ToolUseBlock(id="call_1", name="Read", input={"path": "a/ü 🌍\u2028.txt", "limit": 3})
OTHER = ToolUseBlock(id="call_2", name="Read", input={"path": 'b "\\" {}.txt'})


async def _reply_of(vendor: Vendor, pieces: Sequence[bytes], **options: Any) -> Assembler:
    vendor.says(vendor.exchange(pieces, **options))
    async with vendor.provider() as provider:
        events = await collect(provider, ask("Go on.", model=vendor.wire.model))
    assert_order(events)
    return assembled(events)


def _same(vendor: Vendor, reply: Assembler, *blocks: Block, stop_reason: StopReason = "end_turn") -> None:
    content = reply.message("any", "any").content
    assert content == blocks, f"the reply is {content}, and was written as {blocks}"
    assert reply.stop_reason == stop_reason, f"the stop reason is {reply.stop_reason}, not {stop_reason}"
    if vendor.wire.reports_usage:
        counts = (reply.usage.input_tokens, reply.usage.output_tokens)
        assert counts == (USAGE.input_tokens, USAGE.output_tokens), f"the usage is {reply.usage}, not {USAGE}"


async def _text(vendor: Vendor) -> None:
    _same(vendor, await _reply_of(vendor, vendor.body(TEXT)), TextBlock(text=TEXT))


async def _bytewise(vendor: Vendor) -> None:
    pieces = vendor.body(TEXT, CALL, stop_reason="tool_use")
    reply = await _reply_of(vendor, pieces, bytewise=True)
    _same(vendor, reply, TextBlock(text=TEXT), CALL, stop_reason="tool_use")


async def _at_once(vendor: Vendor) -> None:
    reply = await _reply_of(vendor, [b"".join(vendor.body(TEXT))], chunked=False)
    _same(vendor, reply, TextBlock(text=TEXT))


async def _carriage_returns(vendor: Vendor) -> None:
    body = b"".join(vendor.body(TEXT)).replace(b"\n", b"\r\n")
    halves = [half for line in body.split(b"\n") for half in (line, b"\n")][:-1]
    _same(vendor, await _reply_of(vendor, halves), TextBlock(text=TEXT))


async def _live(vendor: Vendor) -> None:
    """The first text is given out while the vendor still holds the rest back."""
    pieces = vendor.body("first second third")
    seen = False
    vendor.says(vendor.exchange(pieces[: len(pieces) // 2], Hang()))
    async with (
        vendor.provider() as provider,
        provider.stream(ask("Go on.", model=vendor.wire.model)) as events,
    ):
        async for event in events:
            if isinstance(event, TextDelta):
                seen = True
                break
    assert seen, "no text came before the end"


async def _call(vendor: Vendor) -> None:
    reply = await _reply_of(vendor, vendor.body("I look.", CALL, stop_reason="tool_use"))
    _same(vendor, reply, TextBlock(text="I look."), CALL, stop_reason="tool_use")


async def _two_calls(vendor: Vendor) -> None:
    reply = await _reply_of(vendor, vendor.body(CALL, OTHER, stop_reason="tool_use"))
    _same(vendor, reply, CALL, OTHER, stop_reason="tool_use")


async def _empty_input(vendor: Vendor) -> None:
    call = replace(CALL, input={})
    reply = await _reply_of(vendor, vendor.body(call, stop_reason="tool_use"))
    _same(vendor, reply, call, stop_reason="tool_use")


async def _interleaved(vendor: Vendor) -> None:
    pieces = vendor.wire.interleaved(CALL, OTHER)
    assert pieces is not None
    calls = (await _reply_of(vendor, pieces)).message("any", "any").tool_uses
    assert calls == (CALL, OTHER), f"the calls are {calls}, and were written as {(CALL, OTHER)}"


async def _thinking(vendor: Vendor) -> None:
    blocks = (ThinkingBlock(text=TEXT, signature="c2lnbmVk+/=="), TextBlock(text="Done."))
    _same(vendor, await _reply_of(vendor, vendor.body(*blocks)), *blocks)


async def _hidden_thinking(vendor: Vendor) -> None:
    blocks = (ThinkingBlock(text="", signature="c2lnbmVk"), TextBlock(text="Done."))
    _same(vendor, await _reply_of(vendor, vendor.body(*blocks)), *blocks)


async def _cut_short(vendor: Vendor) -> None:
    reply = await _reply_of(vendor, vendor.body("So far", stop_reason="max_tokens"))
    _same(vendor, reply, TextBlock(text="So far"), stop_reason="max_tokens")


async def _noise(vendor: Vendor) -> None:
    """Noise stands before and after every event but the last, where a wire may already be over."""
    noise = vendor.wire.noise()
    pieces = vendor.body("Hello, world")
    mixed = [part for piece in pieces[:-1] for part in (*noise, piece)]
    _same(vendor, await _reply_of(vendor, [*mixed, *noise, pieces[-1]]), TextBlock(text="Hello, world"))


async def _history(vendor: Vendor) -> None:
    vendor.says(vendor.exchange(vendor.body("Done.")))
    async with vendor.provider() as provider:
        assert_order(await collect(provider, ask_with_history(model=vendor.wire.model)))
    (request,) = vendor.server.requests
    for text in ("Be brief.", "你好 🌍", "I look.", "no such file", "And now?"):
        written = (text.encode(), text.encode("ascii", "backslashreplace"))
        assert any(form in request.body for form in written) or text in str(request.json), (
            f"{text!r} is not sent"
        )


async def _key_and_headers(vendor: Vendor) -> None:
    vendor.says(vendor.exchange(vendor.body("Done.")))
    async with vendor.provider(headers={"x-conformance": "yes"}) as provider:
        await collect(provider, ask("Go on.", model=vendor.wire.model))
    (request,) = vendor.server.requests
    assert any(KEY in value for value in request.headers.values()), "the key is in no header"
    assert KEY not in request.path and KEY.encode() not in request.body, "the key is in the address or body"
    assert request.headers.get("x-conformance") == "yes", "the operator's headers are not sent"


async def _early(vendor: Vendor) -> None:
    """Leaving ends the request: a vendor bills what it goes on writing."""
    vendor.says(vendor.exchange(vendor.body("first second third")[:-1], Hang()))
    async with vendor.provider() as provider:
        async with provider.stream(ask("Go on.", model=vendor.wire.model)) as events:
            async for event in events:
                assert isinstance(event, MessageStart), f"the first event is {event!r}"
                break
        assert await _until_closed(vendor), "the connection stays open"


async def _cancelled(vendor: Vendor) -> None:
    vendor.says(vendor.exchange(vendor.body("first second third")[:-1], Hang()))
    async with vendor.provider() as provider:
        with anyio.CancelScope() as scope:
            async with provider.stream(ask("Go on.", model=vendor.wire.model)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        scope.cancel()
        assert scope.cancelled_caught, "the cancellation was swallowed"
        assert await _until_closed(vendor), "the connection stays open"


async def _until_closed(vendor: Vendor) -> bool:
    closed = partial(vendor.server.wait_for, lambda server: server.open_connections == 0)
    return await anyio.to_thread.run_sync(closed)


async def _kept_alive(vendor: Vendor) -> None:
    async with vendor.provider() as provider:
        for _ in range(3):
            vendor.says(vendor.exchange(vendor.body("Done.")))
            await collect(provider, ask("Go on.", model=vendor.wire.model))
    assert vendor.server.connections == 1, f"3 requests took {vendor.server.connections} connections"


async def _at_the_same_time(vendor: Vendor) -> None:
    texts = [f"reply {number}" for number in range(5)]
    vendor.says(*(vendor.exchange(vendor.body(text), Pause(0.01)) for text in texts))
    received: list[str] = []

    async with vendor.provider() as provider, anyio.create_task_group() as tasks:

        async def one() -> None:
            events = await collect(provider, ask("Go on.", model=vendor.wire.model))
            received.append(assembled(events).message("any", "any").text)

        for _ in texts:
            tasks.start_soon(one)
    assert sorted(received) == texts, f"five replies at the same time gave {sorted(received)}"


async def _models(vendor: Vendor) -> None:
    """Listing models reaches the server; what it answers there is the vendor's own affair."""
    async with vendor.provider() as provider:
        try:
            await provider.list_models()
        except ProviderError:
            pass


ALWAYS: Mapping[str, VendorCheck] = {
    "text arrives as it was written": _text,
    "the end of a piece may stand between any two bytes": _bytewise,
    "a whole answer may come in one piece without a length": _at_once,
    "the first text is given out before the last is written": _live,
    "a tool call arrives with its input": _call,
    "a tool call without input has an empty one": _empty_input,
    "a reply cut at max_tokens says so": _cut_short,
    "unknown events are passed over": _noise,
    "a history with tool results is sent whole and accepted": _history,
    "the key travels in a header, with the operator's headers": _key_and_headers,
    "leaving early closes the connection": _early,
    "a cancelled reply closes the connection": _cancelled,
    "requests after each other share a connection": _kept_alive,
    "replies at the same time do not mix": _at_the_same_time,
    "listing models raises nothing but provider errors": _models,
}
TEXTUAL: Mapping[str, VendorCheck] = {"lines may end in CRLF, cut between the two": _carriage_returns}
PARALLEL: Mapping[str, VendorCheck] = {"two calls of one reply stay two": _two_calls}
INTERLEAVED: Mapping[str, VendorCheck] = {"calls that grow in turns keep their own input": _interleaved}
THINKING: Mapping[str, VendorCheck] = {
    "thinking arrives with its signature": _thinking,
    "a signature without text is kept": _hidden_thinking,
}
