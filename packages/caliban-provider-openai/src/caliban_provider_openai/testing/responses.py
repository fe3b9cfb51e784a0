"""Writes replies of Responses as the vendor writes them, to be given out by a loopback server.

server = LoopbackServer([
    responses.exchange(responses.reasoning("Hm."), responses.call("Read", {"path": "a.py"})),
    responses.exchange(responses.text("It is empty.")),
], validator=StrictResponses())
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec import Struct

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Close, Exchange, Send, Step, sse

MODEL = "gpt-5.5"
"""The model that answers when a test does not say."""

USAGE = Usage(input_tokens=10, output_tokens=5)
"""What a reply costs when a test does not say."""


class Written(Struct, frozen=True, kw_only=True):
    """An output item: the whole of it, what its start says, and the events between, without places."""

    whole: Mapping[str, Any]
    start: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()


class Together(Struct, frozen=True, kw_only=True):
    """Items that all begin before any of them ends."""

    items: tuple[Written, ...]


class Ending(Struct, frozen=True, kw_only=True):
    """How a reply ends: `status` completed, incomplete (for `reason`) or failed (with `code`)."""

    status: str = "completed"
    reason: str = ""
    code: str = ""
    message: str = "It failed."


COMPLETED = Ending()
"""The end of a whole reply."""


def together(*items: Written) -> Together:
    """Items that are opened first and then grow in turns."""
    return Together(items=items)


def text(*pieces: str, piece_chars: int | None = None, phase: str | None = None) -> Written:
    """A message in one delta per piece, or cut into pieces of `piece_chars` characters."""
    return _message("output_text", "text", pieces, piece_chars, phase)


def refusal(*pieces: str) -> Written:
    """A message in which the model refuses."""
    return _message("refusal", "refusal", pieces, None, None)


def reasoning(
    *pieces: str, encrypted: str | None = "gAAAA", id: str = "", piece_chars: int | None = None
) -> Written:
    """Reasoning with a summary of one part per piece; its ciphertext comes whole at its end only."""
    id = id or _id("rs")
    summary = [{"type": "summary_text", "text": piece} for piece in pieces]
    events: list[tuple[str, Mapping[str, Any]]] = []
    for place, piece in enumerate(pieces):
        at = {"item_id": id, "summary_index": place}
        empty = {"type": "summary_text", "text": ""}
        events.append(("response.reasoning_summary_part.added", {**at, "part": empty}))
        for cut in _cut(piece, piece_chars):
            events.append(("response.reasoning_summary_text.delta", {**at, "delta": cut}))
        events.append(("response.reasoning_summary_text.done", {**at, "text": piece}))
        events.append(("response.reasoning_summary_part.done", {**at, "part": summary[place]}))
    whole: dict[str, Any] = {"id": id, "type": "reasoning", "summary": summary}
    start = {**whole, "summary": []}
    if encrypted is not None:
        whole["encrypted_content"] = encrypted
        start["encrypted_content"] = encrypted[:2]
    return Written(whole=whole, start=start, events=tuple(events))


def call(
    name: str, input: Mapping[str, Any] | str | None = None, *, call_id: str = "", piece_chars: int = 16
) -> Written:
    """A function call; `input` may be text, to be broken JSON. An id that is not given is made up."""
    id = _id("fc")
    arguments = input if isinstance(input, str) else _json(input or {})
    whole = {
        "id": id,
        "type": "function_call",
        "status": "completed",
        "arguments": arguments,
        "call_id": call_id or _id("call"),
        "name": name,
    }
    deltas = [
        ("response.function_call_arguments.delta", {"item_id": id, "delta": cut})
        for cut in _cut(arguments, piece_chars)
    ]
    done = ("response.function_call_arguments.done", {"item_id": id, "arguments": arguments, "name": name})
    return Written(
        whole=whole,
        start={**whole, "status": "in_progress", "arguments": ""},
        events=(*deltas, done),
    )


def hosted(item: Mapping[str, Any]) -> Written:
    """An item of a kind that only the vendor knows, such as `web_search_call`."""
    return Written(whole=item, start=item)


def reply(
    *items: Written | Together,
    usage: Usage = USAGE,
    model: str = MODEL,
    id: str = "",
    ending: Ending = COMPLETED,
) -> list[bytes]:
    """The events of a whole reply, one item each."""
    id = id or _id("resp")
    groups = [item.items if isinstance(item, Together) else (item,) for item in items]
    wholes = [item.whole for group in groups for item in group]
    begun = _response(id, model, {"status": "in_progress", "output": []})
    events: list[tuple[str, Mapping[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
    ]
    place = 0
    for group in groups:
        events += _group(group, place)
        place += len(group)
    ended: dict[str, Any] = {"status": ending.status, "output": wholes, "usage": _usage(usage)}
    if ending.reason:
        ended["incomplete_details"] = {"reason": ending.reason}
    if ending.code:
        ended["error"] = {"code": ending.code, "message": ending.message}
    events.append((f"response.{ending.status}", {"response": _response(id, model, ended)}))
    return [event(kind, **members, sequence_number=number) for number, (kind, members) in enumerate(events)]


def exchange(*items: Written | Together, bytewise: bool = False, **options: Any) -> Exchange:
    """An answer that streams `items`, one flush per event; `options` are those of `reply`."""
    return sse(*reply(*items, **options), bytewise=bytewise, headers=_stream_headers())


def broken(
    *items: Written | Together, after: int, end: Step | bytes | None = None, **options: Any
) -> Exchange:
    """An answer that ends after `after` events: closed in the middle, or as `end` says."""
    steps: list[Step] = [Send(piece) for piece in reply(*items, **options)[:after]]
    steps.append(Send(end) if isinstance(end, bytes) else end or Close())
    return Exchange(headers=_stream_headers(), steps=tuple(steps))


def event(kind: str, **members: Any) -> bytes:
    """One event of the wire: its members in alphabetical order, as the vendor sends them."""
    data = {"type": kind, **dict(sorted(members.items()))}
    return f"event: {kind}\ndata: {_json(data)}\n\n".encode()


def error_event(code: str, message: str = "") -> bytes:
    """The event by which a running stream fails."""
    return event("error", code=code, message=message or code, param=None, sequence_number=99)


def _message(
    kind: str, member: str, pieces: Sequence[str], piece_chars: int | None, phase: str | None
) -> Written:
    id = _id("msg")
    text = "".join(pieces)
    part: dict[str, Any] = {"type": kind, member: text}
    if kind == "output_text":
        part.update(annotations=[], logprobs=[])
    whole: dict[str, Any] = {
        "id": id,
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }
    if phase is not None:
        whole["phase"] = phase
    at: dict[str, Any] = {"item_id": id, "content_index": 0}
    logs: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    cuts = _cut(text, piece_chars) if piece_chars else list(pieces)
    events: list[tuple[str, Mapping[str, Any]]] = [
        ("response.content_part.added", {**at, "part": {**part, member: ""}}),
        *((f"response.{kind}.delta", {**at, **logs, "delta": cut, **_padding(cut)}) for cut in cuts),
        (f"response.{kind}.done", {**at, **logs, member: text}),
        ("response.content_part.done", {**at, "part": part}),
    ]
    start = {**whole, "status": "in_progress", "content": []}
    return Written(whole=whole, start=start, events=tuple(events))


def _group(items: Sequence[Written], first: int) -> list[tuple[str, Mapping[str, Any]]]:
    numbered = list(enumerate(items, first))
    out: list[tuple[str, Mapping[str, Any]]] = [
        ("response.output_item.added", {"output_index": place, "item": item.start})
        for place, item in numbered
    ]
    for turn in range(max((len(item.events) for item in items), default=0)):
        for place, item in numbered:
            if turn < len(item.events):
                kind, members = item.events[turn]
                out.append((kind, {"output_index": place, **members}))
    return out + [
        ("response.output_item.done", {"output_index": place, "item": item.whole}) for place, item in numbered
    ]


def _response(id: str, model: str, members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "object": "response",
        "created_at": 1,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "parallel_tool_calls": True,
        "store": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None,
        **members,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _padding(cut: str) -> dict[str, str]:
    """The vendor fills events up to hide their length."""
    return {"obfuscation": "x" * (16 - len(cut) % 16)}


def _stream_headers() -> dict[str, str]:
    return {"content-type": "text/event-stream; charset=utf-8", "x-request-id": "req_loopback"}


def _id(kind: str) -> str:
    return f"{kind}_{uuid4().hex[:24]}"


def _cut(value: str, piece_chars: int | None) -> list[str]:
    size = piece_chars or max(1, len(value))
    return [value[at : at + size] for at in range(0, len(value), size)]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
