"""From the chunks of Chat Completions to stream events: a state machine that holds one reply.

It takes what the vendor and the servers that speak alike send: reasoning in two spellings, chunks without
choices, calls without ids, errors inside the stream, an end without its mark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from caliban_common.history import is_same_model
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.json_fields import (
    count,
    is_comment,
    maybe_count,
    member,
    objects,
    parse,
    parse_error,
    string,
)
from caliban_provider.sse import SSEEvent
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_openai.chat.calls import Calls
from caliban_provider_openai.chat.kept import DETAILS, Details
from caliban_provider_openai.stream_error import stream_error
from caliban_provider_openai.template import DeltaTemplate

STOP_REASONS: Mapping[str, StopReason] = MappingProxyType(
    {
        "stop": "end_turn",
        "eos": "end_turn",
        "end_turn": "end_turn",
        "tool_calls": "tool_use",
        "function_call": "tool_use",
        "stop_sequence": "end_turn",
        "length": "max_tokens",
        "max_tokens": "max_tokens",
        "max_output_reached": "max_tokens",
        "model_length": "context_window",
        "model_context_window_exceeded": "context_window",
        "content_filter": "content_filter",
        "sensitive": "content_filter",
        "refusal": "refusal",
    }
)
"""The wire's finish reasons; any other is `other`."""

FAILURES: Mapping[str, str] = MappingProxyType(
    {
        "error": "server_error",
        "abort": "server_error",
        "network_error": "server_error",
        "insufficient_system_resource": "overloaded",
    }
)
"""Finish reasons of a server that gave up in the middle, and the type of error that each is."""

_Piece: TypeAlias = type[TextDelta] | type[ThinkingDelta] | type[InputDelta]
_REASONING = ("reasoning_content", "reasoning")


class Style(Struct, frozen=True, kw_only=True):
    """How a server's replies are to be taken.

    With `aliased` the model asked for stands for whatever the server calls it. `salt` makes ids unique that
    the server leaves out. With `keeps_reasoning` the reasoning is marked as something to send back.
    """

    aliased: bool = False
    salt: str = ""
    keeps_reasoning: bool = False


PLAIN = Style()
"""The vendor's own."""


class ChatDecoder:
    """Takes the chunks of one reply; `stopped` says that its end came, after which all is skipped.

    `model`, `names` and `secrets` are as for `ResponsesDecoder`. Raises `BadResponse`, `StreamInterrupted`,
    and the errors that the server sends.
    """

    def __init__(
        self,
        *,
        model: str = "",
        provider: str = "openai",
        names: Mapping[str, str] | None = None,
        secrets: Collection[str] = (),
        style: Style = PLAIN,
    ) -> None:
        self.stopped: bool = False
        self._started = False
        self._model = model
        self._aliased = style.aliased
        self._provider = provider
        self._secrets = secrets
        self._keeps_reasoning = style.keeps_reasoning
        self._blocks = 0
        self._calls = Calls(self._number, names=names or {}, salt=style.salt)
        self._details = Details()
        self._called = False
        self._open: tuple[_Piece, int] | None = None
        self._finish: str | None = None
        self._usage = Usage()
        self._refused = False
        self._shape = DeltaTemplate()
        self._piece: _Piece = TextDelta
        self._index = 0

    def feed(self, event: SSEEvent) -> list[StreamEvent]:
        """The stream events that `event` means, usually one."""
        data = event.data
        text = self._shape.read(data)
        if text is not None:
            if self._piece is InputDelta:
                self._calls.noted(text)
            return [self._piece(self._index, text)]
        if self.stopped:
            return []
        stripped = data.strip()
        if stripped == b"[DONE]":
            return self._stop()
        if not stripped or is_comment(stripped):
            return []
        error = event.event == "error"
        return self._take(event.event, parse_error(data) if error else parse(data), data)

    def finish(self, fault: BadResponse | None = None) -> list[StreamEvent]:
        """Say that the stream has ended: a reply that gave its reason has ended too.

        Raises `StreamInterrupted` when it has not.
        """
        if self.stopped:
            return []
        if self._finish is None:
            raise StreamInterrupted(
                "the stream ended before the reply did", hint="the connection was lost: ask again"
            )
        return self._stop()

    def _number(self) -> int:
        self._blocks += 1
        return self._blocks - 1

    def _take(self, name: str, data: dict[str, Any], raw: bytes) -> list[StreamEvent]:
        if data.get("error") or name == "error" or data.get("object") == "error":
            raise stream_error(data, provider=self._provider, secrets=self._secrets)
        choices = data.get("choices")
        if choices is not None and not isinstance(choices, list):
            raise BadResponse("a chunk of the reply has 'choices' that are no list")
        out: list[StreamEvent] = []
        if choices or (string(data, "id") and choices is not None):
            out += self._start(data)
        choice = next((one for one in objects(data, "choices") if not one.get("index")), None)
        if choice is not None:
            delta = member(choice, "delta") or member(choice, "message")
            out += self._delta(delta, raw)
            why = string(choice, "finish_reason")
            if why in FAILURES:
                raise self._given_up(choice, why)
            if why:
                self._finish = why
        usage = _usage(data, choice or {})
        if usage is not None and self._started:
            self._usage = self._usage.then(usage)
            out.append(MessageDelta(None, self._usage))
        return out

    def _given_up(self, choice: dict[str, Any], why: str) -> ProviderError:
        """The error of a reply that its server did not finish."""
        if not choice.get("error"):
            words = f"the server ended the reply before it was complete ({why})"
            choice = {"error": {"type": FAILURES[why], "message": words}}
        return stream_error(choice, provider=self._provider, secrets=self._secrets)

    def _start(self, data: dict[str, Any]) -> list[StreamEvent]:
        if self._started:
            return []
        self._started = True
        answered_as = string(data, "model")
        known = not answered_as or self._aliased or is_same_model(answered_as, self._model)
        return [MessageStart(string(data, "id"), self._model if known else answered_as)]

    def _delta(self, delta: dict[str, Any], raw: bytes) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        kinds = 0
        if DETAILS in delta:
            self._details.grow(delta)
            kinds += 2
        for name in _REASONING:
            if text := string(delta, name):
                out += self._grow(ThinkingDelta, text)
                self._expect(raw, name, text)
                kinds += 1
                break
        content = delta.get("content")
        if isinstance(content, str) and content:
            out += self._grow(TextDelta, content)
            self._expect(raw, "content", content)
            kinds += 1
        elif isinstance(content, list):
            out += self._parts(content)
            kinds += 2
        if text := string(delta, "refusal"):
            self._refused = True
            out += self._grow(TextDelta, text)
            kinds += 2
        pieces = objects(delta, "tool_calls")
        if old := member(delta, "function_call"):
            pieces.append({"function": old})
        for piece in pieces:
            out += self._call(piece)
            kinds += 1
        if len(pieces) == 1 and kinds == 1 and isinstance(out[-1] if out else None, InputDelta):
            self._expect_input(raw, pieces[0])
        if kinds > 1:
            self._shape.forget()
        return out

    def _grow(self, piece: _Piece, text: str) -> list[StreamEvent]:
        """Text or thinking: whatever of the other kind was open is over."""
        out: list[StreamEvent] = []
        if self._open is None or self._open[0] is not piece:
            out += self._close()
            self._open = (piece, self._number())
            out.append(BlockStart(self._open[1], "text" if piece is TextDelta else "thinking"))
        return [*out, piece(self._open[1], text)]

    def _parts(self, content: list[Any]) -> list[StreamEvent]:
        """Content in parts, some of them thinking."""
        out: list[StreamEvent] = []
        for part in objects({"parts": content}, "parts"):
            if part.get("type") == "thinking":
                for inner in objects(part, "thinking"):
                    if text := string(inner, "text"):
                        out += self._grow(ThinkingDelta, text)
            elif text := string(part, "text"):
                out += self._grow(TextDelta, text)
        return out

    def _call(self, piece: dict[str, Any]) -> list[StreamEvent]:
        self._shape.forget()
        made = self._calls.grow(piece)
        if not made:
            return []
        self._called = True
        return [*self._close(), *made]

    def _close(self) -> list[StreamEvent]:
        if self._open is None:
            return []
        (piece, index), self._open = self._open, None
        self._shape.forget()
        signed = self._keeps_reasoning and piece is ThinkingDelta
        return [*([SignatureDelta(index, "")] if signed else []), BlockStop(index)]

    def _expect(self, raw: bytes, name: str, text: str) -> None:
        """Look out for deltas of the open block first: most come in a row."""
        if self._open is not None:
            self._piece, self._index = self._open
            self._shape.learn(raw, name, text)

    def _expect_input(self, raw: bytes, piece: Mapping[str, Any]) -> None:
        """Likewise for a call's input, once its pieces say nothing but which call they belong to."""
        block = self._calls.current
        function = member(piece, "function")
        bare = not string(piece, "id") and not string(function, "name")
        if block is not None and bare and (text := string(function, "arguments")):
            self._piece, self._index = InputDelta, block
            self._shape.learn(raw, "arguments", text)

    def _stop(self) -> list[StreamEvent]:
        if not self._started:
            raise StreamInterrupted(
                "the stream ended before a reply began", hint="ask again, or check the base URL"
            )
        self.stopped = True
        out = [*self._close(), *self._calls.end()]
        self._shape.forget()
        called = any(isinstance(event, BlockStart) for event in out) or self._called
        if kept := self._details.payload():
            index = self._number()
            out += [BlockStart(index, "opaque", payload=kept), BlockStop(index)]
        stop = STOP_REASONS.get(self._finish or "stop", "other")
        if called and stop in ("end_turn", "tool_use"):
            stop = "tool_use"
        elif stop == "tool_use":
            stop = "end_turn"
        if self._refused and stop == "end_turn":
            stop = "refusal"
        return [*out, MessageDelta(stop, None, self._finish if stop == "other" else None), MessageStop()]


def _usage(chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> Usage | None:
    """The counts of the reply so far, wherever the server keeps them."""
    counts = member(chunk, "usage") or member(choice, "usage") or member(member(chunk, "x_groq"), "usage")
    if not counts:
        return None
    prompt = member(counts, "prompt_tokens_details")
    written = member(counts, "completion_tokens_details")
    cached = maybe_count(prompt, "cached_tokens")
    if cached is None:
        cached = count(counts, "prompt_cache_hit_tokens") or count(counts, "cached_tokens")
    return Usage(
        input_tokens=count(counts, "prompt_tokens"),
        output_tokens=count(counts, "completion_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=count(prompt, "cache_write_tokens"),
        thinking_tokens=count(written, "reasoning_tokens"),
    )
