"""How scopes become one: pure functions over leaves. `combine` is associative."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from caliban_settings.leaves import LeafPath, Leaves, SettingValue


def merge(layers: Iterable[Leaves]) -> dict[LeafPath, SettingValue]:
    """All `layers`, lowest first, as one."""
    merged: dict[LeafPath, SettingValue] = {}
    for layer in layers:
        merged = combine(merged, layer)
    return merged


def combine(lower: Leaves, higher: Leaves) -> dict[LeafPath, SettingValue]:
    """Two layers as one; what both say is decided by the key's merge rule."""
    merged = dict(lower)
    for path, leaf in higher.items():
        below = merged.get(path)
        merged[path] = leaf if below is None else _both(below, leaf)
    return merged


def nested(leaves: Leaves) -> dict[str, Any]:
    """Leaves as tables in tables."""
    root: dict[str, Any] = {}
    for path, leaf in leaves.items():
        table = root
        for name in path[:-1]:
            table = table.setdefault(name, {})
        table[path[-1]] = leaf.value
    return root


def _both(lower: SettingValue, higher: SettingValue) -> SettingValue:
    rule = higher.key.merge if higher.key is not None else "highest"
    origins = (*lower.origins, *higher.origins)
    match rule:
        case "highest":
            return higher
        case "join":
            value: Any = list(dict.fromkeys([*lower.value, *higher.value]))
        case "append":
            value = [*lower.value, *higher.value]
        case "strictest":
            if lower.value != higher.value:
                return lower if lower.value else higher
            value = lower.value
        case _:
            assert_never(rule)
    return SettingValue(key=higher.key, value=value, origins=origins)
