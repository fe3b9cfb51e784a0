"""The events of a reply as they stand in a recording: `["block_start", {...}]`, and `["text", 0, "…"]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from msgspec import Struct, to_builtins

from caliban_common.errors import DataError
from caliban_common.typed import typed
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

NAMES: Final[Mapping[type[Struct], str]] = MappingProxyType(
    {
        MessageStart: "message_start",
        BlockStart: "block_start",
        SignatureDelta: "signature",
        BlockStop: "block_stop",
        MessageDelta: "message_delta",
        MessageStop: "message_stop",
    }
)
TEXTS: Final[Mapping[type[Struct], str]] = MappingProxyType(
    {TextDelta: "text", ThinkingDelta: "thinking", InputDelta: "input"}
)
KINDS: Final[Mapping[str, type[Struct]]] = MappingProxyType({name: kind for kind, name in NAMES.items()})
MAKERS: Final[Mapping[str, Callable[[int, str], StreamEvent]]] = MappingProxyType(
    {"text": TextDelta, "thinking": ThinkingDelta, "input": InputDelta}
)


def event_to_data(event: StreamEvent) -> list[Any]:
    """`event` as plain data."""
    kind = type(event)
    if kind in TEXTS:
        text = event.partial_json if isinstance(event, InputDelta) else event.text  # type: ignore[union-attr]
        return [TEXTS[kind], event.index, text]  # type: ignore[union-attr]
    members = to_builtins(event, enc_hook=_table)
    return [NAMES[kind], {name: value for name, value in members.items() if value not in (None, "")}]


def event_from_data(data: object) -> StreamEvent:
    """The event in plain data. Raises `DataError`."""
    match data:
        case [str(name), int(index), str(text)] if name in MAKERS and index >= 0:
            return MAKERS[name](index, text)
        case [str(name), dict(members)] if name in KINDS:
            return cast(StreamEvent, typed(members, KINDS[name], what=f"a {name}"))
        case _:
            raise DataError("an event of a reply is none that is known")


def _table(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
