"""From the wire's events to stream events: a state machine that holds one reply.

Unknown events, unknown deltas and deltas without an open block are skipped. A kind of block that has no form
of ours (a server's tool and its results) is collected whole and given out as `opaque` at its end, so that it
can be sent back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from types import MappingProxyType
from typing import Any, TypeAlias

from caliban_common.stop import StopReason
from caliban_common.usage import Usage, told_count
from caliban_provider.classify import error_for_type
from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.json_fields import block_index, is_comment, parse, parse_error, required_member, string
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
from caliban_provider_anthropic.models import FAMILY, is_opaque, same_model
from caliban_provider_anthropic.open_block import OpenBlock

STOP_REASONS: Mapping[str, StopReason] = MappingProxyType(
    {
        "end_turn": "end_turn",
        "tool_use": "tool_use",
        "max_tokens": "max_tokens",
        "stop_sequence": "stop_sequence",
        "pause_turn": "pause_turn",
        "refusal": "refusal",
        "model_context_window_exceeded": "context_window",
    }
)
"""The wire's stop reasons; any other is `other`."""

_Piece: TypeAlias = type[TextDelta] | type[ThinkingDelta] | type[InputDelta]
_PIECES: Mapping[str, tuple[str, str, _Piece]] = MappingProxyType(
    {
        "text": ("text_delta", "text", TextDelta),
        "thinking": ("thinking_delta", "thinking", ThinkingDelta),
        "tool_use": ("input_json_delta", "partial_json", InputDelta),
    }
)
_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_LONG_WRITES = "ephemeral_1h_input_tokens"
_COUNTS = (*_PROMPT_COUNTS, "output_tokens", "thinking_tokens", _LONG_WRITES)
_NO_PREFIX = b"\0"


class Decoder:
    """Takes the events of one reply; `stopped` says that `message_stop` came, after which all is skipped.

    `model` is the one asked for: it stands for its own snapshots and, if opaque, for any, so that a history
    names one model. `names` maps tool names of the wire to ours, where they differ. `secrets` never show in
    an error, which names `provider`. Raises `BadResponse` for what is not of the format, `StreamInterrupted`,
    and the errors that the vendor sends.
    """

    def __init__(
        self,
        *,
        model: str = "",
        names: Mapping[str, str] | None = None,
        secrets: Collection[str] = (),
        provider: str = FAMILY,
    ) -> None:
        self.stopped: bool = False
        self._started = False
        self._model = model
        self._names = names or {}
        self._secrets = secrets
        self._provider = provider
        self._open: dict[int, OpenBlock] = {}
        self._counts: dict[str, int] = {}
        self._prefix = _NO_PREFIX
        self._piece: _Piece = TextDelta
        self._index = 0

    def feed(self, event: SSEEvent) -> list[StreamEvent]:
        """The stream events that `event` means, usually one."""
        data = event.data
        if data.startswith(self._prefix):
            piece = self._quick(data)
            if piece is not None:
                return [piece]
        if self.stopped or event.event == "ping" or not data.strip() or is_comment(data):
            return []
        if event.event == "error":
            raise stream_error(parse_error(data), secrets=self._secrets, provider=self._provider)
        return self._take(event.event, parse(data))

    def finish(self, fault: BadResponse | None = None) -> list[StreamEvent]:
        """Say that the stream has ended. Raises `StreamInterrupted` when the message has not."""
        if not self.stopped:
            raise StreamInterrupted(
                "the stream ended before the reply did", hint="the connection was lost: ask again"
            )
        return []

    def _quick(self, data: bytes) -> StreamEvent | None:
        """A delta of the block that is being written, without reading all of its JSON."""
        try:
            line = data.decode()
            text, end = scanstring(line, len(self._prefix))
        except ValueError:
            return None
        rest = line[end:]
        if (rest != "}}" and rest.replace(" ", "") != "}}") or not text:
            return None
        return self._piece(self._index, text)

    def _take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        kind = data.get("type", name)
        match kind:
            case "content_block_delta":
                return self._delta(block_index(data), required_member(data, "delta"))
            case "content_block_start":
                return self._start_block(block_index(data), required_member(data, "content_block"))
            case "content_block_stop":
                return self._stop_block(block_index(data))
            case "message_start":
                return self._start(required_member(data, "message"))
            case "message_delta":
                return self._note(required_member(data, "delta"), data.get("usage"))
            case "message_stop":
                return self._stop()
            case "error":
                raise stream_error(data, secrets=self._secrets, provider=self._provider)
            case _:
                return []

    def _start(self, message: dict[str, Any]) -> list[StreamEvent]:
        if self._started:
            raise StreamInterrupted(
                "a second reply began inside the first", hint="the gateway lost the first one: ask again"
            )
        self._started = True
        answered_as = string(message, "model")
        stands = not answered_as or is_opaque(self._model) or same_model(answered_as, self._model)
        model = self._model if stands else answered_as
        return [MessageStart(string(message, "id"), model, self._usage(message.get("usage")))]

    def _start_block(self, index: int, content: dict[str, Any]) -> list[StreamEvent]:
        if not self._started:
            raise BadResponse("the reply has content before its start")
        out = self._stop_block(index)
        block = OpenBlock(string(content, "type"), content)
        if not block.kind:
            return out
        self._open[index] = block
        if block.kind in _PIECES and not block.whole_input:
            self._expect(index, block)
        match block.kind:
            case "text":
                out.append(BlockStart(index, "text", text=string(content, "text")))
            case "thinking":
                out.append(BlockStart(index, "thinking", text=string(content, "thinking")))
                if signature := string(content, "signature"):
                    out.append(SignatureDelta(index, signature))
            case "redacted_thinking":
                out.append(BlockStart(index, "redacted_thinking", data=string(content, "data")))
            case "tool_use":
                name = string(content, "name")
                name = self._names.get(name, name)
                out.append(BlockStart(index, "tool_use", id=string(content, "id"), name=name))
        return out

    def _expect(self, index: int, block: OpenBlock) -> None:
        """Look out for deltas of this block first: most come in a row."""
        kind, name, self._piece = _PIECES[block.kind]
        self._index = index
        self._prefix = (
            f'{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{name}":"'
        ).encode()

    def _delta(self, index: int, delta: dict[str, Any]) -> list[StreamEvent]:
        block = self._open.get(index)
        if block is None:
            return []
        kind = delta.get("type")
        if block.kind not in _PIECES:
            block.grow(delta)
            return []
        if kind == "signature_delta" and block.kind == "thinking":
            return [SignatureDelta(index, string(delta, "signature"))]
        wanted, name, make = _PIECES[block.kind]
        if kind != wanted:
            return []
        if block.whole_input:
            block.grow(delta)
            return []
        self._expect(index, block)
        text = string(delta, name)
        return [make(index, text)] if text else []

    def _stop_block(self, index: int) -> list[StreamEvent]:
        block = self._open.pop(index, None)
        if block is None:
            return []
        if index == self._index:
            self._prefix = _NO_PREFIX
        if block.kind in _PIECES or block.kind == "redacted_thinking":
            late_input = [InputDelta(index, block.input_text())] if block.whole_input else []
            return [*late_input, BlockStop(index)]
        return [BlockStart(index, "opaque", payload=block.payload()), BlockStop(index)]

    def _note(self, delta: dict[str, Any], usage: object) -> list[StreamEvent]:
        reason = delta.get("stop_reason")
        stop = STOP_REASONS.get(reason, "other") if isinstance(reason, str) else None
        details = delta.get("stop_details")
        detail = None
        if isinstance(details, dict):
            detail = string(details, "explanation") or string(details, "category") or None
        if stop == "other":
            detail = detail or f"{reason}"[:80]
        return [MessageDelta(stop, self._usage(usage), detail)]

    def _stop(self) -> list[StreamEvent]:
        if not self._started:
            raise BadResponse("the reply ends before its start")
        out = [event for index in sorted(self._open) for event in self._stop_block(index)]
        self.stopped = True
        return [*out, MessageStop()]

    def _usage(self, counts: object) -> Usage | None:
        """The counts so far: each message of the wire carries totals, and may leave some out."""
        if not isinstance(counts, dict):
            return None
        details, written_for = counts.get("output_tokens_details"), counts.get("cache_creation")
        counts = {
            **counts,
            "thinking_tokens": details.get("thinking_tokens") if isinstance(details, dict) else None,
            _LONG_WRITES: written_for.get(_LONG_WRITES) if isinstance(written_for, dict) else None,
        }
        for name in _COUNTS:
            value = told_count(counts.get(name))
            # A prompt cannot shrink to nothing: some servers fill in 0 for what they leave out.
            if value or (value == 0 and name not in _PROMPT_COUNTS):
                self._counts[name] = value
        fresh, written, read, output, thinking, long = (self._counts.get(name, 0) for name in _COUNTS)
        return Usage(
            input_tokens=fresh + written + read,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_tokens=written,
            thinking_tokens=thinking,
            cache_write_long_tokens=min(long, written),
        )


def stream_error(
    data: Mapping[str, Any], *, secrets: Collection[str] = (), provider: str = FAMILY
) -> ProviderError:
    """The error in an error object of the wire, as it comes inside a stream or with a status of 200.

    Whatever is in `secrets` is kept out of the message.
    """
    inner = data.get("error")
    report = inner if isinstance(inner, dict) else data
    message = string(report, "message") or "the provider reported an error without saying which"
    error = error_for_type(string(report, "type") or "api_error", message, provider=provider, secrets=secrets)
    error.request_id = error.request_id or string(data, "request_id") or None
    return error
