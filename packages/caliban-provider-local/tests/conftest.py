"""What these tests share: both event loops, small GGUF files, a runtime without weights."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from caliban_provider.errors import ProviderError
from caliban_provider_local.model import LocalModel
from caliban_provider_local.options import LocalOptions
from caliban_provider_local.runtime import OnChunk

HERMES = (
    "{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def gguf_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<IB", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + gguf_text(value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(gguf_text, value))
        case _:
            return struct.pack("<IIQ", 9, 4, len(value)) + b"".join(struct.pack("<I", item) for item in value)


def build_gguf(
    pairs: Mapping[str, Any], tensors: Mapping[str, tuple[int, ...]], *, version: int = 3
) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(pairs))]
    parts += [gguf_text(key) + gguf_value(value) for key, value in pairs.items()]
    for name, shape in tensors.items():
        parts.append(gguf_text(name) + struct.pack("<I", len(shape)))
        parts += [struct.pack("<Q", size) for size in shape]
        parts.append(struct.pack("<IQ", 0, 0))
    return b"".join(parts)


SMALL_PAIRS = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "general.file_type": 3,
    "llama.context_length": 2048,
    "llama.rope.freq_base": 10000.0,
    "tokenizer.ggml.tokens": ["a", "bc", ""],
    "tokenizer.ggml.token_type": [1, 1, 3],
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.chat_template": "{{ messages }}",
}
SMALL_TENSORS = {"token_embd.weight": (8, 3), "output_norm.weight": (8,)}


@pytest.fixture(scope="session")
def make_gguf() -> Callable[..., bytes]:
    def make(
        *, tensors: Mapping[str, tuple[int, ...]] = SMALL_TENSORS, version: int = 3, **pairs: Any
    ) -> bytes:
        named = {key.replace("__", "."): value for key, value in pairs.items()}
        return build_gguf({**SMALL_PAIRS, **named}, tensors, version=version)

    return make


@pytest.fixture
def small_model(tmp_path: Path, make_gguf: Callable[..., bytes]) -> str:
    """The name of a model that is small enough to be offered no tools."""
    path = tmp_path / "tiny.gguf"
    path.write_bytes(make_gguf())
    return str(path)


@pytest.fixture
def large_model(tmp_path: Path, make_gguf: Callable[..., bytes]) -> str:
    """The name of a model that claims a billion weights and a template without tools."""
    path = tmp_path / "large.gguf"
    path.write_bytes(make_gguf(tensors={"w": (1_000_000_000,)}, llama__context_length=131072))
    return str(path)


@pytest.fixture
def native_model(tmp_path: Path, make_gguf: Callable[..., bytes]) -> str:
    """The name of a model that claims a billion weights and a template with tools."""
    path = tmp_path / "native.gguf"
    path.write_bytes(make_gguf(tensors={"w": (1_000_000_000,)}, tokenizer__chat_template=HERMES))
    return str(path)


class FakeRuntime:
    """A runtime without a model: replies chunk by chunk with what it was given, and remembers the bodies.

    A reply of `None` counts up for ever. `pushed` is set with the first chunk, `ended` when a chat is over.
    """

    def __init__(self, *replies: list[dict[str, Any]] | ProviderError | None) -> None:
        self.replies = list(replies)
        self.bodies: list[Mapping[str, Any]] = []
        self.loaded: list[str] = []
        self.running = 0
        self.most_running = 0
        self.chunks = 0
        self.threads: set[int] = set()
        self.ended = threading.Event()
        self.load_error: ProviderError | None = None

    def load(self, model: LocalModel, options: LocalOptions) -> FakeRuntime:
        self.threads.add(threading.get_ident())
        self.loaded.append(model.id)
        if self.load_error is not None:
            raise self.load_error
        return self

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        self.threads.add(threading.get_ident())
        self.bodies.append(body)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            self._reply(self.replies.pop(0), on_chunk)
        finally:
            self.running -= 1
            self.ended.set()

    def _reply(self, reply: list[dict[str, Any]] | ProviderError | None, on_chunk: OnChunk) -> None:
        if isinstance(reply, ProviderError):
            raise reply
        if reply is None:
            while not on_chunk(delta(content=f"{self.chunks} ")):
                self.chunks += 1
            return
        for chunk in reply:
            if on_chunk(chunk):
                return


def delta(**members: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": None, "delta": members}]}


def finish(reason: str, *, prompt: int = 7, written: int = 3, cached: int = 2) -> list[dict[str, Any]]:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return [
        {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": reason, "delta": {}}]},
        {"id": "chatcmpl-1", "choices": [], "usage": usage},
    ]


class Wire:
    """The runtime's chunks, for tests to write down."""

    delta = staticmethod(delta)
    finish = staticmethod(finish)
    fake = FakeRuntime


@pytest.fixture
def wire() -> type[Wire]:
    return Wire
