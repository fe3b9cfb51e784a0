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


class _Told(Struct, kw_only=True):
    """An item that events have told of; `item` is `None` once it is over."""

    place: int
    id: str
    kind: str
    call_id: str
    item: OutputItem | None


class Places:
    """The items of one reply: those that are open, and what is known of those that are over."""

    def __init__(self) -> None:
        self._told: list[_Told] = []

    def __iter__(self) -> Iterator[OutputItem]:
        return (told.item for told in self._told if told.item is not None)

    def find(self, event: Mapping[str, Any]) -> OutputItem | None:
        """The open item that `event` speaks of; without a place and an id it is the one that began last."""
        told = self._find(event)
        return None if told is None else told.item

    def begin(self, event: Mapping[str, Any], item: OutputItem) -> bool:
        """Take `item` in, unless it was told of before; whether it was not."""
        place, id = _address(event)
        for told in self._told:
            at_place = told.place == place and told.kind == item.kind and not (id and told.id)
            if (id and told.id == id) or at_place or (told.place == place and told.item is not None):
                return False
        self._add(event, item.kind, item)
        return True

    def end(self, event: Mapping[str, Any]) -> None:
        """Take down that the item that `event` tells whole is over."""
        told = self._find(event)
        if told is None:
            self._add(event, string(member(event, "item"), "type"), None)
        else:
            told.item = None
            told.call_id = string(member(event, "item"), "call_id") or told.call_id

    def is_over(self, event: Mapping[str, Any], *, at_last: bool = False) -> bool:
        """Whether the item that `event` tells whole was told whole before.

        The list `at_last` holds every item at its place, whatever id it has there; only calls keep theirs.
        """
        place, id = _address(event)
        item = member(event, "item")
        kind, call_id = string(item, "type"), string(item, "call_id")
        for told in self._told:
            if told.item is not None:
                continue
            if id and told.id == id:
                return True
            if told.place == place and told.kind == kind:
                other_call = bool(call_id and told.call_id and call_id != told.call_id)
                if (at_last and not other_call) or not (id and told.id):
                    return True
        return False

    def _find(self, event: Mapping[str, Any]) -> _Told | None:
        place, id = _address(event)
        held = [told for told in self._told if told.item is not None]
        named = [told for told in held if id and told.id == id]
        if place is None:
            fitting = named or [told for told in held if not (id and told.id)]
        else:
            at_place = [told for told in held if told.place == place]
            fitting = [told for told in at_place if told in named] or at_place
        return fitting[-1] if fitting else None

    def _add(self, event: Mapping[str, Any], kind: str, item: OutputItem | None) -> None:
        place, id = _address(event)
        call_id = string(member(event, "item"), "call_id")
        place = len(self._told) if place is None else place
        self._told.append(_Told(place=place, id=id, kind=kind, call_id=call_id, item=item))


def _address(event: Mapping[str, Any]) -> tuple[int | None, str]:
    item = member(event, "item")
    id = string(event, "item_id") or string(item, "id") or string(item, "call_id")
    return maybe_count(event, "output_index"), id
