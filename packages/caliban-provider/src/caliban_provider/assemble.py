"""Folds the stream events of one reply into a message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from math import isinf
from typing import Any, NoReturn, assert_never

from msgspec import Struct, field

from caliban_common.codec import MAX_LEVELS, is_deep
from caliban_common.message import (
    Block,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    new_id,
)
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.stream import (
    BlockKind,
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


class _Open(Struct, kw_only=True):
    """A block that is being received, or was: then `done` is its final form."""

    kind: BlockKind
    start: BlockStart
    pieces: list[str] = field(default_factory=list)
    signature: str | None = None
    done: Block | None = None


class Assembler:
    """What has been received of one reply.

    `id` and `model` are as the provider named them, `family` and `asked` as `MessageStart` has them. `usage`
    is the last that was told. `complete` says that `MessageStop` came, `has_content` that a piece of a block
    did. Every delta costs the same.
    """

    def __init__(self) -> None:
        self.id: str = ""
        self.model: str = ""
        self.family: str = ""
        self.asked: str = ""
        self.stop_reason: StopReason | None = None
        self.usage: Usage = Usage()
        self.detail: str | None = None
        self.complete: bool = False
        self.has_content: bool = False
        self._blocks: list[_Open] = []
        self._open: dict[int, _Open] = {}

    @property
    def written(self) -> str:
        """All that the model wrote, in one piece: text, thinking and the JSON of calls."""
        return "".join(piece for entry in self._blocks for piece in entry.pieces)

    def add(self, event: StreamEvent) -> Block | None:
        """Take one event; the finished block, if the event finishes one that is part of the message.

        An opaque block is finished by `message` only, which knows its family.
        """
        match event:
            case TextDelta(index, text):
                self._piece(index, "text", text)
            case InputDelta(index, partial_json):
                self._piece(index, "tool_use", partial_json)
            case ThinkingDelta(index, text):
                self._piece(index, "thinking", text)
            case SignatureDelta(index, signature):
                self._at(index, "thinking").signature = signature
                self.has_content = True
            case BlockStart():
                self._begin(event)
            case BlockStop(index):
                return self._end(index)
            case MessageStart() | MessageDelta() | MessageStop():
                self._note(event)
            case _:
                assert_never(event)
        return None

    def message(self, family: str, model: str, *, id: str | None = None) -> Message:
        """The reply as far as it was received; `model` and `family` stand in where nobody named any.

        Without `id`, which is ours and not the provider's, it gets a new one each time it is asked for. Left
        out are empty text, thinking without text and signature, calls without id and name, and a call that
        is the same as one before it, its id included.
        """
        family = self.family or family
        blocks = (block for entry in self._blocks if (block := _finished(entry, family)) is not None)
        content = _without_repeats(blocks)
        return Message(
            role="assistant", content=content, id=id or new_id(), family=family, model=self.model or model
        )

    def _note(self, event: MessageStart | MessageDelta | MessageStop) -> None:
        """Keep what an event says about the whole reply."""
        match event:
            case MessageStart(id, model, usage, family, asked):
                self.id, self.model = id or self.id, model or self.model
                self.family, self.asked = family or self.family, asked or self.asked
                self.usage = usage or self.usage
            case MessageDelta(stop_reason, usage, detail):
                self.stop_reason = stop_reason or self.stop_reason
                self.usage = usage or self.usage
                self.detail = detail or self.detail
            case MessageStop():
                self.complete = True

    def _begin(self, start: BlockStart) -> _Open:
        entry = _Open(kind=start.kind, start=start, pieces=[start.text] if start.text else [])
        self._blocks.append(entry)
        self._open[start.index] = entry
        if start.text or start.id or start.name or start.data or start.payload:
            self.has_content = True
        return entry

    def _at(self, index: int, kind: BlockKind) -> _Open:
        """The open block at `index`; a wire that forgets to start a block gets one started."""
        entry = self._open.get(index)
        return self._begin(BlockStart(index, kind)) if entry is None or entry.kind != kind else entry

    def _piece(self, index: int, kind: BlockKind, text: str) -> None:
        entry = self._at(index, kind)
        if text:
            entry.pieces.append(text)
            self.has_content = True

    def _end(self, index: int) -> Block | None:
        entry = self._open.pop(index, None)
        if entry is None or entry.kind == "opaque":
            return None
        entry.done = _finished(entry, "")
        return entry.done


def _finished(entry: _Open, family: str) -> Block | None:
    """The block's final form, or the form it has so far; `None` for one that is nothing."""
    return entry.done or _built(entry, "".join(entry.pieces), family)


def _built(entry: _Open, text: str, family: str) -> Block | None:
    match entry.kind:
        case "text":
            return TextBlock(text=text) if text else None
        case "thinking":
            if not text and entry.signature is None:
                return None
            return ThinkingBlock(text=text, signature=entry.signature)
        case "redacted_thinking":
            return RedactedThinkingBlock(data=entry.start.data) if entry.start.data else None
        case "opaque":
            return OpaqueBlock(family=family, data=entry.start.payload or {})
        case "tool_use":
            if not (entry.start.id or entry.start.name):
                return None
            input, raw_input = decode_input(text)
            return ToolUseBlock(id=entry.start.id, name=entry.start.name, input=input, raw_input=raw_input)
        case _:
            assert_never(entry.kind)


def _without_repeats(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """`blocks` without calls that servers list twice: an id of its own tells two equal calls apart."""
    content: list[Block] = []
    calls: dict[str, ToolUseBlock] = {}
    for block in blocks:
        if isinstance(block, ToolUseBlock) and block.id:
            if calls.get(block.id) == block:
                continue
            calls.setdefault(block.id, block)
        content.append(block)
    return tuple(content)


def decode_input(text: str) -> tuple[Mapping[str, Any], str | None]:
    """A tool call's input out of the model's JSON text, and the text itself when it is no JSON object.

    No text at all is a call without arguments, and so is `null`. Servers send `{}` or `null` before the real
    arguments, or these twice: several values in a row stand for the only one that says something. `NaN`,
    `Infinity` and numbers beyond all floats are not JSON; an object that names a key twice has two readings,
    and none of them is taken. What `is_deep` is none either.
    """
    if not text.strip():
        return {}, None
    try:
        values = [*_values(text)]
        if text.count("{") + text.count("[") > MAX_LEVELS and any(map(is_deep, values)):
            return {}, text
        meaningful = [value for value in values if value not in ({}, None)]
    except (ValueError, RecursionError):
        return {}, text
    if not meaningful:
        return {}, None
    value = meaningful[0]
    same = isinstance(value, dict) and all(other == value for other in meaningful)
    return (value, None) if same else ({}, text)


def _values(text: str) -> Iterator[Any]:
    """The JSON values in `text`, one after the other. Raises `ValueError` for anything else in it."""
    at = _SPACE.match(text, 0).end()  # type: ignore[union-attr]
    while at < len(text):
        value, at = INPUT_DECODER.raw_decode(text, at)
        yield value
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError(digits)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key is given twice")
    return table


_SPACE = re.compile(r"[ \t\r\n]*")
INPUT_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
"""Of what models write as the input of a call: every number finite, every key once."""
