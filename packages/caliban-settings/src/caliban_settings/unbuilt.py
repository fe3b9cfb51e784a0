"""Settings whose feature is not part of this version: each is named, and none is taken as if it worked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from caliban_settings.key import Key
from caliban_settings.leaves import LeafPath, Leaves, ValueOrigin, dotted
from caliban_settings.source import INLINE


class Unbuilt(Struct, frozen=True, kw_only=True):
    """A value that asks for a `feature` that is not there, and who wrote it.

    `is_safeguard` marks what somebody relies on for safety: going on without it would fail open.
    """

    key: str
    feature: str
    origin: ValueOrigin
    is_safeguard: bool

    @property
    def words(self) -> str:
        """What to tell the person who wrote it."""
        place = str(self.origin.path or INLINE)
        return f"{place}: `{self.key}` has no effect: {self.feature} not part of this version"


def unbuilt(leaves: Leaves) -> tuple[Unbuilt, ...]:
    """What `leaves` ask for in vain, once for each table of free names."""
    asked: dict[str, Unbuilt] = {}
    for path, leaf in leaves.items():
        if leaf.key is None or not leaf.key.later or not _asks(leaf.key, leaf.value):
            continue
        if _is_off(path, leaves):
            continue
        item = Unbuilt(
            key=dotted(path),
            feature=leaf.key.later,
            origin=leaf.origins[-1],
            is_safeguard=leaf.key.safeguard,
        )
        asked.setdefault(item.key, item)
    return tuple(asked.values())


def _asks(key: Key, value: Any) -> bool:
    """Whether `value` wants anything: what is off, empty or the default wants nothing."""
    is_default = not key.safeguard and key.default is not None and value == key.default
    return value not in (None, False, "", [], {}) and not is_default


def _is_off(path: LeafPath, leaves: Leaves) -> bool:
    """Whether what `path` belongs to is switched off by a setting beside it."""
    return any(leaves[switch].value is value for switch, value in _switches(path) if switch in leaves)


def _switches(path: LeafPath) -> Iterator[tuple[LeafPath, bool]]:
    match path[0]:
        case "mcp_servers":
            yield (*path[:2], "disabled"), True
