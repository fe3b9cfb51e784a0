"""The conformance suite against a small adapter that keeps the contract, and against ones that do not."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from caliban_common.message import Block, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.classify import error_for, error_for_type
from caliban_provider.errors import BadResponse, StreamInterrupted
from caliban_provider.http import HttpClient, HttpResponse
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEDecoder
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider.testing.conformance import Check, Wire, wire_checks
from caliban_provider.testing.exchange import Request
from caliban_provider.watchdog import watched


class PlainProvider:
    """Speaks a wire made for this test: the stream events themselves as JSON arrays in SSE."""

    name = "plain"
    family = "plain"

    def __init__(self, options: ProviderOptions) -> None:
        self.options = options
        self.http = HttpClient(connect_s=options.connect_s, read_s=options.first_byte_s)

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities()

    def decoder(self) -> Any:
        return SSEDecoder()

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        headers = {"authorization": f"Bearer {self.options.api_key}", **self.options.headers}
        body = json.dumps([str(message) for message in request.messages], ensure_ascii=False).encode()
        url = f"{self.options.base_url}/plain"
        async with self.http.stream("POST", url, headers=headers, body=body) as response:
            if response.status != 200:
                refusal = await response.read(65536)
                raise error_for(response.status, response.headers, refusal, provider=self.name)
            async with aclosing(self.events(response)) as events:
                yield events

    async def events(self, response: HttpResponse) -> AsyncGenerator[StreamEvent, None]:
        decoder = self.decoder()
        begun = False
        chunks = watched(
            response.chunks(), first_byte_s=self.options.first_byte_s, idle_s=self.options.idle_s
        )
        async for chunk in chunks:
            for event in decoder.feed(chunk):
                if (decoded := self.decode(event.data)) is not None:
                    begun = True
                    yield decoded
                    if isinstance(decoded, MessageStop):
                        return
        for event in decoder.close():
            try:
                if (decoded := self.decode(event.data)) is not None:
                    yield decoded
                    if isinstance(decoded, MessageStop):
                        return
            except BadResponse:
                break
        self.ended(begun)

    def ended(self, begun: bool) -> None:
        raise StreamInterrupted("the stream ended before the reply did")

    def decode(self, data: bytes) -> StreamEvent | None:
        if not data:
            return None
        try:
            kind, fields = json.loads(data)
        except (ValueError, TypeError) as error:
            raise BadResponse("an event is not what was agreed") from error
        if kind == "error":
            raise error_for_type(fields["type"], fields["message"], provider=self.name)
        if fields.get("usage"):
            fields["usage"] = Usage(**fields["usage"])
        kinds: dict[str, Any] = {
            made.__name__: made
            for made in (
                MessageStart, BlockStart, TextDelta, ThinkingDelta, SignatureDelta, InputDelta, BlockStop,
                MessageDelta, MessageStop,
            )
        }  # fmt: skip
        return kinds[kind](**fields) if kind in kinds else None

    async def list_models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def aclose(self) -> None:
        await self.http.aclose()


def event(kind: type | str, /, **fields: Any) -> bytes:
    name = kind if isinstance(kind, str) else kind.__name__
    return b"event: x\ndata: " + json.dumps([name, fields], ensure_ascii=False).encode() + b"\n\n"


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


class PlainWire(Wire):
    thinking = True

    def __init__(self, provider: type[PlainProvider] = PlainProvider) -> None:
        self.provider = provider

    def make(self, options: ProviderOptions) -> Provider:
        return self.provider(options)

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        counted = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        pieces = [event(MessageStart, id="r1", model="plain-1")]
        for index, block in enumerate(blocks):
            pieces += self.block(index, block)
        pieces.append(event(MessageDelta, stop_reason=stop_reason, usage=counted))
        return [*pieces, event(MessageStop)]

    def block(self, index: int, block: Block) -> list[bytes]:
        match block:
            case TextBlock(text=text):
                start = event(BlockStart, index=index, kind="text")
                deltas = [event(TextDelta, index=index, text=half) for half in halves(text)]
            case ThinkingBlock(text=text, signature=signature):
                start = event(BlockStart, index=index, kind="thinking")
                deltas = [event(ThinkingDelta, index=index, text=half) for half in halves(text)]
                deltas.append(event(SignatureDelta, index=index, signature=signature))
            case ToolUseBlock(id=id, name=name, input=input):
                start = event(BlockStart, index=index, kind="tool_use", id=id, name=name)
                written = json.dumps(input) if input else ""
                deltas = [event(InputDelta, index=index, partial_json=half) for half in halves(written)]
            case _:
                raise AssertionError(block)
        return [start, *deltas, event(BlockStop, index=index)]

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes]:
        a, b = self.block(1, first), self.block(2, second)
        mixed = [piece for pair in zip(a, b, strict=True) for piece in pair]
        return [event(MessageStart), *mixed, event(MessageStop)]

    def refusal(self, status: int) -> bytes:
        return json.dumps({"error": {"message": f"model refused {status}"}}).encode()

    def overloaded(self) -> bytes:
        return event("error", type="overloaded_error", message="Overloaded")

    def noise(self) -> list[bytes]:
        return [b": keep-alive\n\n", b"data:\n\n", b"event: ping\n\n", event("Novelty", index=1), b"\n\n"]

    def complaint(self, request: Request) -> str | None:
        return None if isinstance(request.json, list) else "the body is not a list"


def named(checks: Sequence[Check], name: str) -> Check:
    return next(check for check in checks if str(check) == name)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("check", wire_checks(PlainWire()), ids=str)
def test_an_adapter_that_keeps_the_contract_passes(check: Check, backend: str) -> None:
    check.run(backend)


class SplitsLikeStr(PlainProvider):
    """Decodes text and splits it like `str.splitlines`."""

    def decoder(self) -> Any:
        class Decoder(SSEDecoder):
            def feed(self, chunk: bytes) -> list[Any]:
                text = chunk.decode("utf-8", "replace")
                return super().feed("\n".join(text.splitlines()).encode() + b"\n" * text.endswith("\n"))

        return Decoder()


class TakesAnyEnd(PlainProvider):
    def ended(self, begun: bool) -> None:
        return


class KeyInAddress(PlainProvider):
    def __init__(self, options: ProviderOptions) -> None:
        super().__init__(
            ProviderOptions(
                base_url=f"{options.base_url}/{options.api_key}",
                api_key=options.api_key,
                headers=options.headers,
            )
        )


class DropsThinking(PlainProvider):
    def decode(self, data: bytes) -> StreamEvent | None:
        made = super().decode(data)
        return None if isinstance(made, SignatureDelta) else made


class FailsOnNews(PlainProvider):
    def decode(self, data: bytes) -> StreamEvent | None:
        if (made := super().decode(data)) is None:
            raise BadResponse("what is this?")
        return made


@pytest.mark.parametrize(
    ("provider", "failing"),
    [
        (SplitsLikeStr, "text arrives as it was written"),
        (SplitsLikeStr, "the end of a piece may stand between any two bytes"),
        (TakesAnyEnd, "a reply that ends without its end was interrupted"),
        (TakesAnyEnd, "bytes of another format are refused"),
        (KeyInAddress, "the key travels in a header, with the operator's headers"),
        (DropsThinking, "a signature without text is kept"),
        (FailsOnNews, "unknown events are passed over"),
    ],
)
def test_an_adapter_that_breaks_the_contract_fails_the_check_for_it(
    provider: type[PlainProvider], failing: str
) -> None:
    check = named(wire_checks(PlainWire(provider)), failing)
    with pytest.raises(Exception):
        check.run()
