"""Writes replies as the vendor writes them, to be given out by a loopback server.

server = LoopbackServer([
    wire.exchange(wire.text("Let me look."), wire.tool_use("Read", {"path": "a.py"})),
    wire.exchange(wire.text("It is empty.")),
], validator=StrictValidator())
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec import Struct, field

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Close, Exchange, Send, Step, answer, sse

MODEL = "claude-sonnet-4-6"
"""The model that answers when a test does not say."""

USAGE = Usage(input_tokens=10, output_tokens=5)
"""What a reply costs when a test does not say."""


class WireBlock(Struct, frozen=True):
    """A block of a reply: what its start says, the deltas that follow, and the whole of it."""

    start: Mapping[str, Any]
    deltas: tuple[Mapping[str, Any], ...] = ()
    whole: Mapping[str, Any] = field(default_factory=dict)


class Together(Struct, frozen=True):
    """Blocks that all begin before any of them ends."""

    blocks: tuple[WireBlock, ...]


def together(*blocks: WireBlock) -> Together:
    """Blocks that are opened first and then grow in turns."""
    return Together(blocks)


def text(*pieces: str, piece_chars: int | None = None) -> WireBlock:
    """Text in one delta per piece, or cut into pieces of `piece_chars` characters."""
    cut = _cut("".join(pieces), piece_chars) if piece_chars else pieces
    deltas = tuple({"type": "text_delta", "text": piece} for piece in cut)
    return WireBlock({"type": "text", "text": ""}, deltas, {"type": "text", "text": "".join(pieces)})


def thinking(*pieces: str, signature: str = "c2lnbmF0dXJl", piece_chars: int | None = None) -> WireBlock:
    """Reasoning, and its signature in the last delta; no piece at all is reasoning that is not shown."""
    cut = _cut("".join(pieces), piece_chars) if piece_chars else pieces
    deltas: list[Mapping[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in cut]
    deltas.append({"type": "signature_delta", "signature": signature})
    whole = {"type": "thinking", "thinking": "".join(pieces), "signature": signature}
    return WireBlock({"type": "thinking", "thinking": "", "signature": ""}, tuple(deltas), whole)


def redacted(data: str) -> WireBlock:
    """Reasoning that is encrypted."""
    whole = {"type": "redacted_thinking", "data": data}
    return WireBlock(whole, (), whole)


def tool_use(
    name: str,
    input: Mapping[str, Any] | str | None = None,
    *,
    id: str | None = None,
    piece_chars: int = 16,
) -> WireBlock:
    """A tool call; `input` may be text, to be broken JSON, and `None` sends no delta at all.

    An `id` that is not given is made up and unique.
    """
    raw = input if isinstance(input, str) else "" if input is None else _json(input)
    pieces = ["", *_cut(raw, piece_chars)] if raw else []
    deltas = tuple({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    start = {"type": "tool_use", "id": id or f"toolu_{uuid4().hex[:24]}", "name": name, "input": {}}
    return WireBlock(start, deltas, {**start, "input": input if isinstance(input, Mapping) else {}})


def server_block(content: Mapping[str, Any], *, input: Mapping[str, Any] | None = None) -> WireBlock:
    """A block of a kind that only the vendor knows, such as `server_tool_use`; `input` comes in deltas."""
    if input is None:
        return WireBlock(content, (), content)
    deltas = tuple(
        {"type": "input_json_delta", "partial_json": piece} for piece in ["", *_cut(_json(input), 16)]
    )
    return WireBlock({**content, "input": {}}, deltas, {**content, "input": input})


def reply(
    *blocks: WireBlock | Together,
    stop_reason: str | None = None,
    usage: Usage = USAGE,
    model: str = MODEL,
    id: str = "",
    detail: str | None = None,
) -> list[bytes]:
    """The events of a whole reply, one item each.

    `stop_reason` `None` is `tool_use` when there is a call, else `end_turn`. `detail` explains a refusal.
    """
    groups = [block.blocks if isinstance(block, Together) else (block,) for block in blocks]
    if stop_reason is None:
        calls = any(block.start.get("type") == "tool_use" for group in groups for block in group)
        stop_reason = "tool_use" if calls else "end_turn"
    details = {"type": "refusal", "category": None, "explanation": detail} if detail else None
    body: list[bytes] = []
    index = 0
    for group in groups:
        body += _blocks(group, index)
        index += len(group)
    return [
        message_start(usage=usage, model=model, id=id),
        event("ping"),
        *body,
        event(
            "message_delta",
            delta={"stop_reason": stop_reason, "stop_sequence": None, "stop_details": details},
            usage=_final_usage(usage),
        ),
        event("message_stop"),
    ]


def exchange(*blocks: WireBlock | Together, bytewise: bool = False, **options: Any) -> Exchange:
    """An answer that streams `blocks`, one flush per event; `options` are those of `reply`."""
    return sse(*reply(*blocks, **options), bytewise=bytewise, headers=_stream_headers())


def broken(
    *blocks: WireBlock | Together, after: int, end: Step | bytes | None = None, **options: Any
) -> Exchange:
    """An answer that ends after `after` events: closed in the middle, or as `end` says.

    `end` may be an event, such as `error_event("overloaded_error")`; the answer then ends as it should.
    """
    steps: list[Step] = [Send(piece) for piece in reply(*blocks, **options)[:after]]
    steps.append(Send(end) if isinstance(end, bytes) else end or Close())
    return Exchange(headers=_stream_headers(), steps=tuple(steps))


def event(kind: str, **members: Any) -> bytes:
    """One event of the wire."""
    return f"event: {kind}\ndata: {_json({'type': kind, **members})}\n\n".encode()


def message_start(*, usage: Usage = USAGE, model: str = MODEL, id: str = "") -> bytes:
    """The event that begins a reply."""
    message: dict[str, Any] = {
        "model": model,
        "id": id or f"msg_{uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_prompt_usage(usage), "output_tokens": 1, "service_tier": "standard"},
    }
    return event("message_start", message=message)


def error_event(kind: str, message: str = "") -> bytes:
    """The event by which a running stream fails, such as `overloaded_error`."""
    return event("error", error={"details": None, "type": kind, "message": message or kind})


def error_body(kind: str, message: str) -> bytes:
    """The body of an answer that is an error."""
    error = {"type": kind, "message": message}
    return _json({"type": "error", "error": error, "request_id": "req_loopback"}).encode()


def failure(status: int, kind: str, message: str = "", **headers: str) -> Exchange:
    """An answer that is an error; `_` in a header's name stands for `-`."""
    named = {"content_type": "application/json", "request_id": "req_loopback", **headers}
    return answer(status, error_body(kind, message or kind), **named)


def models(*ids: str, has_more: bool = False) -> Exchange:
    """One page of the list of models."""
    data = [{"type": "model", "id": id, "display_name": id.title(), "max_tokens": 64_000} for id in ids]
    page = {"data": data, "has_more": has_more, "last_id": ids[-1] if ids else None}
    return answer(200, _json(page), content_type="application/json")


def _blocks(blocks: Sequence[WireBlock], first: int) -> list[bytes]:
    """The events of blocks that grow in turns, numbered from `first`."""
    numbered = list(enumerate(blocks, first))
    out = [event("content_block_start", index=index, content_block=block.start) for index, block in numbered]
    for turn in range(max((len(block.deltas) for block in blocks), default=0)):
        for index, block in numbered:
            if turn < len(block.deltas):
                out.append(event("content_block_delta", index=index, delta=block.deltas[turn]))
    return out + [event("content_block_stop", index=index) for index, _ in numbered]


def _prompt_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }


def _final_usage(usage: Usage) -> dict[str, Any]:
    thinking = {"thinking_tokens": usage.thinking_tokens} if usage.thinking_tokens else None
    details = {"output_tokens_details": thinking} if thinking else {}
    return {"output_tokens": usage.output_tokens, **details}


def _stream_headers() -> dict[str, str]:
    return {"content-type": "text/event-stream; charset=utf-8", "request-id": "req_loopback"}


def _cut(value: str, piece_chars: int) -> list[str]:
    return [value[at : at + piece_chars] for at in range(0, len(value), piece_chars)]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
