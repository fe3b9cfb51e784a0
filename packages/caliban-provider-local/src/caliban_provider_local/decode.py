"""From the runtime's chunks to stream events: a state machine without a clock, a thread or a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.errors import (
    BadResponse,
    ContextTooLong,
    InvalidRequest,
    ProviderError,
    StreamInterrupted,
)
from caliban_provider.stream import (
    BlockKind,
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_local.calls import ReplyForm
from caliban_provider_local.envelope import AnswerText, CallBegun, CallInput, EnvelopeReader

WINDOW_HINT = (
    "shorten the prompt or leave tools out, give the model a larger window "
    "(`context_tokens`), or name a larger model, such as path/to/model.gguf"
)


class ChunkDecoder:
    """Turns the chunks of one reply into events.

    `model` is how the operator named it (the runtime would tell its path). A reply that ends for want of
    length is `max_tokens` when it has that many tokens, else the window of `context_tokens` is full.
    """

    def __init__(self, *, model: str, reply_form: ReplyForm, max_tokens: int, context_tokens: int) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._context_tokens = context_tokens
        self._envelope: EnvelopeReader | None = None
        if reply_form in ("form", "raw_form"):
            self._envelope = EnvelopeReader(raw_answer=reply_form == "raw_form")
        self._id = ""
        self._started = False
        self._block: tuple[int, BlockKind] | None = None
        self._blocks = 0
        self._calls: dict[int, int] = {}
        self._finish: str | None = None
        self._usage: Usage | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """The events of one chunk; raises the `ProviderError` that the chunk reports."""
        if (error := chunk.get("error")) is not None:
            raise error_of(error)
        events: list[StreamEvent] = []
        if not self._started:
            self._started = True
            self._id = str(chunk.get("id") or "")
            events.append(MessageStart(id=self._id, model=self._model))
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = _usage(usage)
        for choice in chunk.get("choices") or ():
            self._delta(choice.get("delta") or {}, events)
            self._finish = choice.get("finish_reason") or self._finish
        return events

    def close(self) -> list[StreamEvent]:
        """The events that end the reply; raises `StreamInterrupted` when it did not come to its end."""
        if self._finish is None:
            raise StreamInterrupted("the local model stopped before its reply was complete")
        events: list[StreamEvent] = []
        if self._envelope is not None:
            self._pieces(self._envelope.close(), events)
        self._end_block(events)
        events.append(MessageDelta(stop_reason=self._stop_reason(), usage=self._usage))
        events.append(MessageStop())
        return events

    def _delta(self, delta: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if thinking := delta.get("reasoning_content"):
            events.append(ThinkingDelta(self._in_block("thinking", events), thinking))
        if text := delta.get("content"):
            if self._envelope is None:
                events.append(TextDelta(self._in_block("text", events), text))
            else:
                self._pieces(self._envelope.feed(text), events)
        for call in delta.get("tool_calls") or ():
            self._native_call(call, events)

    def _pieces(self, pieces: list[CallBegun | CallInput | AnswerText], events: list[StreamEvent]) -> None:
        for piece in pieces:
            match piece:
                case AnswerText(text):
                    events.append(TextDelta(self._in_block("text", events), text))
                case CallBegun(name):
                    self._begin("tool_use", events, id=self._call_id(), name=name)
                case CallInput(partial_json):
                    events.append(InputDelta(self._in_block("tool_use", events), partial_json))

    def _native_call(self, call: Mapping[str, Any], events: list[StreamEvent]) -> None:
        number = int(call.get("index") or 0)
        function = call.get("function") or {}
        if number not in self._calls:
            self._calls[number] = self._begin(
                "tool_use", events, id=call.get("id") or self._call_id(), name=function.get("name") or ""
            )
        if arguments := function.get("arguments"):
            events.append(InputDelta(self._calls[number], arguments))

    def _in_block(self, kind: BlockKind, events: list[StreamEvent]) -> int:
        """The index of the open block, which is of `kind` from now on."""
        if self._block is not None and self._block[1] == kind:
            return self._block[0]
        return self._begin(kind, events)

    def _begin(self, kind: BlockKind, events: list[StreamEvent], *, id: str = "", name: str = "") -> int:
        self._end_block(events)
        index, self._blocks = self._blocks, self._blocks + 1
        self._block = (index, kind)
        events.append(BlockStart(index, kind, id=id, name=name))
        return index

    def _end_block(self, events: list[StreamEvent]) -> None:
        if self._block is not None:
            events.append(BlockStop(self._block[0]))
            self._block = None

    def _call_id(self) -> str:
        return f"call_{self._id.removeprefix('chatcmpl-')[:24]}_{self._blocks}"

    def _stop_reason(self) -> StopReason:
        called = self._calls or (self._envelope is not None and self._envelope.called)
        if self._finish == "length":
            written = self._usage.output_tokens if self._usage is not None else self._max_tokens
            return "max_tokens" if written >= self._max_tokens else "context_window"
        if self._finish == "tool_calls" or called:
            return "tool_use"
        return "end_turn" if self._finish == "stop" else "other"


def error_of(error: object) -> ProviderError:
    """The error that an error chunk reports."""
    members: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    message = str(members.get("message") or error)
    if members.get("type") == "exceed_context_size_error":
        prompt, window = members.get("n_prompt_tokens"), members.get("n_ctx")
        message = f"the prompt has {prompt} tokens, but the local model's window holds {window}"
        return ContextTooLong(message, hint=WINDOW_HINT).with_remedy("local_window")
    if members.get("code") == 400:
        return InvalidRequest(f"the local model's runtime refused the request: {message}")
    return BadResponse(f"the local model's runtime failed: {message}")


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cache_read_tokens=int(details.get("cached_tokens") or 0),
    )
