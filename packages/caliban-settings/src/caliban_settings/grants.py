"""What a project's files say that trust would let count, whatever other scopes say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, assert_never

from msgspec import Struct

from caliban_settings.environment import is_harmless
from caliban_settings.guard import only_tightens
from caliban_settings.key import Guard, Scope
from caliban_settings.leaves import LeafPath, Leaves, SettingValue, dotted

OF_PROJECT: Final[tuple[Scope, ...]] = ("project", "local")
"""The scopes whose files lie in the workspace."""

_RULES: Final = (("permissions", "allow"), ("permissions", "ask"), ("permissions", "deny"))


class ProjectSetting(Struct, frozen=True, kw_only=True):
    """A setting of a project, as it was read. `grants` is false for what only narrows the others.

    Such a one counts without trust; but what was trusted with it is something else without it.
    """

    key: str
    scope: Scope
    path: Path | None
    value: Any
    grants: bool


def project_settings(layers: Mapping[Scope, Leaves]) -> tuple[ProjectSetting, ...]:
    """What of `layers` a person has to see before it counts; empty where nothing waits for trust."""
    settings = [
        ProjectSetting(
            key=dotted(path),
            scope=scope,
            path=leaf.origins[-1].path,
            value=leaf.value,
            grants=grants,
        )
        for scope in OF_PROJECT
        for path, leaf, grants in _parts(layers.get(scope, {}), scope)
    ]
    return tuple(settings) if any(setting.grants for setting in settings) else ()


def _parts(leaves: Leaves, scope: Scope) -> Iterator[tuple[LeafPath, SettingValue, bool]]:
    for path, leaf in leaves.items():
        if leaf.key is None or scope not in leaf.key.scopes:
            continue  # nobody knows it, or a project never says it
        grants = _grants(leaf.key.guard, path, leaf)
        if grants is not None:
            yield path, leaf, grants


def _grants(guard: Guard, path: LeafPath, leaf: SettingValue) -> bool | None:
    """Whether it grants something; `None` for what has nothing to do with trust."""
    match guard:
        case "free":
            return False if path in _RULES else None
        case "trust" | "limit":  # a limit below one's own waits for nothing, but that can change
            return True
        case "tighten":
            return False
        case "rules":
            return any(rule["action"] == "allow" for rule in leaf.value)
        case "environment":
            return True if is_harmless(path[-1]) else None
        case "inside":
            return None
        case "server":
            return not only_tightens(path, leaf)
        case _:
            assert_never(guard)
