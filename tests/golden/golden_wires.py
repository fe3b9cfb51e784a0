"""A stored conversation with every kind of block, and the replies that go on from it, for any wire."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from golden_kit import FILLER
from prefix_kit import Said, Wire

from caliban_provider.testing.exchange import Exchange, Request, answer
from caliban_provider_ollama.testing import wire as ollama

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ODD = 'q " \\ / \u2028 <b> é 🌍 \t.'
"""Text with what could be written in more than one way."""
SECRET = "Zm9v+/AAA=="

CLOUDS = ("bedrock", "vertex")
"""Services that take no images by their address."""

FAMILIES = {"openai": "openai", "azure": "openai", "mine": "openai", "deep": "openai"}
FAMILIES |= {"google": "google", "ollama": "ollama"}
STATES: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": [1.0]}},
    "openai": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SECRET},
    "google": {"on": "functionCall", "thoughtSignature": SECRET},
    "ollama": {"anything": 1},
}
"""What each family keeps for itself in an opaque block."""


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(**source: str) -> dict[str, Any]:
    return {"type": "image", "source": source}


def document(media_type: str, data: bytes, **more: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "document", "source": source, **more}


def call(id: str, name: str, input: object, **more: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input, **more}


def result(id: str, *content: object, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": list(content), "is_error": is_error}


def stored(provider: str, model: str) -> bytes:
    """A session file in which `provider`'s `model` and a stranger have answered."""
    family = FAMILIES.get(provider, "anthropic")
    pixel = image(type="base64", media_type="image/png", data=PNG)
    named = image(type="url", url="https://example.org/a.png?b=1&c=ü", media_type="image/png")
    by_address = [] if provider in CLOUDS else [named]
    messages = [
        {"role": "system", "content": [text("Be brief.")]},
        {
            "role": "user",
            "content": [
                text(ODD + FILLER),
                pixel,
                *by_address,
                document("application/pdf", b"%PDF-1.4", title="A paper"),
                document("text/plain", ODD.encode(), title="notes"),
                document("application/zip", b"PK"),
                text(" \n"),
            ],
        },
        {
            "role": "assistant",
            "family": family,
            "model": model,
            "content": [
                {"type": "thinking", "thinking": f"hm {ODD}", "signature": SECRET},
                {"type": "redacted_thinking", "data": SECRET},
                text(ODD),
                {"type": "opaque", "family": family, "data": STATES[family]},
                {"type": "opaque", "family": "stranger", "data": {"x": 1}},
                call(
                    "call_1",
                    "Read",
                    {"path": "ü.txt", "limit": 3, "deep": {"z": [1, 2.50, 1e30, None, True]}},
                ),
                call("call_2", "Bash", {}, raw_input='{"command": "ls'),
                call("call:3 ü", "a name.that/no wire takes", {"b": 1, "a": 2}),
            ],
        },
        {
            "role": "user",
            "content": [
                result("call_2", text("Error: not JSON"), pixel, is_error=True),
                result("call_1", text(ODD), pixel),
                result("call:3 ü"),
                text("Go on."),
            ],
        },
        {
            "role": "assistant",
            "family": "stranger",
            "model": "another",
            "content": [{"type": "thinking", "thinking": "so", "signature": "x"}, text("I went on.")],
        },
    ]
    for number, message in enumerate(messages, 1):
        message["id"] = f"m{number}"
    document_ = {"name": "s", "id": "s-1", "provider": provider, "model": model, "messages": messages}
    return json.dumps(document_, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Last(Said):
    """What the model says in the end: an answer that fits its schema."""

    @property
    def text(self) -> str:
        return '{"a": 1}'


def replies(wire: Wire, *said: Said) -> Callable[[Request], Exchange]:
    """The server's side: `said` in order, and the same answer to every question about the model."""
    left: Iterator[Said] = iter(said)

    def reply(request: Request) -> Exchange:
        if is_turn(request):
            return wire.reply(next(left), wire.model)
        if request.path == "/api/show":
            return ollama.shown("completion", "tools", "thinking", "vision")
        if request.path == "/api/ps":
            return ollama.running()
        if request.path == "/api/tags":
            return ollama.tags(wire.model)
        return answer(404, b"{}", content_type="application/json")

    return reply


def is_turn(request: Request) -> bool:
    """Whether `request` wants a reply."""
    return request.method == "POST" and request.path != "/api/show"
