"""A settings key that parses and reaches nothing is a lie to the person who set it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import house

SETTINGS = "caliban_settings"
SCHEMA = "caliban_settings.schema"
COMPOSE = "caliban.compose"

THROUGH: Mapping[str, str] = {
    "permissions.allow": "rules_by_scope",
    "permissions.ask": "rules_by_scope",
    "permissions.deny": "rules_by_scope",
    "permissions.rules": "rules_by_scope",
}
"""Keys that the app reads through a member of `Settings`, which names them instead."""

WITHIN = ("parent_settings_behavior",)
"""Keys about the settings themselves: they are consumed by loading."""

PROVIDERS = "Every provider and transport, the router, and what it costs"

LATER: Mapping[str, str] = {
    "agent": "sub-agents",
    "model_overrides.fast-classifier": "the classifier of the auto mode",
    "model_overrides.fast_classifier": "the classifier of the auto mode",
    "permissions.audit_log": "the audit log of decisions",
    "hooks": "hooks",
    "disable_all_hooks": "hooks",
    "allow_managed_hooks_only": "hooks",
    "allowed_http_hook_urls": "hooks",
    "http_hook_allowed_env_vars": "hooks",
    "mcp_servers": "MCP servers",
    "memory": "memory",
    "claude_md_excludes": "memory",
    "plugins": "plugins",
    "output_style": "output styles",
    "editor_mode": "the terminal interface",
    "view_mode": "the terminal interface",
    "statusLine": "the terminal interface",
    "tui": "the terminal interface",
    "enable_telemetry": "telemetry",
}
"""Keys that only later work consumes, with its subject: a key, or the table that it stands in."""


def paths() -> tuple[str, ...]:
    """The paths of the table of settings, read from its source."""
    return tuple(
        keyword.value.value
        for module in house.modules()
        if module.name == SCHEMA
        for node in house.nodes(module)
        if isinstance(node, ast.Call) and house.callee(node) == "Key"
        for keyword in node.keywords
        if keyword.arg == "path" and isinstance(keyword.value, ast.Constant)
    )


def strings(*prefixes: str, without: str = "") -> frozenset[str]:
    """The string constants of the modules under `prefixes`, the fixed parts of f-strings included."""
    return frozenset(
        node.value.strip(".")
        for module in house.modules()
        if module.name.startswith(prefixes) and module.name != without
        for node in house.nodes(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def members(prefix: str) -> frozenset[str]:
    """The names that the modules under `prefix` reach by a dot."""
    return frozenset(
        node.attr
        for module in house.modules()
        if module.name.startswith(prefix)
        for node in house.nodes(module)
        if isinstance(node, ast.Attribute)
    )


def pieces(path: str) -> list[str]:
    """What code must say to read `path`: its parts between the names that a person chooses."""
    return [piece.strip(".") for piece in path.split("*") if piece.strip(".")]


def is_later(path: str) -> bool:
    """Whether `path` or a table around it waits for its feature."""
    parts = path.split(".")
    return any(".".join(parts[:length]) in LATER for length in range(1, len(parts) + 1))


def unconsumed() -> Iterator[str]:
    """The keys that no bridge of the app reads."""
    said, reached = strings(COMPOSE), members(COMPOSE)
    inside = strings(SETTINGS, without=SCHEMA)
    for path in paths():
        if path in THROUGH:
            if THROUGH[path] not in reached:
                yield f"{path} (nobody calls {THROUGH[path]})"
        elif path in WITHIN:
            if path not in inside:
                yield f"{path} (loading does not name it)"
        elif not all(piece in said for piece in pieces(path)):
            yield path


def test_every_settings_key_is_consumed_by_a_bridge() -> None:
    house.expect_none(path for path in unconsumed() if not is_later(path.partition(" ")[0]))


def test_no_key_is_put_off_that_a_bridge_reads_already() -> None:
    waiting = {path.partition(" ")[0] for path in unconsumed()}
    for_nothing = [key for key in LATER if not any(f"{path}.".startswith(f"{key}.") for path in waiting)]
    house.expect_none(for_nothing, "rows that nothing needs any more")


def test_the_table_is_found_and_has_no_doubles() -> None:
    found = paths()
    assert len(found) > 20
    assert len(set(found)) == len(found)
