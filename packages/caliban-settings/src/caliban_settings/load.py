"""Load every scope, restrain it, merge the rest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, structs

from caliban_common.text import one_line
from caliban_settings.errors import SettingsError
from caliban_settings.grants import OF_PROJECT, ProjectSetting, project_settings
from caliban_settings.guard import Ground, Withheld, blocks, floor, lock, restrain
from caliban_settings.key import PERSON, SCOPES, Scope
from caliban_settings.leaves import LeafPath, Leaves, SettingValue, read_leaves, schema_tree
from caliban_settings.merge import merge, nested
from caliban_settings.rules import rules_of
from caliban_settings.schema import SCHEMA
from caliban_settings.settings import Settings
from caliban_settings.source import INLINE, Source, read_overlay, read_scope
from caliban_settings.unbuilt import unbuilt

FILE_SCOPES: Final = SCOPES[:4]
SERVER_FILE: Final = ".mcp.json"
"""In which projects write servers for every harness alike; what reads it is loaded where there is one."""
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
    servers: ServerSources | None = None,
) -> SettingsLayers:
    """What every scope says, read once, before it is known whether the project is trusted.

    `servers` are MCP servers of the command line. Other arguments and errors are those of `load_settings`.
    """
    wanted = _wanted(sources)
    given = _read_all(wanted, workspace, config_dir, managed_dir)
    if overlay is not None:
        given["cli"] = read_overlay(overlay)
    if servers is not None and servers.given:
        given["cli"] = _with_servers(given.get("cli"), servers.given)
    if not given:
        return SettingsLayers(workspace=workspace, wanted=wanted)
    layers, warnings = _checked(given)
    if "managed" in layers and "managed" not in wanted:
        layers["managed"] = floor(layers["managed"])
        if not layers["managed"]:
            del layers["managed"], given["managed"]
    return SettingsLayers(
        workspace=workspace,
        wanted=wanted,
        given=given,
        layers=layers,
        warnings=tuple(warnings),
        only_given_servers=servers is not None and servers.only_these,
    )


class ServerSources(Struct, frozen=True, kw_only=True):
    """MCP servers that the command line gives, each as a JSON object or a path, and whether it has all."""

    given: tuple[str, ...] = ()
    only_these: bool = False


class SettingsLayers(Struct, frozen=True, kw_only=True):
    """The scopes as they were read, lowest first. What is merged of them is what a person was shown of them.

    `wanted` are the scopes that the command line lets count; with `only_given_servers` no server of a file
    does.
    """

    workspace: Path
    wanted: tuple[Scope, ...]
    given: Mapping[Scope, Source] = {}
    layers: Mapping[Scope, Leaves] = {}
    warnings: tuple[str, ...] = ()
    only_given_servers: bool = False

    def merged(self, *, trusted: bool) -> Settings:
        """All of them as one; `trusted` lets a project's grants count."""
        layers, withheld = _restrained(self.layers, self.workspace, trusted) if self.layers else ({}, ())
        if self.only_given_servers:
            layers = {scope: _without_servers(scope, leaves) for scope, leaves in layers.items()}
            withheld = tuple(item for item in withheld if not item.key.startswith("mcp_servers."))
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


def _with_servers(overlay: Source | None, given: tuple[str, ...]) -> Source:
    """The scope of the command line with the servers that it gives. Raises `SettingsError`."""
    from caliban_settings.server_files import read_given_servers

    first, *others = [*([] if overlay is None else [overlay]), *map(read_given_servers, given)]
    return structs.replace(first, beside=tuple(others))


def _without_servers(scope: Scope, leaves: Leaves) -> dict[LeafPath, SettingValue]:
    """The leaves of a scope but for its servers, if it is one of files."""
    if scope == "cli":
        return dict(leaves)
    return {path: leaf for path, leaf in leaves.items() if path[0] != "mcp_servers"}


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
    if "project" in wanted and os.path.lexists(workspace / SERVER_FILE):
        _add_servers(read, workspace)
    return read


def _add_servers(read: dict[Scope, Source], workspace: Path) -> None:
    """The servers of a file that a project shares with other harnesses stand beside its settings."""
    from caliban_settings.server_files import read_project_servers

    shared = read_project_servers(workspace, schema_tree(SCHEMA))
    if shared is not None:
        own = read.get("project")
        read["project"] = shared if own is None else structs.replace(own, beside=(shared,))


def _checked(sources: Mapping[Scope, Source]) -> tuple[dict[Scope, Leaves], list[str]]:
    tree = schema_tree(SCHEMA)
    layers: dict[Scope, Leaves] = {}
    warnings: list[str] = []
    for scope, source in sources.items():
        leaves, of_scope = read_leaves(source, tree)
        for other in source.beside:
            more, warned = read_leaves(other, tree)
            of_scope = [*of_scope, *warned, *_taken(leaves, more, other)]
            named = {path[1] for path in leaves if path[0] == "mcp_servers" and len(path) > 1}
            leaves |= {path: leaf for path, leaf in more.items() if path[1] not in named}
        layers[scope] = leaves
        warnings.extend(of_scope)
    return layers, warnings


def _taken(leaves: Leaves, more: Leaves, other: Source) -> list[str]:
    """What to say of servers that stand twice in one scope: the first entry counts, as a whole."""
    named = {path[1] for path in leaves if path[0] == "mcp_servers" and len(path) > 1}
    twice = dict.fromkeys(path[1] for path in more if path[1] in named)
    return [
        f"{other.name}: the server {one_line(name, max_chars=80)!r} is that of another file of its scope"
        for name in twice
    ]


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
