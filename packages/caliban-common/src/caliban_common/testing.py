"""Parts for tests of who makes messages: ids that are known beforehand, and messages compared by content."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from caliban_common.message import Message


class CountedIds:
    """A source of ids that counts: `m1`, `m2`, …"""

    def __init__(self, prefix: str = "m") -> None:
        self._prefix = prefix
        self._count = 0

    def __call__(self) -> str:
        """The next id."""
        self._count += 1
        return f"{self._prefix}{self._count}"


def without_ids(messages: Iterable[Message]) -> tuple[Message, ...]:
    """`messages` with empty ids: equal when they say the same."""
    return tuple(replace(message, id="") for message in messages)
