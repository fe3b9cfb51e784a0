"""Writes replies of Chat Completions as servers write them, to be given out by a loopback server.

server = LoopbackServer([
    chat.exchange(chat.text("I look."), chat.call("Read", {"path": "a.py"})),
    chat.exchange(chat.text("It is empty.")),
], validator=StrictChat())
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec import Struct

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Close, Exchange, Send, Step, sse

MODEL = "some-model"
"""The model that answers when a test does not say."""

USAGE = Usage(input_tokens=10, output_tokens=5)
"""What a reply costs when a test does not say."""

DONE = b"data: [DONE]\n\n"
"""The end of a stream."""

Delta = Mapping[str, Any]


class Written(Struct, frozen=True, kw_only=True):
    """A part of a reply: the deltas that tell it. Those of a call lack their index until it is known."""

    deltas: tuple[Delta, ...]
    is_call: bool = False


class Together(Struct, frozen=True, kw_only=True):
    """Calls that grow in turns."""

    calls: tuple[Written, ...]


class Style(Struct, frozen=True, kw_only=True):
    """How a server writes: the facts around the choices.

    `usage_in` is where it counts: in a chunk of its own (`extra`), in the `last` with a choice, or `nowhere`.
    `done` says whether it marks the end. `padding` is what it fills chunks up with.
    """

    usage_in: str = "extra"
    done: bool = True
    padding: bool = False
    spaced: bool = False
    created: int = 1


STYLE = Style()
"""The vendor's own way."""


def together(*calls: Written) -> Together:
    """Calls that are opened first and then grow in turns."""
    return Together(calls=calls)


def text(*pieces: str, piece_chars: int | None = None) -> Written:
    """Text in one delta per piece, or cut into pieces of `piece_chars` characters."""
    return Written(deltas=tuple({"content": cut} for cut in _cuts(pieces, piece_chars)))


def thinking(*pieces: str, piece_chars: int | None = None, member: str = "reasoning_content") -> Written:
    """Reasoning, as `member` of the deltas."""
    return Written(deltas=tuple({member: cut, "content": None} for cut in _cuts(pieces, piece_chars)))


def refusal(*pieces: str) -> Written:
    """The model's refusal."""
    return Written(deltas=tuple({"refusal": piece} for piece in pieces))


def call(
    name: str, input: Mapping[str, Any] | str | None = None, *, id: str = "", piece_chars: int = 16
) -> Written:
    """A tool call; `input` may be text, to be broken JSON. An id that is not given is made up."""
    arguments = input if isinstance(input, str) else _json(input or {})
    first = {
        "id": id or f"call_{uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": name, "arguments": ""},
    }
    pieces = [{"function": {"arguments": cut}} for cut in _cuts((arguments,), piece_chars) if cut]
    return Written(deltas=(first, *pieces), is_call=True)


def raw(*deltas: Delta) -> Written:
    """Deltas as they stand, for what only some servers write."""
    return Written(deltas=deltas)


def reply(
    *parts: Written | Together,
    finish: str | None = None,
    usage: Usage = USAGE,
    model: str = MODEL,
    id: str = "",
    style: Style = STYLE,
) -> list[bytes]:
    """The events of a whole reply, one item each; `finish` `None` follows from whether there is a call."""
    id = id or f"chatcmpl-{uuid4().hex[:24]}"
    deltas: list[Delta] = [{"role": "assistant", "content": None}]
    calls = 0
    for part in parts:
        if isinstance(part, Together):
            deltas += _numbered(part.calls, calls)
            calls += len(part.calls)
        elif part.is_call:
            deltas += _numbered((part,), calls)
            calls += 1
        else:
            deltas += part.deltas
    finish = finish or ("tool_calls" if calls else "stop")
    members: dict[str, Any] = {"id": id, "model": model, "style": style}
    out = [chunk([_choice(delta, None)], **members) for delta in deltas]
    counted = _usage(usage)
    last: dict[str, Any] = {"usage": counted} if style.usage_in == "last" else {}
    out.append(chunk([_choice({}, finish)], **members, **last))
    if style.usage_in == "extra":
        out.append(chunk([], **members, usage=counted))
    return [*out, DONE] if style.done else out


def exchange(*parts: Written | Together, bytewise: bool = False, **options: Any) -> Exchange:
    """An answer that streams `parts`, one flush per chunk; `options` are those of `reply`."""
    return sse(*reply(*parts, **options), bytewise=bytewise, headers=_stream_headers())


def broken(
    *parts: Written | Together, after: int, end: Step | bytes | None = None, **options: Any
) -> Exchange:
    """An answer that ends after `after` events: closed in the middle, or as `end` says."""
    steps: list[Step] = [Send(piece) for piece in reply(*parts, **options)[:after]]
    steps.append(Send(end) if isinstance(end, bytes) else end or Close())
    return Exchange(headers=_stream_headers(), steps=tuple(steps))


def chunk(
    choices: Sequence[Mapping[str, Any]],
    *,
    id: str = "chatcmpl-1",
    model: str = MODEL,
    style: Style = STYLE,
    **members: Any,
) -> bytes:
    """One chunk of the wire."""
    value: dict[str, Any] = {
        "id": id,
        "object": "chat.completion.chunk",
        "created": style.created,
        "model": model,
        "system_fingerprint": "fp_1",
        "choices": list(choices),
        **members,
    }
    if style.padding:
        value["obfuscation"] = "x" * (len(_json(value)) % 16 + 1)
    return data(value, spaced=style.spaced)


def data(value: object, *, spaced: bool = False) -> bytes:
    """One event with `value` as its data."""
    written = json.dumps(value, ensure_ascii=False) if spaced else _json(value)
    return f"data: {written}\n\n".encode()


def error_event(kind: str, message: str = "", *, code: str | int | None = None) -> bytes:
    """The event by which a running stream fails."""
    return data({"error": {"message": message or kind, "type": kind, "param": None, "code": code}})


def _numbered(calls: Sequence[Written], first: int) -> list[Delta]:
    out: list[Delta] = []
    for turn in range(max((len(call.deltas) for call in calls), default=0)):
        for index, made in enumerate(calls, first):
            if turn < len(made.deltas):
                out.append({"tool_calls": [{"index": index, **made.deltas[turn]}]})
    return out


def _choice(delta: Delta, finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
    }


def _stream_headers() -> dict[str, str]:
    return {"content-type": "text/event-stream", "x-request-id": "req_loopback"}


def _cuts(pieces: Sequence[str], piece_chars: int | None) -> list[str]:
    if piece_chars is None:
        return list(pieces)
    whole = "".join(pieces)
    return [whole[at : at + piece_chars] for at in range(0, len(whole), piece_chars)]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
