"""Decoding beside the vendor's client: the same bytes in memory, in the same pieces, to the whole message.

Runs as a child (`python -m benchkit.decode NAME DELTAS`) in the environment that has both, and prints one
JSON object. The two sides take turns in one process, whose CPU time is measured. Ours is what a provider
runs: framing, decoder, reader and assembler. The client makes a request too, a small part of its time.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from benchkit import streams, vendors
from benchkit.streams import Content, Written
from benchkit.vendors import Said

PAIRS = 7
PIECE_BYTES = 16_384

Ours = Callable[[], Awaitable[Said]]


class Body:
    """An answer in memory."""

    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._left = iter(chunks)

    def chunks(self) -> AsyncIterator[bytes]:
        """The pieces, at once."""
        return self

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        for chunk in self._left:
            return chunk
        raise StopAsyncIteration


def parts(name: str, model: str) -> tuple[Any, Any]:
    """The framing and the decoder for one reply."""
    from caliban_provider.ndjson import NDJSONDecoder
    from caliban_provider.sse import SSEDecoder

    match name:
        case "openai responses":
            from caliban_provider_openai.responses.decode import ResponsesDecoder

            return SSEDecoder(), ResponsesDecoder(model=model)
        case "openai chat":
            from caliban_provider_openai.chat.decode import ChatDecoder

            return SSEDecoder(), ChatDecoder(model=model)
        case "google":
            from caliban_provider_google.decode import Decoder as GoogleDecoder

            return SSEDecoder(), GoogleDecoder(model=model)
        case "ollama":
            from caliban_provider_ollama.decode import Decoder as OllamaDecoder

            return NDJSONDecoder(), OllamaDecoder(model=model)
        case _:
            from caliban_provider_anthropic.decode import Decoder
            from caliban_provider_bedrock.framing import BedrockFraming

            return BedrockFraming() if name == "bedrock" else SSEDecoder(), Decoder(model=model)


def ours(name: str, written: Written, chunks: Sequence[bytes]) -> Ours:
    """A reading of the reply by what its provider runs."""
    from caliban_provider.assemble import Assembler
    from caliban_provider.reader import ReplyReader, StreamTimeouts

    timeouts = StreamTimeouts(first_byte_s=300, idle_s=90, trail_s=10 if name == "google" else 0)

    async def read() -> Said:
        assembler = Assembler()
        async for event in ReplyReader(Body(chunks), *parts(name, written.model), timeouts):
            assembler.add(event)
        message = assembler.message("any", written.model)
        return message.text, [call.input for call in message.tool_uses]

    return read


async def compare(name: str, deltas: int) -> dict[str, float]:
    """Medians of both sides; of ours alone where the client is not installed."""
    content = streams.content(deltas)
    written = streams.WRITERS[name](content)
    body = b"".join(written.events)
    chunks = [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]
    read = ours(name, written, chunks)
    check(await read(), content)
    try:
        ask = vendors.CLIENTS[name](written, chunks)
        check(ask(), content)
    except ImportError:
        ask = None
    gc.collect()
    gc.freeze()
    times: dict[str, list[float]] = {"": [], "SDK ": []}
    for _ in range(PAIRS):
        gc.collect()
        begun = time.process_time()
        await read()
        times[""].append(time.process_time() - begun)
        if ask is not None:
            gc.collect()
            begun = time.process_time()
            ask()
            times["SDK "].append(time.process_time() - begun)
    figures: dict[str, float] = {}
    medians = {side: statistics.median(spent) for side, spent in times.items() if spent}
    for side, spent_s in medians.items():
        figures[f"{side}MB/s"] = len(body) / 1e6 / spent_s
        figures[f"{side}events/s"] = len(written.events) / spent_s
    if ask is not None:
        figures["times the SDK"] = medians["SDK "] / medians[""]
    return figures


def check(got: Said, said: Content) -> None:
    """A side that made something else of the reply was not measured."""
    text, calls = got
    inputs = [json.loads(call) if isinstance(call, str) else dict(call) for call in calls]
    if (text, inputs) != (said.text, list(said.inputs)):
        raise SystemExit(f"bench: another message was decoded: {len(text)} characters, {len(inputs)} calls")


if __name__ == "__main__":
    import anyio

    sys.stdout.write(json.dumps(anyio.run(compare, sys.argv[1], int(sys.argv[2]))))
