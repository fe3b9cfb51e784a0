"""From the wire's events to stream events: a state machine that holds one reply.

Each event is a piece of a response. Its parts continue the block that is open or begin another; a part with
a thought signature stands alone, so that the signature comes back on the same part (see `parts`). The wire
has no last event: the reply is over when the stream ends after a finish reason.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Literal, TypeAlias

from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.classify import error_for, error_for_type
from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.json_fields import count, is_comment, member, objects, parse, parse_error, string
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
from caliban_provider_google.models import FAMILY, answers_as
from caliban_provider_google.names import made_id
from caliban_provider_google.stops import blocked, ending

_Kind: TypeAlias = Literal["text", "thinking"]
_NO_PREFIX = b"\0"
_DIGITS = b"0123456789"
_PROBE = "\u2400"
_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
)
_OURS = ("candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion")


class Decoder:
    """Takes the events of one reply; `stopped` says that its end was told, though more may come.

    `model` is the one asked for: it stands for its own snapshots, so that a history names one model. `names`
    maps tool names of the wire to ours, where they differ. `secrets` never show in an error. `salt` makes ids
    unique where replies have no name of their own. Raises `BadResponse` for what is not of the format,
    `StreamInterrupted`, and the errors that the vendor sends.
    """

    def __init__(
        self,
        *,
        model: str = "",
        names: Mapping[str, str] | None = None,
        secrets: Collection[str] = (),
        salt: str = "",
    ) -> None:
        self._model = model
        self._names = names or {}
        self._secrets = secrets
        self._salt = salt
        self._started = False
        self._id = ""
        self._next = 0
        self._calls = 0
        self._open: _Kind | None = None
        self._ending: tuple[StopReason, str | None] | None = None
        self._usage: Usage | None = None
        self._counts: dict[str, int] = {}
        self._latest = b""
        self._prefix = _NO_PREFIX
        self._rest = b""
        self._piece: type[TextDelta] | type[ThinkingDelta] = TextDelta

    @property
    def stopped(self) -> bool:
        return self._ending is not None

    def feed(self, event: SSEEvent) -> list[StreamEvent]:
        """The stream events that `event` means, usually one."""
        data = event.data
        if data.startswith(self._prefix):
            piece = self._quick(data)
            if piece is not None:
                return [piece]
        if not data.strip() or data == b"[DONE]" or is_comment(data):
            return []
        if event.event == "error":
            raise stream_error(parse_error(data), secrets=self._secrets)
        return self._take(parse(data), data)

    def finish(self, fault: BadResponse | None = None) -> list[StreamEvent]:
        """The events that end the reply. Raises `StreamInterrupted` when no finish reason came."""
        if self._ending is None:
            raise StreamInterrupted(
                "the stream ended before the reply did" if self._started else "the stream held no reply",
                hint="the connection was lost, or the model gave no answer: ask again",
            )
        stop, detail = self._ending
        if stop == "end_turn" and self._calls:
            stop = "tool_use"
        if self._latest:
            self._count(parse(self._latest))
        return [*self._close(), MessageDelta(stop, self._usage, detail), MessageStop()]

    def _quick(self, data: bytes) -> StreamEvent | None:
        """A piece of the block that is open, without reading all of its JSON: counts aside, all is known."""
        try:
            line = data.decode()
            text, end = scanstring(line, len(self._prefix))
        except ValueError:
            return None
        if not text or line[end:].encode().translate(None, _DIGITS) != self._rest:
            return None
        self._latest = data
        return self._piece(self._next, text)

    def _learn(self, data: bytes, chunk: dict[str, Any], kind: _Kind) -> None:
        """Look out for events that differ from this one in its text and in numbers only."""
        at = data.find(b'"', data.find(b'"text"') + 6) + 1
        head = data[:at]
        if not head.isascii():
            return
        try:
            line = data.decode()
            _, end = scanstring(line, at)
            probe = json.loads(f'{line[:at]}{_PROBE}"{line[end:]}')
        except ValueError:
            return
        candidate = chunk["candidates"][0]
        content = candidate["content"]
        parts = [{**content["parts"][0], "text": _PROBE}]
        expected = {**chunk, "candidates": [{**candidate, "content": {**content, "parts": parts}}]}
        if probe == expected:
            self._prefix = head
            self._rest = line[end:].encode().translate(None, _DIGITS)
            self._piece = TextDelta if kind == "text" else ThinkingDelta

    def _take(self, chunk: dict[str, Any], data: bytes) -> list[StreamEvent]:
        if "error" in chunk:
            raise stream_error(chunk, secrets=self._secrets)
        if not any(name in chunk for name in _OURS):
            return []
        self._count(chunk)
        out: list[StreamEvent] = [] if self._started else [self._start(chunk)]
        candidates = objects(chunk, "candidates")
        first = next((item for item in candidates if not item.get("index")), {})
        parts = objects(member(first, "content"), "parts")
        for part in parts:
            out += self._part(part)
        end = ending(first) or blocked(member(chunk, "promptFeedback"))
        if end is not None:
            self._ending = end
        elif self._open and _is_one_text(chunk, parts):
            self._learn(data, chunk, self._open)
        return out

    def _start(self, chunk: dict[str, Any]) -> MessageStart:
        self._started = True
        self._id = string(chunk, "responseId")
        model = answers_as(self._model, string(chunk, "modelVersion").removeprefix("models/"))
        return MessageStart(self._id, model, self._usage)

    def _part(self, part: dict[str, Any]) -> list[StreamEvent]:
        signature = string(part, "thoughtSignature")
        call = part.get("functionCall")
        if isinstance(call, dict):
            return self._call(call, signature)
        text = part.get("text")
        if text is None and part.keys() <= {"thought", "thoughtSignature"}:
            text = ""
        if not isinstance(text, str):
            return self._opaque({"part": part})
        if part.get("thought") is True:
            return self._thought(text, signature)
        return self._signed_text(text, signature) if signature else self._grow("text", text)

    def _grow(self, kind: _Kind, text: str) -> list[StreamEvent]:
        if not text:
            return []
        out: list[StreamEvent] = []
        if self._open != kind:
            out = [*self._close(), BlockStart(self._next, kind)]
            self._open = kind
        out.append(TextDelta(self._next, text) if kind == "text" else ThinkingDelta(self._next, text))
        return out

    def _thought(self, text: str, signature: str) -> list[StreamEvent]:
        out = self._grow("thinking", text)
        if signature:
            if self._open != "thinking":
                out += [*self._close(), BlockStart(self._next, "thinking")]
                self._open = "thinking"
            out += [SignatureDelta(self._next, signature), *self._close()]
        return out

    def _signed_text(self, text: str, signature: str) -> list[StreamEvent]:
        """Text that is not to be joined with any other; blank text is kept whole, for it may get lost."""
        if text.strip():
            out = self._opaque({"thoughtSignature": signature, "on": "text"})
        else:
            out = self._opaque({"part": {"text": text, "thoughtSignature": signature}})
        return [*out, *self._grow("text", text), *self._close()]

    def _call(self, call: dict[str, Any], signature: str) -> list[StreamEvent]:
        name = string(call, "name")
        if not name:
            return []
        out = self._opaque({"thoughtSignature": signature, "on": "functionCall"}) if signature else []
        out += self._close()
        id = string(call, "id") or made_id(self._id or self._salt, self._calls)
        self._calls += 1
        index = self._step()
        out.append(BlockStart(index, "tool_use", id=id, name=self._names.get(name, name)))
        args = call.get("args")
        if args:
            out.append(InputDelta(index, _text_of(args)))
        return [*out, BlockStop(index)]

    def _opaque(self, payload: dict[str, Any]) -> list[StreamEvent]:
        out = self._close()
        index = self._step()
        return [*out, BlockStart(index, "opaque", payload=payload), BlockStop(index)]

    def _close(self) -> list[StreamEvent]:
        self._prefix = _NO_PREFIX
        if self._open is None:
            return []
        self._open = None
        return [BlockStop(self._step())]

    def _step(self) -> int:
        self._next += 1
        return self._next - 1

    def _count(self, chunk: dict[str, Any]) -> None:
        """Keep the counts: they are totals, and the last that was told of each holds."""
        counts = member(chunk, "usageMetadata")
        if not counts:
            return
        latest, self._latest = self._latest, b""
        if latest:
            self._count(parse(latest))
        for name in _COUNTS:
            self._counts[name] = count(counts, name) or self._counts.get(name, 0)
        prompt, called, cached, written, thinking = (self._counts[name] for name in _COUNTS)
        self._usage = Usage(
            input_tokens=prompt + called,
            output_tokens=written + thinking,
            cache_read_tokens=cached,
            thinking_tokens=thinking,
        )


def stream_error(data: Mapping[str, Any], *, secrets: Collection[str] = ()) -> ProviderError:
    """The error in an error object of the wire, as it comes inside a stream or with a status of 200."""
    report = member(data, "error") or data
    code = report.get("code")
    if isinstance(code, int) and 400 <= code <= 599:
        body = json.dumps({"error": report}).encode()
        return error_for(code, {}, body, provider=FAMILY, secrets=secrets)
    message = string(report, "message") or string(data, "error") or "the provider reported an error"
    return error_for_type(string(report, "status") or "internal", message, provider=FAMILY, secrets=secrets)


def _is_one_text(chunk: Mapping[str, Any], parts: list[dict[str, Any]]) -> bool:
    """Whether an event holds one part, unsigned text, and nothing beside it."""
    return (
        len(parts) == 1  # then there are candidates
        and len(chunk["candidates"]) == 1
        and len(chunk["candidates"][0]["content"]["parts"]) == 1
        and parts[0].keys() <= {"text", "thought"}
        and bool(parts[0].get("text"))
    )


def _text_of(args: object) -> str:
    try:
        return json.dumps(args, ensure_ascii=False)
    except RecursionError:
        return '"nested too deeply"'  # no object: none at all would be a call without arguments
