"""Which harness a file is of, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_settings.foreign.claude import from_claude
from caliban_settings.foreign.codex import MARKS, from_codex
from caliban_settings.foreign.translated import Carried, Found, Harness, NotCarried, Translated, collected
from caliban_settings.leaves import LeafPath, Node, schema_tree
from caliban_settings.rules import from_legacy
from caliban_settings.schema import SCHEMA

_CLAUDE: Final = frozenset(
    {
        *("apiKeyHelper", "outputStyle", "cleanupPeriodDays", "mcpServers", "disableAllHooks"),
        *("includeCoAuthoredBy", "enableAllProjectMcpServers", "enabledPlugins", "effortLevel"),
        *("alwaysThinkingEnabled", "autoMemoryEnabled", "allowManagedHooksOnly", "numStartups"),
    }
)
_CLAUDE_PERMISSIONS: Final = frozenset(
    {"defaultMode", "additionalDirectories", "disableBypassPermissionsMode"}
)


def harness_of(data: Mapping[str, Any], *, toml: bool) -> Harness:
    """Whose file it is, by the names in it; JSON of nobody's own names is Claude's, TOML is ours."""
    if MARKS & data.keys():
        return "codex"
    if toml:
        return "caliban"
    permissions = data.get("permissions")
    members = set(permissions) if isinstance(permissions, Mapping) else set()
    if _CLAUDE & data.keys() or _CLAUDE_PERMISSIONS & members:
        return "claude"
    ours = {key.path.split(".")[0] for key in SCHEMA}
    theirs = {"permissions", "hooks", "env", "model", "statusLine", "sandbox", "$schema"}
    return "caliban" if data.keys() & (ours - theirs) or members & {"rules", "default_mode"} else "claude"


def translate(data: Mapping[str, Any], harness: Harness) -> Translated:
    """The settings of ours in `data`; the rules of Claude's permissions are not among them."""
    match harness:
        case "claude":
            return from_claude(data)
        case "codex":
            return from_codex(data)
        case "caliban":
            return _own(data)


def _own(data: Mapping[str, Any]) -> Translated:
    """A file of ours, of whatever age: a permissions.toml or hooks.toml is one too."""
    given = {name: value for name, value in data.items() if name != "$schema"}
    if {"rule", "rules", "allow", "ask", "deny"} & given.keys():
        permissions = from_legacy(given)
        given = {name: value for name, value in given.items() if name not in ("rule", *permissions)}
        given["permissions"] = permissions
    return collected(_walk(schema_tree(SCHEMA), given, ()))


def _walk(node: Node, table: Mapping[str, Any], path: LeafPath) -> Found:
    for given, value in table.items():
        child, here = node.child(given), (*path, given)
        if child is None:
            yield NotCarried(path=here, why="there is no such setting")
            continue
        own = (*path, given if child is node.star else child.name)
        if child.key is not None:
            yield Carried(path=own, value=value, source=here)
        elif isinstance(value, Mapping):
            yield from _walk(child, value, own)
        else:
            yield NotCarried(path=here, why="it is no table")
