"""Older results that a newer one of the same question has made stale give way to a note (A18).

No model is asked. But every replaced result changes the history at its place, and with it the prompt-cache
prefix from there on: worth it only when a compaction would be due otherwise, so that is when a loop calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.canonical import canonical_arguments
from caliban_common.codec import dumps, nearest
from caliban_common.errors import DataError
from caliban_common.message import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec

LABEL_CHARS = 200


class ResultRef(Struct, frozen=True, kw_only=True):
    """Where a result stands: message and block number, and the question it answers."""

    message: int
    block: int
    question: bytes
    label: str


def supersede(messages: tuple[Message, ...], tools: Iterable[ToolSpec]) -> tuple[Message, ...]:
    """`messages` with each result replaced that a later successful call of the same question has superseded.

    What the same question is says the `repeat_key` of each of the `tools`. The same object comes back when
    nothing changes. A result that is no longer than its note stays.
    """
    specs = {tool.name: tool for tool in tools if tool.repeat_key is not None}
    answered: set[bytes] = set()
    stale: dict[int, dict[int, str]] = {}
    for place in reversed(_places(messages, specs)):
        block = messages[place.message].content[place.block]
        assert isinstance(block, ToolResultBlock)
        if place.question not in answered:
            if not block.is_error:
                answered.add(place.question)
        elif _is_longer(block, place.label):
            stale.setdefault(place.message, {})[place.block] = place.label
    if not stale:
        return messages
    return tuple(
        _with_notes(message, stale[number]) if number in stale else message
        for number, message in enumerate(messages)
    )


def _places(messages: tuple[Message, ...], specs: Mapping[str, ToolSpec]) -> list[ResultRef]:
    """The results of calls that ask a question, in order; ids count for the reply just before only."""
    places: list[ResultRef] = []
    calls: dict[str, ToolUseBlock] = {}
    for number, message in enumerate(messages):
        if message.role == "assistant":
            calls = {call.id: call for call in message.tool_uses}
            continue
        for index, block in enumerate(message.content):
            call = calls.get(block.tool_use_id) if isinstance(block, ToolResultBlock) else None
            asked = None if call is None or call.name not in specs else _question(call, specs[call.name])
            if asked is not None:
                places.append(ResultRef(message=number, block=index, question=asked[0], label=asked[1]))
    return places


def _question(call: ToolUseBlock, spec: ToolSpec) -> tuple[bytes, str] | None:
    """What makes another call the same question, and the note on a result that it supersedes.

    `None` for a call that does not say what it asks: it is like no other.
    """
    names = spec.repeat_key
    if names is None or call.raw_input is not None:
        return None
    chosen = _writable(canonical_arguments(spec, call.input))
    shown: object = chosen
    if names != "all":
        chosen = {name: chosen[name] for name in names if chosen.get(name) is not None}
        shown = chosen.get(names[0])
    if not shown:
        return None
    key = dumps([call.name, sorted(chosen.items(), key=lambda item: item[0])])
    text = shown if isinstance(shown, str) else dumps(shown).decode()
    return key, f"[superseded: {call.name}({one_line(text, max_chars=LABEL_CHARS)})]"


def _is_longer(block: ToolResultBlock, label: str) -> bool:
    sizes = (len(part.text) if isinstance(part, TextBlock) else len(label) + 1 for part in block.content)
    return sum(sizes) > len(label)


def _with_notes(message: Message, notes: Mapping[int, str]) -> Message:
    content: list[Block] = list(message.content)
    for index, note in notes.items():
        block = content[index]
        assert isinstance(block, ToolResultBlock)
        content[index] = replace(block, content=(TextBlock(text=note),))
    return replace(message, content=tuple(content))


def _writable(value: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return nearest(dict(value))
    except DataError:
        return {}  # as history.repair sends it
