"""Writes replies as the vendor writes them, to be given out by a loopback server.

server = LoopbackServer([
    wire.exchange(wire.text("Let me look."), wire.call("Read", {"path": "a.py"}, signature="U2ln")),
    wire.exchange(wire.text("It is empty.")),
], validator=StrictValidator())
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Close, Exchange, Send, Step, answer, sse

MODEL = "gemini-3.8-flash"
"""The model that answers when a test does not say."""

USAGE = Usage(input_tokens=10, output_tokens=5)
"""What a reply costs when a test does not say."""

Part: TypeAlias = Mapping[str, Any]
Event: TypeAlias = tuple[Part, ...]
"""The parts that one event of the stream carries."""

Item: TypeAlias = tuple[Event, ...]
"""A piece of a reply: the events that it takes."""


def text(*pieces: str, signature: str | None = None, piece_chars: int | None = None) -> Item:
    """Text in one event per piece, or cut into pieces of `piece_chars`; the last one is signed."""
    return _pieces(pieces, {}, signature, piece_chars)


def thinking(*pieces: str, signature: str | None = None, piece_chars: int | None = None) -> Item:
    """Reasoning that is shown, likewise."""
    return _pieces(pieces, {"thought": True}, signature, piece_chars)


def call(
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    id: str | None = None,
    signature: str | None = None,
) -> Item:
    """A call; the wire leaves out an `id` that is `None`."""
    body = {**({"id": id} if id is not None else {}), "name": name, "args": dict(args or {})}
    return (({"functionCall": body, **_signed(signature)},),)


def part(**members: Any) -> Item:
    """A part of any kind."""
    return ((members,),)


def together(*items: Item) -> Item:
    """Everything in one event, as parallel calls come."""
    return (tuple(piece for item in items for event in item for piece in event),)


def reply(
    *items: Item,
    finish: str | None = "STOP",
    usage: Usage = USAGE,
    model: str = MODEL,
    id: str = "resp_1",
    candidate: Mapping[str, Any] | None = None,
) -> list[bytes]:
    """The events of a whole reply; the last one has an empty text, the finish reason and the counts.

    `candidate` is what the last candidate says beside, such as `finishMessage`; `finish` `None` leaves the
    reply without an end.
    """
    events = [event for item in items for event in item]
    out = [
        chunk(*parts, usage=_so_far(usage, place), model=model, id=id) for place, parts in enumerate(events)
    ]
    if finish is not None:
        last = {"finishReason": finish, **(candidate or {})}
        out.append(chunk({"text": ""}, usage=_counts(usage), candidate=last, model=model, id=id))
    return out


def exchange(*items: Item, bytewise: bool = False, **options: Any) -> Exchange:
    """An answer that streams `items`, one flush per event; `options` are those of `reply`."""
    return sse(*reply(*items, **options), bytewise=bytewise, headers=dict(_HEADERS))


def raw(*chunks: Mapping[str, Any]) -> Exchange:
    """An answer of these objects, one event each."""
    return sse(*map(event, chunks), headers=dict(_HEADERS))


def broken(*items: Item, after: int, end: Step | bytes | None = None, **options: Any) -> Exchange:
    """An answer that ends after `after` events: closed in the middle, or as `end` says.

    `end` may be an event, such as `event(error(503, "UNAVAILABLE"))`; the answer then ends as it should.
    """
    steps: list[Step] = [Send(piece) for piece in reply(*items, **options)[:after]]
    steps.append(Send(end) if isinstance(end, bytes) else end or Close())
    return Exchange(headers=dict(_HEADERS), steps=tuple(steps))


def chunk(
    *parts: Part,
    usage: Mapping[str, Any] | None = None,
    candidate: Mapping[str, Any] | None = None,
    model: str = MODEL,
    id: str = "resp_1",
) -> bytes:
    """One event of a reply."""
    first = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **(candidate or {})}
    counts = {"usageMetadata": dict(usage)} if usage is not None else {}
    return event({"candidates": [first], **counts, "modelVersion": model, "responseId": id})


def event(value: Mapping[str, Any]) -> bytes:
    """An object as one event."""
    return f"data: {_json(value)}\r\n\r\n".encode()


def error(code: int, status: str, message: str = "", **details: Any) -> dict[str, Any]:
    """An error object; `retry_delay="2s"` and `reason="…"` become its details."""
    kinds: list[dict[str, Any]] = []
    if delay := details.get("retry_delay"):
        kinds.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    if reason := details.get("reason"):
        kinds.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason})
    body: dict[str, Any] = {"code": code, "message": message or status, "status": status}
    return {"error": {**body, **({"details": kinds} if kinds else {})}}


def failure(code: int, status: str, message: str = "", **details: Any) -> Exchange:
    """An answer that is an error; `details` are those of `error`."""
    body = _json(error(code, status, message, **details))
    return answer(code, body, content_type="application/json; charset=UTF-8")


def models(*names: str, token: str | None = None) -> Exchange:
    """One page of the list of models."""
    listed = [
        {
            "name": f"models/{name}",
            "displayName": name.title(),
            "inputTokenLimit": 1_000_000,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
        for name in names
    ]
    page = {"models": listed, **({"nextPageToken": token} if token else {})}
    return answer(200, _json(page), content_type="application/json; charset=UTF-8")


_HEADERS = (("content-type", "text/event-stream"),)


def _pieces(
    pieces: Sequence[str], kind: Mapping[str, Any], signature: str | None, piece_chars: int | None
) -> Item:
    whole = "".join(pieces)
    if piece_chars:
        pieces = [whole[at : at + piece_chars] for at in range(0, len(whole), piece_chars)]
    events: list[Event] = [({"text": piece, **kind},) for piece in pieces or ("",)]
    if signature is not None:
        events[-1] = ({**events[-1][0], **_signed(signature)},)
    return tuple(events)


def _signed(signature: str | None) -> dict[str, str]:
    return {} if signature is None else {"thoughtSignature": signature}


def _counts(usage: Usage) -> dict[str, Any]:
    out: dict[str, Any] = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.thinking_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
    if usage.cache_read_tokens:
        out["cachedContentTokenCount"] = usage.cache_read_tokens
    if usage.thinking_tokens:
        out["thoughtsTokenCount"] = usage.thinking_tokens
    return out


def _so_far(usage: Usage, place: int) -> dict[str, Any]:
    """The counts that an event in the middle tells: of the prompt, and of what was written up to there."""
    written = min(place + 1, max(usage.output_tokens - usage.thinking_tokens, 0))
    prompt = usage.input_tokens
    return {"promptTokenCount": prompt, "candidatesTokenCount": written, "totalTokenCount": prompt + written}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ": "))
