"""The settings of one start, merged: a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban_settings.guard import Withheld
from caliban_settings.key import Scope
from caliban_settings.leaves import LeafPath, Leaves, ValueOrigin
from caliban_settings.merge import nested
from caliban_settings.schema import SCHEMA
from caliban_settings.unbuilt import Unbuilt


class Settings(Struct, frozen=True, kw_only=True):
    """What all scopes say together.

    `merged` is the whole as plain JSON data, `layers` the part of each scope that counts, `raw` each scope's
    data as it was read, `withheld` what has no effect and why, `unbuilt` what asks for a feature that is not
    there. Nobody changes any of it.
    """

    merged: Mapping[str, Any]
    leaves: Leaves
    layers: Mapping[Scope, Mapping[str, Any]]
    rules: Mapping[str, tuple[dict[str, Any], ...]]
    raw: Mapping[Scope, Mapping[str, Any]]
    withheld: tuple[Withheld, ...]
    unbuilt: tuple[Unbuilt, ...] = ()
    warnings: tuple[str, ...]

    def get(self, path: str, default: Any = None) -> Any:
        """The value at a dotted path, a whole table for the name of one; `default` when nobody set it.

        What the schema calls a default is not filled in: that is for whoever owns the option. Raises
        `KeyError` for a path whose first name is no setting at all.
        """
        names = path.split(".")
        if names[0] not in self.merged:
            if names[0] not in _first_names():
                raise KeyError(path)
            return default
        value: Any = self.merged
        for name in names:
            if not isinstance(value, Mapping) or name not in value:
                return default
            value = value[name]
        return value

    def origins(self, path: str) -> tuple[ValueOrigin, ...]:
        """Everybody who had a part in the value, or in the table, at a dotted path; lowest first."""
        names: LeafPath = tuple(path.split("."))
        origins_below = (leaf.origins for own, leaf in self.leaves.items() if own[: len(names)] == names)
        return tuple(dict.fromkeys(origin for origins in origins_below for origin in origins))

    def origin(self, path: str) -> ValueOrigin | None:
        """Whose value it is at a dotted path: the last who had a part in it; `None` when nobody set it."""
        origins = [leaf.origins[-1] for own, leaf in self.leaves.items() if _within(own, path)]
        return max(origins, key=lambda origin: self._rank(origin.scope), default=None)

    def scopes(self) -> dict[str, Scope]:
        """The scope behind each top-level key, as `config print` shows it under `_sources`."""
        scopes: dict[str, Scope] = {}
        for name in self.merged:
            origin = self.origin(name)
            if origin is not None:
                scopes[name] = origin.scope
        return scopes

    @property
    def sources(self) -> tuple[Scope, ...]:
        """The scopes that were there and were read, lowest first."""
        return tuple(self.raw)

    def rules_by_scope(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """The permission rules of each scope that has any, first match first.

        Each is plain data: `pattern`, `action`, and where given `comment`, `reason` and `expires_at` (RFC
        3339, UTC). Allows that a project may not give, or not yet, are not among them.
        """
        return dict(self.rules)

    def _rank(self, scope: Scope) -> int:
        return tuple(self.layers).index(scope)


def keeping(new: Settings, old: Settings) -> Settings:
    """`new` with the values of `old` for what only a new start takes over."""
    leaves = {path: leaf for path, leaf in new.leaves.items() if leaf.key is None or not leaf.key.restart}
    leaves |= {path: leaf for path, leaf in old.leaves.items() if leaf.key is not None and leaf.key.restart}
    return replace(new, leaves=leaves, merged=nested(leaves))


def _within(own: LeafPath, path: str) -> bool:
    names = tuple(path.split("."))
    return own[: len(names)] == names


@cache
def _first_names() -> frozenset[str]:
    """What a path of a setting may begin with."""
    return frozenset(key.path.partition(".")[0] for key in SCHEMA)
