"""Where a request is not the one that was recorded: its first part of other bytes, and an excerpt of both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

from msgspec import Struct

from caliban_common.codec import dumps
from caliban_common.message import Message
from caliban_common.text import one_line
from caliban_provider.request import CompletionRequest
from caliban_replay.tape import plain

EXCERPT_CHARS: Final = 60
"""How much is shown around the first character that differs."""
NOTHING: Final = "nothing"
PARAMETERS: Final = (
    "model",
    "max_tokens",
    "tool_choice",
    "temperature",
    "thinking_tokens",
    "effort",
    "response_schema",
    "extra",
)


class Difference(Struct, frozen=True, kw_only=True):
    """`part` names what differs; `before` and `after` are pieces of it, as recorded and as built now."""

    part: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """All of it in a line."""
        return f"{self.part}: recorded {self.before}, now {self.after}"


def first_difference(
    before: CompletionRequest, after: CompletionRequest, *, same: int = 0
) -> Difference | None:
    """The first part, in the order of the wire, that differs; the first `same` messages are known not to."""
    for name in PARAMETERS:
        old, new = plain(getattr(before, name)), plain(getattr(after, name))
        if old != new:
            return _difference(name, dumps(old).decode(), dumps(new).decode())
    if before.tools is not after.tools and (difference := _tools(before, after)) is not None:
        return difference
    pairs = zip_longest(before.messages[same:], after.messages[same:])
    for number, (old_message, new_message) in enumerate(pairs, same + 1):
        if old_message is new_message:
            continue
        difference = _message(number, old_message, new_message)
        if difference is not None:
            return difference
    return None


def _tools(before: CompletionRequest, after: CompletionRequest) -> Difference | None:
    for old, new in zip_longest(before.tools, after.tools):
        if old is None or new is None or old.name != new.name:
            name = (old or new).name
            return Difference(part=f"tool {name}", before=_named(old), after=_named(new))
        if old.description != new.description:
            return _difference(f"the description of tool {old.name}", old.description, new.description)
        schemas = (_text(old.input_schema), _text(new.input_schema))
        if schemas[0] != schemas[1]:
            return _difference(f"the schema of tool {old.name}", *schemas)
    return None


def _named(tool: Any) -> str:
    return NOTHING if tool is None else f"tool {tool.name}"


def _message(number: int, old: Message | None, new: Message | None) -> Difference | None:
    role = (old or new).role  # type: ignore[union-attr]
    part = f"message {number} ({role})"
    if old is None or new is None or old.role != new.role:
        return Difference(part=part, before=_said(old), after=_said(new))
    if old.content == new.content:
        return None
    for block, (one, other) in enumerate(zip_longest(_blocks(old), _blocks(new)), 1):
        if one != other:
            return _difference(f"{part} block {block}", one or NOTHING, other or NOTHING)
    return None


def _blocks(message: Message) -> Iterator[str]:
    for block in message.content:
        text = getattr(block, "text", None)
        yield text if block.type == "text" and isinstance(text, str) else _text(block)


def _said(message: Message | None) -> str:
    if message is None:
        return NOTHING
    return f"{message.role} {one_line(' '.join(_blocks(message)), max_chars=EXCERPT_CHARS)!r}"


def _text(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False, sort_keys=True)


def _difference(part: str, old: str, new: str) -> Difference:
    """`part`, of which the texts differ, from a little before the first character that does."""
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(0, at - EXCERPT_CHARS // 3)
    lead = "…" if start else ""
    before, after = (
        f"{lead}{one_line(text[start : start + EXCERPT_CHARS], max_chars=EXCERPT_CHARS)}"
        for text in (old, new)
    )
    return Difference(part=part, before=repr(before), after=repr(after))
