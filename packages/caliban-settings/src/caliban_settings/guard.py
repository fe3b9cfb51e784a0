"""What a scope may not say: grants of a repository, and whatever the administrator has locked.

A value that may not count is withheld, with the reason, and never takes effect; the rest of its file does.
Rules: security.md TM5 (never from a project), TM2 (waits for trust), K5 (a lower scope only tightens).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.paths import expand_user
from caliban_settings.environment import is_harmless
from caliban_settings.key import PERSON, Guard, Key, Scope
from caliban_settings.leaves import LeafPath, Leaves, SettingValue, dotted

Objections: TypeAlias = list[tuple[Any, str]]
WAITS: Final = "no effect until this workspace is trusted"
_PERSONAL: Final = "no effect: only your own or managed settings may say this, never a project's"
_MANAGED: Final = "no effect: only managed settings may say this"
_LOCKED: Final = "no effect: locked by managed settings"
_WEAKER: Final = "no effect: a project may only make this stricter"
_OUTSIDE: Final = "no effect: outside of the workspace, which a project may not leave"
_STEERS: Final = "no effect: a project may set harmless variables only; your own [env] may set any"
_DEFINED: Final = "no effect: it would change a server that you defined, which a project may not"
_GUARDS: Final = (
    "hooks",
    "allowed_http_hook_urls",
    "http_hook_allowed_env_vars",
    "allowed_mcp_servers",
    "denied_mcp_servers",
)
"""The administrator's hooks guard, and stay with what they need; so do the lists of servers."""

_TIGHTENING: Final = (("permissions", "deny"), ("disabled_tools",))
_PERMISSION_RULES: Final = ("allow", "ask", "deny", "rules")


class Withheld(Struct, frozen=True, kw_only=True):
    """A value that has no effect, and why. `waits` marks what counts once the workspace is trusted."""

    key: str
    scope: Scope
    path: Path | None
    value: Any
    reason: str

    @property
    def waits(self) -> bool:
        """Whether trust would let it count."""
        return self.reason == WAITS


class Ground(Struct, frozen=True, kw_only=True):
    """What a judgement on a project's value stands on.

    `servers` has the leaves of those that a person defined, `limits` the numbers that a person set.
    """

    workspace: Path
    trusted: bool
    servers: Mapping[str, frozenset[LeafPath]]
    limits: Mapping[LeafPath, float]


def restrain(
    scope: Scope, leaves: Leaves, ground: Ground
) -> tuple[dict[LeafPath, SettingValue], list[Withheld]]:
    """The leaves of `scope` that count, and those that do not."""
    kept: dict[LeafPath, SettingValue] = {}
    withheld: list[Withheld] = []
    for path, leaf in leaves.items():
        objections = _objections(scope, path, leaf, ground)
        withheld.extend(_withheld(path, leaf, value, reason) for value, reason in objections)
        remains = _without(leaf, [value for value, _ in objections])
        if remains is not None:
            kept[path] = remains
    return kept, withheld


def lock(leaves: Leaves, managed: Leaves) -> tuple[dict[LeafPath, SettingValue], list[Withheld]]:
    """The leaves of a scope below blocking managed settings: what those set is theirs alone.

    Denies and asks stay: they only make things stricter.
    """
    taken = {_unit(path, leaf.key) for path, leaf in managed.items()}
    grants = any(_is_rules(path) for path in managed)
    kept: dict[LeafPath, SettingValue] = {}
    withheld: list[Withheld] = []
    for path, leaf in leaves.items():
        if _is_rules(path):
            locked = _allows(path, leaf.value) if grants else []
        else:
            locked = [leaf.value] if _unit(path, leaf.key) in taken else []
        withheld.extend(_withheld(path, leaf, value, _LOCKED) for value in locked)
        remains = _without(leaf, locked)
        if remains is not None:
            kept[path] = remains
    return kept, withheld


def floor(managed: Leaves) -> dict[LeafPath, SettingValue]:
    """What of the managed settings holds even where the command line leaves that scope out."""
    if _says(managed, ("parent_settings_behavior",), "block") or _says(
        managed, ("permissions", "enforce"), True
    ):
        return dict(managed)
    kept: dict[LeafPath, SettingValue] = {}
    for path, leaf in managed.items():
        if path in (("permissions", "deny"), ("permissions", "ask")):
            kept[path] = leaf
        elif path == ("permissions", "rules"):
            kept[path] = replace(leaf, value=[rule for rule in leaf.value if rule["action"] != "allow"])
        elif path[0] in _GUARDS or (leaf.key is not None and leaf.key.merge == "strictest" and leaf.value):
            kept[path] = leaf
    return kept


def blocks(managed: Leaves) -> bool:
    """Whether the managed settings stand above all others."""
    return _says(managed, ("parent_settings_behavior",), "block")


def _objections(scope: Scope, path: LeafPath, leaf: SettingValue, ground: Ground) -> Objections:
    """The value, or the items of its list, that do not count, with reasons."""
    key = leaf.key
    if key is None:
        return []
    if scope not in key.scopes:
        return [(leaf.value, _MANAGED if scope in PERSON else _PERSONAL)]
    return [] if scope in PERSON else _of_project(key, path, leaf, ground)


def _of_project(key: Key, path: LeafPath, leaf: SettingValue, ground: Ground) -> Objections:
    waits: Objections = [] if ground.trusted else [(leaf.value, WAITS)]
    guard: Guard = key.guard
    match guard:
        case "free":
            return []
        case "trust":
            return waits
        case "limit":
            within = leaf.value <= ground.limits.get(path, key.default)
            return [] if within else waits
        case "tighten":
            return [] if leaf.value else [(leaf.value, _WEAKER)]
        case "rules":
            return [(rule, WAITS) for rule in leaf.value if waits and rule["action"] == "allow"]
        case "environment":
            return waits if is_harmless(path[-1]) else [(leaf.value, _STEERS)]
        case "inside":
            return [(text, _OUTSIDE) for text in leaf.value if not _inside(text, ground.workspace)]
        case "server":
            return [] if only_tightens(path, leaf) else _of_server(path, leaf, ground) or waits
        case _:
            assert_never(guard)


def only_tightens(path: LeafPath, leaf: SettingValue) -> bool:
    """Whether a leaf of an MCP server takes something from it."""
    return (path[2] == "disabled" and leaf.value is True) or path[2:] in _TIGHTENING


def _of_server(path: LeafPath, leaf: SettingValue, ground: Ground) -> Objections:
    """A server that a person defined takes nothing from a project but a new, harmless variable."""
    defined = ground.servers.get(path[1])
    new_variable = path[2] == "env" and is_harmless(path[-1]) and path not in (defined or ())
    return [] if defined is None or new_variable else [(leaf.value, _DEFINED)]


def _without(leaf: SettingValue, values: list[Any]) -> SettingValue | None:
    """`leaf` without `values`, items of its list or the whole value; `None` when nothing remains."""
    if not values:
        return leaf
    if not isinstance(leaf.value, list) or any(value is leaf.value for value in values):
        return None
    gone = {id(value) for value in values}
    rest = [item for item in leaf.value if id(item) not in gone]
    return replace(leaf, value=rest) if rest else None


def _is_rules(path: LeafPath) -> bool:
    return path[0] == "permissions" and path[-1] in _PERMISSION_RULES


def _allows(path: LeafPath, items: list[Any]) -> list[Any]:
    if path[-1] == "rules":
        return [rule for rule in items if rule["action"] == "allow"]
    return list(items) if path[-1] == "allow" else []


def _unit(path: LeafPath, key: Key | None) -> LeafPath:
    """What is locked as a whole: one entry of a table of free names, else one setting."""
    return path[:2] if key is not None and key.path.split(".")[1:2] == ["*"] else path


def _inside(text: str, workspace: Path) -> bool:
    try:
        root = workspace.resolve()
        return (root / expand_user(text)).resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return False


def _says(leaves: Leaves, path: LeafPath, value: Any) -> bool:
    leaf = leaves.get(path)
    return leaf is not None and leaf.value == value


def _withheld(path: LeafPath, leaf: SettingValue, value: Any, reason: str) -> Withheld:
    origin = leaf.origins[-1]
    return Withheld(key=dotted(path), scope=origin.scope, path=origin.path, value=value, reason=reason)
