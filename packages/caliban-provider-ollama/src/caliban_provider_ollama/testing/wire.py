"""Writes replies as the server writes them, to be given out by a loopback server.

server = LoopbackServer(wire.Server([
    wire.exchange(wire.text("Let me look."), wire.call("Read", {"path": "a.py"})),
    wire.exchange(wire.text("It is empty.")),
]), validator=StrictValidator())
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Close, Exchange, Request, Send, Step, answer

MODEL = "llama3.1"
"""The model that answers when a test does not say."""

USAGE = Usage(input_tokens=10, output_tokens=5)
"""What a reply costs when a test does not say."""

CONTENT_TYPE = "application/x-ndjson"

Item: TypeAlias = tuple[Mapping[str, Any], ...]
"""A piece of a reply: the messages of the lines that it takes."""


def text(*pieces: str, piece_chars: int | None = None) -> Item:
    """Text in one line per piece, or cut into pieces of `piece_chars` characters."""
    return tuple({"content": piece} for piece in _cut(pieces, piece_chars))


def thinking(*pieces: str, piece_chars: int | None = None) -> Item:
    """Reasoning that is shown, likewise."""
    return tuple({"content": "", "thinking": piece} for piece in _cut(pieces, piece_chars))


def call(name: str, arguments: Mapping[str, Any] | None = None, *, id: str | None = None) -> Item:
    """A call in a line of its own; newer servers give an `id`."""
    function = {"name": name, "arguments": dict(arguments or {})}
    return ({"content": "", "tool_calls": [{**({"id": id} if id else {}), "function": function}]},)


def together(*items: Item) -> Item:
    """Calls in one line."""
    calls = [made for item in items for message in item for made in message.get("tool_calls", ())]
    return ({"content": "", "tool_calls": calls},)


def reply(
    *items: Item, done_reason: str | None = "stop", usage: Usage | None = USAGE, model: str = MODEL
) -> list[bytes]:
    """The lines of a whole reply; `done_reason` `None` leaves it without its end."""
    messages = [message for item in items for message in item]
    out = [line(message, number, model=model) for number, message in enumerate(messages)]
    if done_reason is not None:
        out.append(last(done_reason, usage=usage, number=len(messages), model=model))
    return out


def exchange(*items: Item, bytewise: bool = False, **options: Any) -> Exchange:
    """An answer that streams `items`, one flush per line; `options` are those of `reply`."""
    steps = tuple(Send(piece) for piece in reply(*items, **options))
    return Exchange(headers={"content-type": CONTENT_TYPE}, steps=steps, bytewise=bytewise)


def broken(*items: Item, after: int, end: Step | bytes | None = None, **options: Any) -> Exchange:
    """An answer that ends after `after` lines: closed in the middle, or as `end` says.

    `end` may be a line, such as `error_line("out of memory")`; the answer then ends as it should.
    """
    steps: list[Step] = [Send(piece) for piece in reply(*items, **options)[:after]]
    steps.append(Send(end) if isinstance(end, bytes) else end or Close())
    return Exchange(headers={"content-type": CONTENT_TYPE}, steps=tuple(steps))


def line(message: Mapping[str, Any], number: int = 0, *, model: str = MODEL) -> bytes:
    """One line of a reply; `number` moves the clock."""
    whole = {"role": "assistant", **message}
    return _line({"model": model, "created_at": _time(number), "message": whole, "done": False})


def last(
    done_reason: str = "stop", *, usage: Usage | None = USAGE, number: int = 0, model: str = MODEL
) -> bytes:
    """The line that ends a reply."""
    out: dict[str, Any] = {
        "model": model,
        "created_at": _time(number),
        "message": {"role": "assistant", "content": ""},
        "done_reason": done_reason,
        "done": True,
        "total_duration": 1_000_000,
        "load_duration": 1000,
    }
    if usage is not None:
        out.update(prompt_eval_count=usage.input_tokens, eval_count=usage.output_tokens)
    return _line(out)


def error_line(message: str) -> bytes:
    """The line by which a running stream fails."""
    return _line({"error": message})


def failure(status: int, message: str) -> Exchange:
    """An answer that is an error."""
    return answer(status, _json({"error": message}), content_type="application/json; charset=utf-8")


def shown(*capabilities: str, context_tokens: int | None = 131_072) -> Exchange:
    """What `/api/show` answers."""
    info: dict[str, Any] = {"general.architecture": "llama"}
    if context_tokens is not None:
        info["llama.context_length"] = context_tokens
    body = {"model_info": info, "capabilities": list(capabilities), "details": {"family": "llama"}}
    return answer(200, _json(body), content_type="application/json; charset=utf-8")


def tags(*names: str) -> Exchange:
    """What `/api/tags` answers."""
    listed = [{"name": name, "model": name, "details": {"parameter_size": "8B"}} for name in names]
    return answer(200, _json({"models": listed}), content_type="application/json; charset=utf-8")


def running(**windows: int) -> Exchange:
    """What `/api/ps` answers: models that are loaded, with their windows."""
    listed = [{"name": f"{name}:latest", "context_length": size} for name, size in windows.items()]
    return answer(200, _json({"models": listed}), content_type="application/json; charset=utf-8")


class Server:
    """A script for a `LoopbackServer`: replies in order, and whatever is asked about the models.

    `models` are the capabilities by name; `context_tokens` is the window of each. A model stays loaded with
    the window that it was asked with last.
    """

    def __init__(
        self,
        replies: Sequence[Exchange] = (),
        *,
        models: Mapping[str, Sequence[str]] | None = None,
        context_tokens: int | None = 131_072,
    ) -> None:
        self._replies = list(replies)
        self._models = {MODEL: ("completion", "tools")} if models is None else dict(models)
        self._context_tokens = context_tokens
        self._windows: dict[str, int] = {}

    def __call__(self, request: Request) -> Exchange:
        """The answer to `request`."""
        if request.path == "/api/tags":
            return tags(*self._models)
        if request.path == "/api/ps":
            return running(**self._windows)
        name = str(request.json.get("model", "")) if request.body else ""
        if name not in self._models:
            return failure(404, f"model '{name}' not found")
        if request.path == "/api/show":
            return shown(*self._models[name], context_tokens=self._context_tokens)
        if request.path == "/api/chat":
            self._windows[name] = request.json["options"]["num_ctx"]
        return self._replies.pop(0) if self._replies else failure(500, "the script is at its end")


def _cut(pieces: Sequence[str], piece_chars: int | None) -> Sequence[str]:
    whole = "".join(pieces)
    if not piece_chars:
        return pieces or ("",)
    return [whole[at : at + piece_chars] for at in range(0, len(whole), piece_chars)]


def _time(number: int) -> str:
    return f"2026-11-28T10:{number // 60 % 60:02}:{number % 60:02}.{number * 7919 + 1}Z"


def _line(value: Mapping[str, Any]) -> bytes:
    return f"{_json(value)}\n".encode()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
