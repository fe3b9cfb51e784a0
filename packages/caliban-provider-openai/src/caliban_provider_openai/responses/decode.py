"""From the events of Responses to stream events: a state machine that holds one reply.

Unknown events are skipped; `Places` finds the item that an event speaks of. A kind of item that has no form
of ours (encrypted reasoning, a hosted tool) is given out as `opaque` at its end, so that it can be sent back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from caliban_common.history import is_same_model
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.json_fields import count, is_comment, member, objects, parse, parse_error, string
from caliban_provider.sse import SSEEvent
from caliban_provider.stream import (
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_openai.responses.output import Numbers, OutputItem
from caliban_provider_openai.responses.places import Places
from caliban_provider_openai.stream_error import stream_error
from caliban_provider_openai.template import DeltaTemplate

INCOMPLETE: Mapping[str, StopReason] = MappingProxyType(
    {"max_output_tokens": "max_tokens", "content_filter": "content_filter"}
)
"""Why a reply is incomplete; any other reason is `other`."""

_Piece: TypeAlias = type[TextDelta] | type[ThinkingDelta] | type[InputDelta]
_TEXT_EVENTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHT_EVENTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_WHOLE_PARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "response.output_text.done": ("message", "text"),
        "response.refusal.done": ("message", "refusal"),
        "response.reasoning_summary_text.done": ("reasoning", "text"),
        "response.reasoning_text.done": ("reasoning", "text"),
        "response.function_call_arguments.done": ("function_call", "arguments"),
    }
)
"""The events that tell the whole of a part: of which kind of item, and under which name."""


class ResponsesDecoder:
    """Takes the events of one reply; `stopped` says that its last came, after which all is skipped.

    `model` is the one asked for: it stands for its own snapshots, and with `aliased` for whatever the server
    calls it, so that a history names one model. `names` maps tool names of the wire to ours. `secrets` never
    show in an error. Raises `BadResponse` for what is not of the format, `StreamInterrupted`, and the errors
    that the vendor sends.
    """

    def __init__(
        self,
        *,
        model: str = "",
        provider: str = "openai",
        names: Mapping[str, str] | None = None,
        secrets: Collection[str] = (),
        aliased: bool = False,
    ) -> None:
        self.stopped: bool = False
        self._started = False
        self._model = model
        self._aliased = aliased
        self._provider = provider
        self._names = names or {}
        self._secrets = secrets
        self._numbers = Numbers()
        self._places = Places()
        self._called = False
        self._refused = False
        self._shape = DeltaTemplate()
        self._piece: _Piece = TextDelta
        self._index = 0
        self._note: Callable[[str], None] | None = None

    def feed(self, event: SSEEvent) -> list[StreamEvent]:
        """The stream events that `event` means, usually one."""
        data = event.data
        text = self._shape.read(data)
        if text is not None and self._note is not None:
            self._note(text)
            return [self._piece(self._index, text)]
        if self.stopped or not data.strip() or data.strip() == b"[DONE]" or is_comment(data):
            return []
        if event.event == "error":
            raise stream_error(parse_error(data), provider=self._provider, secrets=self._secrets)
        return self._take(event.event, parse(data), data)

    def finish(self, fault: BadResponse | None = None) -> list[StreamEvent]:
        """Say that the stream has ended. Raises `StreamInterrupted` when the reply has not."""
        if not self.stopped:
            raise StreamInterrupted(
                "the stream ended before the reply did", hint="the connection was lost: ask again"
            )
        return []

    def _take(self, name: str, data: dict[str, Any], raw: bytes) -> list[StreamEvent]:
        kind = string(data, "type") or name
        if kind in _TEXT_EVENTS or kind in _THOUGHT_EVENTS:
            return self._delta(kind, data, raw)
        match kind:
            case "response.function_call_arguments.delta":
                return self._delta(kind, data, raw)
            case "response.created" | "response.in_progress" | "response.queued":
                return self._start(member(data, "response"))
            case "response.output_item.added":
                return self._begin(data)
            case "response.output_item.done":
                return self._end(data)
            case kind if kind in _WHOLE_PARTS:
                return self._whole(kind, data)
            case "response.completed" | "response.incomplete" | "response.done":
                return self._finished(kind, member(data, "response"), data)
            case "response.failed" | "response.cancelled":
                raise self._failed(member(data, "response"), data)
            case "error":
                raise stream_error(data, provider=self._provider, secrets=self._secrets)
            case _:
                if isinstance(data.get("error"), dict):
                    raise stream_error(data, provider=self._provider, secrets=self._secrets)
                return []

    def _start(self, response: dict[str, Any]) -> list[StreamEvent]:
        if self._started:
            return []
        self._started = True
        answered_as = string(response, "model")
        known = not answered_as or self._aliased or is_same_model(answered_as, self._model)
        return [MessageStart(string(response, "id"), self._model if known else answered_as)]

    def _finished(self, kind: str, response: dict[str, Any], data: dict[str, Any]) -> list[StreamEvent]:
        """The end of a reply, by what its status says more than by the name of the event."""
        status = string(response, "status")
        if status in ("failed", "cancelled") or isinstance(response.get("error"), dict):
            raise self._failed(response, data)
        why = string(member(response, "incomplete_details"), "reason")
        if kind == "response.incomplete" or status not in ("", "completed"):
            why = why or (status if status != "completed" else "") or "incomplete"
        return self._stop(response, why)

    def _failed(self, response: dict[str, Any], data: dict[str, Any]) -> ProviderError:
        report = response if isinstance(response.get("error"), dict) else data
        return stream_error(report, provider=self._provider, secrets=self._secrets)

    def _begin(self, event: dict[str, Any]) -> list[StreamEvent]:
        if not self._started:
            raise BadResponse("the reply has content before its start")
        item = member(event, "item")
        made = OutputItem(string(item, "type"), self._numbers)
        if not self._places.begin(event, made) or made.kind != "function_call":
            return []
        self._called = True
        return made.start_call(string(item, "call_id"), self._ours(string(item, "name")))

    def _delta(self, kind: str, data: dict[str, Any], raw: bytes) -> list[StreamEvent]:
        item = self._places.find(data)
        text = string(data, "delta")
        if item is None or not text:
            return []
        if kind in _TEXT_EVENTS and item.kind == "message":
            self._refused = self._refused or kind == "response.refusal.delta"
            part = _place(data, "content_index")
            out = item.text(part, text)
            self._expect(TextDelta, item, part, raw, text)
        elif kind in _THOUGHT_EVENTS and item.kind == "reasoning":
            part = _place(data, "summary_index" if "summary_index" in data else "content_index")
            out = item.thought(part, text)
            self._expect(ThinkingDelta, item, part, raw, text)
        elif kind == "response.function_call_arguments.delta" and item.kind == "function_call":
            out = item.input(text)
            self._expect(InputDelta, item, 0, raw, text)
        else:
            return []
        return out

    def _whole(self, kind: str, data: dict[str, Any]) -> list[StreamEvent]:
        """What of a part was not told in pieces, now that the whole of it is told."""
        item = self._places.find(data)
        of, name = _WHOLE_PARTS[kind]
        if item is None or item.kind != of:
            return []
        self._refused = self._refused or name == "refusal"
        part = _place(data, "summary_index" if "summary_index" in data else "content_index")
        return item.rest(part, string(data, name))

    def _expect(self, piece: _Piece, item: OutputItem, part: int, raw: bytes, text: str) -> None:
        """Look out for deltas of this block first: most come in a row."""
        index = item.block(0 if piece is ThinkingDelta else part)
        if index is not None:
            self._piece, self._index = piece, index
            self._note = item.noted(part)
            self._shape.learn(raw, "delta", text)

    def _end(self, event: dict[str, Any]) -> list[StreamEvent]:
        if not self._started:
            raise BadResponse("the reply has content before its start")
        item = member(event, "item")
        made = self._places.find(event)
        if made is None and self._places.is_over(event):
            return []
        self._shape.forget()
        self._places.end(event)
        made = made or OutputItem(string(item, "type"), self._numbers)
        self._called = self._called or made.kind == "function_call"
        if made.kind == "function_call":
            item = {**item, "name": self._ours(string(item, "name"))}
        out = made.done(item)
        self._refused = self._refused or made.refused
        return out

    def _stop(self, response: dict[str, Any], why: str) -> list[StreamEvent]:
        out = self._start(response)
        for place, item in enumerate(objects(response, "output")):
            event = {"output_index": place, "item": item}
            if not self._places.is_over(event, at_last=True):
                out += self._end(event)
        for left in self._places:
            out += left.close()
        self._shape.forget()
        self.stopped = True
        stop: StopReason = "end_turn"
        if why:
            stop = INCOMPLETE.get(why, "other")
        elif self._called:
            stop = "tool_use"
        elif self._refused:
            stop = "refusal"
        detail = why if stop == "other" else None
        return [*out, MessageDelta(stop, _usage(member(response, "usage")), detail), MessageStop()]

    def _ours(self, name: str) -> str:
        return self._names.get(name, name)


def _place(data: Mapping[str, Any], name: str) -> int:
    """Which part an event speaks of; the first where it does not say."""
    return count(data, name)


def _usage(counts: Mapping[str, Any]) -> Usage | None:
    if not counts:
        return None
    prompt, written = member(counts, "input_tokens_details"), member(counts, "output_tokens_details")
    return Usage(
        input_tokens=count(counts, "input_tokens"),
        output_tokens=count(counts, "output_tokens"),
        cache_read_tokens=count(prompt, "cached_tokens"),
        cache_write_tokens=count(prompt, "cache_write_tokens"),
        thinking_tokens=count(written, "reasoning_tokens"),
    )
