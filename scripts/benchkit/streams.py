"""One reply as each vendor writes it: thinking, text and tool calls, in the same pieces on every wire.

The wires are those of the adapters' test kits (`caliban_provider_*.testing`), which the adapters are tested
against too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

PIECE_CHARS = 5
CALLS = 4

_LINE = 'the harness reads\nwhat "the" vendor writes größer, over\tthe wire. '


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What the reply says: `inputs` are those of its calls of the tool Read."""

    thinking: str
    text: str
    inputs: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The reply on a wire: its events as bytes, and the model that the stream names."""

    events: tuple[bytes, ...]
    content_type: str
    model: str


Writer: TypeAlias = Callable[[Content], Written]

SSE = "text/event-stream"


def content(deltas: int) -> Content:
    """A reply of about `deltas` pieces: a fifth of them thinking, a fifth arguments, the rest text."""
    argument = _words(max(deltas // 5 // CALLS * PIECE_CHARS, 1))
    return Content(
        thinking=_words(max(deltas // 5 * PIECE_CHARS, 1)),
        text=_words(max(deltas * 3 // 5 * PIECE_CHARS, 1)),
        inputs=tuple({"path": f"{number}.txt", "text": argument} for number in range(CALLS)),
    )


def anthropic(said: Content) -> Written:
    """Server-sent events of Messages, direct and on Vertex."""
    from caliban_provider_anthropic.testing import wire

    return Written(events=tuple(wire.reply(*_anthropic_blocks(said))), content_type=SSE, model=wire.MODEL)


def bedrock(said: Content) -> Written:
    """The same events in an AWS event stream."""
    from caliban_provider_anthropic.testing.wire import MODEL
    from caliban_provider_bedrock.testing import wire

    events = tuple(wire.reply(*_anthropic_blocks(said)))
    return Written(events=events, content_type=wire.CONTENT_TYPE, model=MODEL)


def openai_responses(said: Content) -> Written:
    """Server-sent events of Responses."""
    from caliban_provider_openai.testing import responses as wire

    calls = [wire.call("Read", input, piece_chars=PIECE_CHARS) for input in said.inputs]
    reasoning = wire.reasoning(said.thinking, piece_chars=PIECE_CHARS)
    events = wire.reply(reasoning, wire.text(said.text, piece_chars=PIECE_CHARS), *calls)
    return Written(events=tuple(events), content_type=SSE, model=wire.MODEL)


def openai_chat(said: Content) -> Written:
    """Server-sent events of Chat Completions; the reasoning is a member that the vendor does not have."""
    from caliban_provider_openai.testing import chat as wire

    calls = [wire.call("Read", input, piece_chars=PIECE_CHARS) for input in said.inputs]
    thinking = wire.thinking(said.thinking, piece_chars=PIECE_CHARS)
    events = wire.reply(thinking, wire.text(said.text, piece_chars=PIECE_CHARS), *calls)
    return Written(events=tuple(events), content_type=SSE, model=wire.MODEL)


def google(said: Content) -> Written:
    """Server-sent events of Gemini, whose calls come whole."""
    from caliban_provider_google.testing import wire

    calls = [wire.call("Read", input) for input in said.inputs]
    thinking = wire.thinking(said.thinking, piece_chars=PIECE_CHARS)
    events = wire.reply(thinking, wire.text(said.text, piece_chars=PIECE_CHARS), *calls)
    return Written(events=tuple(events), content_type=SSE, model=wire.MODEL)


def ollama(said: Content) -> Written:
    """Lines of JSON, whose calls come whole."""
    from caliban_provider_ollama.testing import wire

    calls = [wire.call("Read", input) for input in said.inputs]
    thinking = wire.thinking(said.thinking, piece_chars=PIECE_CHARS)
    events = wire.reply(thinking, wire.text(said.text, piece_chars=PIECE_CHARS), *calls)
    return Written(events=tuple(events), content_type=wire.CONTENT_TYPE, model=wire.MODEL)


def _anthropic_blocks(said: Content) -> list[Any]:
    from caliban_provider_anthropic.testing import wire

    calls = [wire.tool_use("Read", input, piece_chars=PIECE_CHARS) for input in said.inputs]
    thinking = wire.thinking(said.thinking, piece_chars=PIECE_CHARS)
    return [thinking, wire.text(said.text, piece_chars=PIECE_CHARS), *calls]


def _words(chars: int) -> str:
    return (_LINE * (chars // len(_LINE) + 1))[:chars]


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "anthropic": anthropic,
        "openai responses": openai_responses,
        "openai chat": openai_chat,
        "google": google,
        "ollama": ollama,
        "bedrock": bedrock,
        "vertex": anthropic,
    }
)
"""By the name of the row that is measured with it."""
