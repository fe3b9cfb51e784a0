"""Remembers what was derived from an object, for as long as it is used and there is room."""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    """Values found again by the identity of the object they were made from.

    The object is held, so that its identity stays its own. When more than `max_bytes` were added since the
    last clearing, everything that has not been asked for since is forgotten.
    """

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._young: dict[int, tuple[object, V, int]] = {}
        self._old: dict[int, tuple[object, V, int]] = {}
        self._young_bytes = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, owner: object, variant: bool = False) -> V | None:
        """The value of `owner`, if it is remembered."""
        found = self._young.get(id(owner) << 1 | variant)
        return found[1] if found is not None else self._from_old(id(owner) << 1 | variant)

    def put(self, owner: object, value: V, size_bytes: int, variant: bool = False) -> None:
        """Remember `value` as `owner`'s; `variant` keeps two values of one object apart."""
        self._keep(id(owner) << 1 | variant, (owner, value, size_bytes))

    def _from_old(self, key: int) -> V | None:
        found = self._old.pop(key, None)
        if found is None:
            return None
        self._keep(key, found)
        return found[1]

    def _keep(self, key: int, entry: tuple[object, V, int]) -> None:
        if self._young_bytes > self._max_bytes:
            self._old, self._young, self._young_bytes = self._young, {}, 0
        self._young[key] = entry
        self._young_bytes += entry[2]
