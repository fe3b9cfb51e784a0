"""Remembers what was derived from an object, for as long as it is used and there is room.

An encoder keeps the bytes of each message here: a long history is then joined, not written again, per turn.
"""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")
FLOOR_BYTES = 1 << 20


class Memo(Generic[V]):
    """Values by the identity of the objects they were made from, which are held so that it stays theirs.

    Two generations: when the young one has taken `max_bytes`, it becomes the old one, and what nobody asks
    for until the next change is forgotten. `fit` makes that sooner: what a summary took the place of is not
    held for long.
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bound_bytes = max_bytes
        self._young: dict[tuple[int, object], tuple[object, V, int]] = {}
        self._old: dict[tuple[int, object], tuple[object, V, int]] = {}
        self._size_bytes = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, owner: object, variant: object = None) -> V | None:
        """The value of `owner` for `variant`, if it is remembered."""
        key = (id(owner), variant)
        value = self._young.get(key)
        if value is None and (value := self._old.pop(key, None)) is not None:
            self._keep(key, value)
        return None if value is None else value[1]

    def put(self, owner: object, value: V, size_bytes: int, variant: object = None) -> None:
        """Remember `value`, which takes about `size_bytes`, as `owner`'s for the hashable `variant`."""
        self._keep((id(owner), variant), (owner, value, size_bytes))

    def fit(self, used_bytes: int) -> None:
        """So much was in use just now: remember no more than twice that, or a mebibyte."""
        self._bound_bytes = min(self._max_bytes, max(FLOOR_BYTES, 2 * used_bytes))

    def _keep(self, key: tuple[int, object], entry: tuple[object, V, int]) -> None:
        if self._size_bytes > self._bound_bytes:
            self._old, self._young, self._size_bytes = self._young, {}, 0
        self._young[key] = entry
        self._size_bytes += entry[2]
