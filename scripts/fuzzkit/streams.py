"""Replies of models in bytes: however they are cut or spoiled, a decoder gives a message or its own error."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import anyio
from benchkit import streams
from benchkit.decode import Body, parts

from caliban_provider.assemble import Assembler
from caliban_provider.errors import ProviderError
from caliban_provider.reader import ReplyReader, StreamTimeouts
from fuzzkit.main import Miss

_ROUND = 10
_TIMEOUT_S = 20.0
_JUNK = (
    b"\0",
    b"\xff",
    b"\n",
    b"\r\n\r\n",
    b"data: ",
    b"data: {}\n\n",
    b"{",
    b"}",
    b'"',
    b"[DONE]",
    b"event: error\n",
    b"\xe2\x80",
)
_TAIL_EVENTS = 3
"""The last events of a reply: one that lacks only some of them may count as whole."""


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Whole replies in other pieces, cut replies, and replies with other bytes in them."""
    while True:
        misses: list[Miss] = []
        for _ in range(_ROUND):
            name = pick.choice(sorted(streams.WRITERS))
            written = streams.WRITERS[name](streams.content(pick.randrange(1, 8)))
            body = b"".join(written.events)
            misses += _tried(pick, name, written.model, body, written.events)
        yield _ROUND, misses


def _tried(
    pick: random.Random, name: str, model: str, body: bytes, events: Sequence[bytes]
) -> Iterator[Miss]:
    whole = _read(name, model, [body])
    if isinstance(whole, str):
        yield Miss(name, f"a whole reply was not read: {whole}")
        return
    again = _read(name, model, _pieces(pick, body))
    if again != whole:
        yield Miss(name, f"in other pieces it is another message: {again!r:.200}")
    end = len(body) - sum(len(event) for event in events[-_TAIL_EVENTS:])
    cut = body[: pick.randrange(max(end, 1))]
    short = _read(name, model, _pieces(pick, cut))
    if not isinstance(short, str) or not short.startswith("ProviderError"):
        yield Miss(repr(cut[-200:]), f"{name}: a cut reply ended with {short!r:.200}")
    spoiled = _spoiled(pick, body)
    odd = _read(name, model, _pieces(pick, spoiled))
    if isinstance(odd, str) and not odd.startswith("ProviderError"):
        yield Miss(repr(spoiled[:2000]), f"{name}: a spoiled reply raised {odd:.300}")


def _pieces(pick: random.Random, body: bytes) -> list[bytes]:
    pieces, at = [], 0
    size = pick.choice((1, 17, 200, 200, 5000)) if len(body) < 8_000 else pick.choice((100, 2_000, 20_000))
    while at < len(body):
        step = pick.randrange(1, size + 1)
        pieces.append(body[at : at + step])
        at += step
    return pieces


def _spoiled(pick: random.Random, body: bytes) -> bytes:
    for _ in range(pick.randrange(1, 4)):
        at = pick.randrange(len(body))
        size = pick.choice((0, 1, 1, 5, 60))
        other = pick.choice((*_JUNK, b"", bytes([pick.randrange(256)])))
        body = body[:at] + other + body[at + size :]
        if not body:
            return b"x"
    return body


def _read(name: str, model: str, pieces: Sequence[bytes]) -> tuple[object, ...] | str:
    """What a reply says, or the name of what it raised."""
    return anyio.run(_reading, name, model, pieces)


async def _reading(name: str, model: str, pieces: Sequence[bytes]) -> tuple[object, ...] | str:
    timeouts = StreamTimeouts(first_byte_s=_TIMEOUT_S, idle_s=_TIMEOUT_S, trail_s=0)
    assembler = Assembler()
    try:
        with anyio.fail_after(_TIMEOUT_S):
            async for event in ReplyReader(Body(pieces), *parts(name, model), timeouts):
                assembler.add(event)
            message = assembler.message("any", model)
    except ProviderError as error:
        return f"ProviderError {type(error).__name__}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return message.text, *(str(call.input) for call in message.tool_uses)
