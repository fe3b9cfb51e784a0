"""Calls that a model writes as text, as models do whose server does not know how they speak.

A reply whose whole text is one call or several of tools that are on offer, with arguments of the right names,
is taken for these calls: bare JSON, in a fence, in `<tool_call>` tags, with doubled braces. Before tags there
may be other text. Anything else stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from caliban_common.digest import sha256
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import INPUT_DECODER
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    StreamEvent,
    TextDelta,
)

MAX_CALL_CHARS = 4_000_000
"""No call is longer: what is held for one is given on as text then, before it fills the memory."""

_TAG_WORDS = ("<tool_call>", "<function_call>")
_FENCE_WORDS = ("json", "tool_call", "tool_code")
_UNDECIDED_CHARS = 2000
"""Longer than this is no lead of a call: braces, brackets and white space alone."""
_TAGS = re.compile(r"<(tool_call|function_call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_FENCE = re.compile(rf"```(?:{'|'.join(_FENCE_WORDS)})?\s*\n?(.*?)```", re.DOTALL)

_OWN_BLOCKS = 100_000  # blocks that are made here are numbered far from those of the wire


class SpokenCall(Struct, frozen=True, kw_only=True):
    """A call that was written as text."""

    name: str
    input: Mapping[str, Any]


def spoken_calls(text: str, tools: Sequence[ToolSpec]) -> tuple[str, tuple[SpokenCall, ...]]:
    """What of `text` is no call, and the calls; all of it and none where any of it is not as it should be."""
    before, parts = "", [text]
    if (first := _TAGS.search(text)) is not None:
        if _TAGS.sub("", text[first.start() :]).strip():
            return text, ()
        before, parts = text[: first.start()], [match[2] for match in _TAGS.finditer(text)]
    elif text.lstrip().startswith("```"):
        if _FENCE.sub("", text).strip():
            return text, ()
        parts = [match[1] for match in _FENCE.finditer(text)]
    try:
        values = [value for part in parts for value in _values(part.strip())]
    except (ValueError, RecursionError):
        return text, ()
    calls = tuple(_call(value, tools) for value in values)
    known = tuple(call for call in calls if call is not None)
    return (before, known) if known and len(known) == len(calls) else (text, ())


def _values(part: str) -> Iterator[Any]:
    """The JSON values in `part`, doubled braces made single where it is none otherwise."""
    try:
        values = list(_in_a_row(part))
    except ValueError:
        values = list(_in_a_row(part.replace("{{", "{").replace("}}", "}")))
    for value in values:
        yield from value if isinstance(value, list) else [value]


def _in_a_row(part: str) -> Iterator[Any]:
    at = 0
    while at < len(part):
        if part[at] in " \t\r\n,;":
            at += 1
            continue
        value, at = INPUT_DECODER.raw_decode(part, at)
        yield value


def _call(value: object, tools: Sequence[ToolSpec]) -> SpokenCall | None:
    """The call in `value`, if it is one of a tool on offer with fitting arguments."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name")
    given = next((value[key] for key in ("arguments", "parameters", "input") if key in value), None)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    spec = next((tool for tool in tools if tool.name == name), None)
    if spec is None or not isinstance(given, dict):
        return None
    names = spec.input_schema.get("properties") or {}
    required = spec.input_schema.get("required") or ()
    fits = all(key in names for key in given) and all(key in given for key in required)
    return SpokenCall(name=spec.name, input=given) if fits else None


class _Held(Struct):
    """Text of a block that is not given on yet.

    With `is_free` what stands before a tag is given on, once `is_kept` nothing is before the block ends.
    `chars` counts all of its text.
    """

    pieces: list[str]
    is_free: bool = False
    is_kept: bool = False
    chars: int = 0


class SpokenCallReader:
    """Takes the events of one reply and gives them on, text that may be a call only once it is whole.

    `taken` counts the calls that were found. A model that speaks calls properly is read as it is.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.taken: int = 0
        self._tools = tools
        self._held: dict[int, _Held] = {}
        self._called = False
        self._next = 0

    def feed(self, event: StreamEvent) -> list[StreamEvent]:
        """The events that `event` means."""
        match event:
            case BlockStart(index=index, kind="text", text=text):
                self._next = max(self._next, index + 1)
                self._held[index] = _Held([])
                return self._hold(index, text) if text else []
            case BlockStart(index=index, kind=kind):
                self._next = max(self._next, index + 1)
                self._called = self._called or kind == "tool_use"
                return [event]
            case TextDelta(index=index, text=text) if index in self._held:
                return self._hold(index, text)
            case BlockStop(index=index) if index in self._held:
                return self._end(index)
            case MessageDelta(stop_reason="end_turn") if self.taken:
                return [MessageDelta("tool_use", event.usage, event.detail)]
            case _:
                return [event]

    def flush(self) -> list[StreamEvent]:
        """What is held of a reply that was cut: text, for half a call is none."""
        return [event for index in list(self._held) for event in self._let_go(index)]

    def _hold(self, index: int, text: str) -> list[StreamEvent]:
        held = self._held[index]
        held.pieces.append(text)
        held.chars += len(text)
        if held.is_kept:
            return self._let_go(index) if held.chars > MAX_CALL_CHARS else []
        if held.is_free:
            return self._up_to_tag(index)
        may_be = _may_be_call("".join(held.pieces).lstrip())
        if may_be is None and held.chars <= _UNDECIDED_CHARS:
            return []
        if may_be:
            held.is_kept = True
            return []
        held.is_free = True
        return [BlockStart(index, "text"), *self._up_to_tag(index)]

    def _up_to_tag(self, index: int) -> list[StreamEvent]:
        """Text goes on, up to where a tag begins or may begin."""
        held = self._held[index]
        text = "".join(held.pieces)
        at = min((place for tag in _TAG_WORDS if (place := _tag_at(text, tag)) >= 0), default=len(text))
        held.pieces = [text[at:]] if text[at:] else []
        held.is_kept = text[at:].startswith(_TAG_WORDS)
        return [TextDelta(index, text[:at])] if at else []

    def _let_go(self, index: int) -> list[StreamEvent]:
        """What is held of a block, as text; what more comes of it is given on as it is."""
        held = self._held.pop(index)
        text = "".join(held.pieces)
        begin: list[StreamEvent] = [] if held.is_free else [BlockStart(index, "text")]
        return [*begin, TextDelta(index, text)] if text else begin

    def _end(self, index: int) -> list[StreamEvent]:
        held = self._held.pop(index)
        text, begun = "".join(held.pieces), held.is_free
        before, calls = (text, ()) if self._called else spoken_calls(text, self._tools)
        out: list[StreamEvent] = []
        if before.strip() or (begun and before):
            out += (
                [TextDelta(index, before)] if begun else [BlockStart(index, "text"), TextDelta(index, before)]
            )
            begun = True
        if begun:
            out.append(BlockStop(index))
        for call in calls:
            self.taken += 1
            place, self._next = self._next + _OWN_BLOCKS, self._next + 1
            made = f"{index}:{self.taken}:{call.name}:{json.dumps(call.input, sort_keys=True)}"
            id = f"call_{sha256(made.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"
            out += [
                BlockStart(place, "tool_use", id=id, name=call.name),
                InputDelta(place, json.dumps(call.input, ensure_ascii=False)),
                BlockStop(place),
            ]
        return out


def _may_be_call(begun: str) -> bool | None:
    """Whether a reply that begins so may be a call; `None` where more of it must come to say that."""
    if begun.startswith(_TAG_WORDS):
        return True
    if any(word.startswith(begun) for word in (*_TAG_WORDS, "```")):
        return None
    if begun.startswith("```"):
        inside = begun[3:]
        if any(word.startswith(inside) for word in _FENCE_WORDS):
            return None
        word = next((word for word in _FENCE_WORDS if inside.startswith(word)), "")
        begun = inside.removeprefix(word).lstrip()
    inner = begun.lstrip("{[ \t\r\n")
    if begun and begun[0] not in "{[":
        return False
    return inner[0] == '"' if inner else None


def _tag_at(text: str, tag: str) -> int:
    """Where `tag` begins in `text`, or a beginning of it stands at the end; -1 for nowhere."""
    if (place := text.find(tag)) >= 0:
        return place
    return next((len(text) - size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), -1)
