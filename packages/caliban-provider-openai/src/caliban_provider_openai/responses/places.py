"""Which item of a reply an event speaks of, whatever a server leaves out or says twice.

The wire promises a place (`output_index`) and an id with every event. Local servers leave the places out, or
end something at a place that another item takes after it; gateways give one item another id in every event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from caliban_provider.json_fields import maybe_count, member, string
from caliban_provider_openai.responses.output import OutputItem


class _Entry(Struct, kw_only=True):
    """An item that events have told of; `item` is `None` once it is over."""

    place: int
    id: str
    kind: str
    call_id: str
    item: OutputItem | None


class Places:
    """The items of one reply: those that are open, and what is known of those that are over."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def __iter__(self) -> Iterator[OutputItem]:
        return (entry.item for entry in self._entries if entry.item is not None)

    def find(self, event: Mapping[str, Any]) -> OutputItem | None:
        """The open item that `event` speaks of; without a place and an id it is the one that began last."""
        entry = self._find(event)
        return None if entry is None else entry.item

    def begin(self, event: Mapping[str, Any], item: OutputItem) -> bool:
        """Take `item` in, unless it was told of before; whether it was not."""
        place, id = _address(event)
        for entry in self._entries:
            at_place = entry.place == place and entry.kind == item.kind and not (id and entry.id)
            if (id and entry.id == id) or at_place or (entry.place == place and entry.item is not None):
                return False
        self._add(event, item.kind, item)
        return True

    def end(self, event: Mapping[str, Any]) -> None:
        """Take down that the item that `event` tells whole is over."""
        entry = self._find(event)
        if entry is None:
            self._add(event, string(member(event, "item"), "type"), None)
        else:
            entry.item = None
            entry.call_id = string(member(event, "item"), "call_id") or entry.call_id

    def is_over(self, event: Mapping[str, Any], *, at_last: bool = False) -> bool:
        """Whether the item that `event` tells whole was told whole before.

        The list `at_last` holds every item at its place, whatever id it has there; only calls keep theirs.
        """
        place, id = _address(event)
        item = member(event, "item")
        kind, call_id = string(item, "type"), string(item, "call_id")
        for entry in self._entries:
            if entry.item is not None:
                continue
            if id and entry.id == id:
                return True
            if entry.place == place and entry.kind == kind:
                other_call = bool(call_id and entry.call_id and call_id != entry.call_id)
                if (at_last and not other_call) or not (id and entry.id):
                    return True
        return False

    def _find(self, event: Mapping[str, Any]) -> _Entry | None:
        place, id = _address(event)
        held = [entry for entry in self._entries if entry.item is not None]
        named = [entry for entry in held if id and entry.id == id]
        if place is None:
            fitting = named or [entry for entry in held if not (id and entry.id)]
        else:
            at_place = [entry for entry in held if entry.place == place]
            fitting = [entry for entry in at_place if entry in named] or at_place
        return fitting[-1] if fitting else None

    def _add(self, event: Mapping[str, Any], kind: str, item: OutputItem | None) -> None:
        place, id = _address(event)
        call_id = string(member(event, "item"), "call_id")
        place = len(self._entries) if place is None else place
        self._entries.append(_Entry(place=place, id=id, kind=kind, call_id=call_id, item=item))


def _address(event: Mapping[str, Any]) -> tuple[int | None, str]:
    item = member(event, "item")
    id = string(event, "item_id") or string(item, "id") or string(item, "call_id")
    return maybe_count(event, "output_index"), id
