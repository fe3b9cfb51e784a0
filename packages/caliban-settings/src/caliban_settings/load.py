"""Load every scope, restrain it, merge the rest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from caliban_common.text import one_line
from caliban_settings.errors import SettingsError
from caliban_settings.grants import OF_PROJECT, ProjectSetting, project_settings
from caliban_settings.guard import Ground, Withheld, blocks, floor, lock, restrain
from caliban_settings.key import PERSON, SCOPES, Scope
from caliban_settings.leaves import LeafPath, Leaves, SettingValue, ValueOrigin, read_leaves, schema_tree
from caliban_settings.merge import merge, nested
from caliban_settings.place import line_of
from caliban_settings.rules import rules_of
from caliban_settings.schema import SCHEMA
from caliban_settings.settings import Settings
from caliban_settings.source import INLINE, Source, read_overlay, read_scope
from caliban_settings.unbuilt import unbuilt

FILE_SCOPES: Final = SCOPES[:4]
MAX_NAMES: Final = 8
"""Settings named in one warning."""


def load_settings(
    *,
    workspace: Path,
    config_dir: Path,
    managed_dir: Path,
    sources: tuple[str, ...] | None = None,
    overlay: str | None = None,
    trusted: bool = False,
) -> Settings:
    """The settings for a run in `workspace`.

    `sources` limits the files to some scopes (`managed`, `user`, `project`, `local`; `None` is all); what the
    administrator forbids holds all the same. `overlay` stands above them: a JSON object, or the path of a
    file. `trusted` lets a project's grants count, as far as a project may grant at all.

    Raises `SettingsError`: an unknown scope, a file that cannot be read or parsed, a key of a wrong form.
    """
    layers = read_layers(
        workspace=workspace, config_dir=config_dir, managed_dir=managed_dir, sources=sources, overlay=overlay
    )
    return layers.merged(trusted=trusted)


def read_layers(
    *,
    workspace: Path,
    config_dir: Path,
    managed_dir: Path,
    sources: tuple[str, ...] | None = None,
    overlay: str | None = None,
) -> SettingsLayers:
    """What every scope says, read once, before it is known whether the project is trusted.

    Arguments and errors are those of `load_settings`.
    """
    wanted = _wanted(sources)
    given = _read_all(wanted, workspace, config_dir, managed_dir)
    if overlay is not None:
        given["cli"] = read_overlay(overlay)
    if not given:
        return SettingsLayers(workspace=workspace, wanted=wanted)
    layers, warnings = _checked(given)
    if "managed" in layers and "managed" not in wanted:
        layers["managed"] = floor(layers["managed"])
        if not layers["managed"]:
            del layers["managed"], given["managed"]
    return SettingsLayers(
        workspace=workspace, wanted=wanted, given=given, layers=layers, warnings=tuple(warnings)
    )


class SettingsLayers(Struct, frozen=True, kw_only=True):
    """The scopes as they were read, lowest first. What is merged of them is what a person was shown of them.

    `wanted` are the scopes that the command line lets count.
    """

    workspace: Path
    wanted: tuple[Scope, ...]
    given: Mapping[Scope, Source] = {}
    layers: Mapping[Scope, Leaves] = {}
    warnings: tuple[str, ...] = ()

    def merged(self, *, trusted: bool) -> Settings:
        """All of them as one; `trusted` lets a project's grants count."""
        layers, withheld = _restrained(self.layers, self.workspace, trusted) if self.layers else ({}, ())
        leaves = merge(layers.values())
        return Settings(
            merged=nested(leaves),
            leaves=leaves,
            layers={scope: nested(layer) for scope, layer in layers.items()},
            rules=_rules(layers),
            raw={scope: source.data for scope, source in self.given.items()},
            withheld=withheld,
            unbuilt=unbuilt(leaves) if leaves else (),
            warnings=(*self.warnings, *_about(withheld)),
        )

    def line_of(self, path: LeafPath, origin: ValueOrigin) -> int | None:
        """The line, from 1, at which `origin` says the value at `path`; `None` where it is not found."""
        source = self.given.get(origin.scope)
        if source is None or origin.path is None:
            return None
        file = source.file_of(path[0])
        own = path[1:] if file is not source and path[0] == "permissions" else path
        line = line_of(file.text, path, toml=file.toml)
        return line if line is not None or own == path else line_of(file.text, own, toml=file.toml)

    def of_project(self) -> tuple[ProjectSetting, ...]:
        """What the project's own files grant, and what of them narrows that; empty where they grant nothing.

        It depends on these files only, not on what other scopes say, and files that are left out now are
        looked at too. Raises `SettingsError`.
        """
        layers = {scope: self.layers.get(scope, {}) for scope in OF_PROJECT}
        left_out = tuple(scope for scope in OF_PROJECT if scope not in self.wanted)
        if left_out:
            nowhere = self.workspace / ".caliban"  # only scopes of the project are read
            layers |= _checked(_read_all(left_out, self.workspace, nowhere, None))[0]
        return project_settings(layers)


def _wanted(sources: tuple[str, ...] | None) -> tuple[Scope, ...]:
    if sources is None:
        return FILE_SCOPES
    names = [name.strip() for name in sources]
    for name in names:
        if name not in FILE_SCOPES:
            raise SettingsError(
                f"unknown settings scope {name!r:.40}",
                hint=f"one of {', '.join(FILE_SCOPES)}",
            ).with_remedy("settings_scopes", ", ".join(FILE_SCOPES))
    return tuple(scope for scope in FILE_SCOPES if scope in names)


def _read_all(
    wanted: tuple[Scope, ...], workspace: Path, config_dir: Path, managed_dir: Path | None
) -> dict[Scope, Source]:
    """The files of some scopes; the administrator's in any case, where a `managed_dir` is given."""
    places: tuple[tuple[Scope, Path | None, str], ...] = (
        ("managed", managed_dir, "managed-settings"),
        ("user", config_dir, "settings"),
        ("project", workspace / ".caliban", "settings"),
        ("local", workspace / ".caliban", "settings.local"),
    )
    read: dict[Scope, Source] = {}
    for scope, directory, stem in places:
        if directory is not None and (scope in wanted or scope == "managed"):
            source = read_scope(scope, directory, stem)
            if source is not None:
                read[scope] = source
    return read


def _checked(sources: Mapping[Scope, Source]) -> tuple[dict[Scope, Leaves], list[str]]:
    tree = schema_tree(SCHEMA)
    layers: dict[Scope, Leaves] = {}
    warnings: list[str] = []
    for scope, source in sources.items():
        layers[scope], of_scope = read_leaves(source, tree)
        warnings.extend(of_scope)
    return layers, warnings


def _restrained(
    layers: Mapping[Scope, Leaves], workspace: Path, trusted: bool
) -> tuple[dict[Scope, Leaves], tuple[Withheld, ...]]:
    """Each layer without what it may not say, in the order in which they are merged."""
    ground = Ground(workspace=workspace, trusted=trusted, servers=_servers(layers), limits=_limits(layers))
    managed = layers.get("managed", {})
    blocking = blocks(managed)
    kept: dict[Scope, Leaves] = {}
    withheld: list[Withheld] = []
    for scope, leaves in layers.items():
        kept[scope], refused = restrain(scope, leaves, ground)
        withheld.extend(refused)
        if blocking and scope != "managed":
            kept[scope], refused = lock(kept[scope], managed)
            withheld.extend(refused)
    if blocking:
        kept["managed"] = kept.pop("managed")
    return kept, tuple(withheld)


def _servers(layers: Mapping[Scope, Leaves]) -> dict[str, frozenset[LeafPath]]:
    """The leaves of each MCP server that a person defined."""
    paths: dict[str, set[LeafPath]] = {}
    for scope in PERSON:
        for path in layers.get(scope, {}):
            if path[0] == "mcp_servers" and len(path) > 1:
                paths.setdefault(path[1], set()).add(path)
    return {name: frozenset(own) for name, own in paths.items()}


def _limits(layers: Mapping[Scope, Leaves]) -> dict[LeafPath, float]:
    """The limits that a person set, by the highest scope that did."""
    return {
        path: leaf.value
        for scope in PERSON
        for path, leaf in layers.get(scope, {}).items()
        if leaf.key is not None and leaf.key.guard == "limit"
    }


def _rules(layers: Mapping[Scope, Leaves]) -> dict[str, tuple[dict[str, Any], ...]]:
    by_scope: dict[str, tuple[dict[str, Any], ...]] = {}
    for scope, leaves in layers.items():
        own: dict[str, SettingValue] = {
            path[1]: leaf for path, leaf in leaves.items() if path[0] == "permissions"
        }
        rules = rules_of({name: leaf.value for name, leaf in own.items()})
        if rules:
            by_scope[scope] = tuple(rules)
    return by_scope


def _about(withheld: tuple[Withheld, ...]) -> list[str]:
    """One line per file and reason."""
    grouped: dict[tuple[str, str], dict[str, None]] = {}
    for item in withheld:
        place = str(item.path) if item.path is not None else INLINE
        grouped.setdefault((place, item.reason), {})[item.key] = None
    return [f"{place}: {_names(list(keys))}: {reason}" for (place, reason), keys in grouped.items()]


def _names(keys: list[str]) -> str:
    more = f" and {len(keys) - MAX_NAMES} more" if len(keys) > MAX_NAMES else ""
    return ", ".join(f"`{one_line(key, max_chars=80)}`" for key in keys[:MAX_NAMES]) + more
