"""A settings key that parses and reaches nothing is a lie to the person who set it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import house

from caliban_settings import SCHEMA as SETTINGS_TABLE

SETTINGS = "caliban_settings"
SCHEMA = "caliban_settings.schema"
COMPOSE = "caliban.compose"

THROUGH: Mapping[str, str] = {
    "provider.*.options.extra_body": "extra_body",
    "provider.*.options.server_tools": "option_texts",
    "permissions.allow": "rules_by_scope",
    "permissions.ask": "rules_by_scope",
    "permissions.deny": "rules_by_scope",
    "permissions.rules": "rules_by_scope",
}
"""Keys that the app reads through a member of another name, which knows the key."""

WITHIN = ("parent_settings_behavior", "disable_all_hooks")
"""Keys about the settings themselves: they are consumed by loading."""


def rows() -> Iterator[tuple[str, bool]]:
    """The paths of the table of settings, and whether each waits for its feature."""
    for key in SETTINGS_TABLE:
        yield key.path, bool(key.later)


def paths() -> tuple[str, ...]:
    """All of them."""
    return tuple(path for path, _ in rows())


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


def unconsumed() -> Iterator[str]:
    """The keys that no bridge of the app reads."""
    texts, reached = strings(COMPOSE), members(COMPOSE)
    inside = strings(SETTINGS, without=SCHEMA)
    for path in paths():
        if path in THROUGH:
            if THROUGH[path] not in reached:
                yield f"{path} (nobody calls {THROUGH[path]})"
        elif path in WITHIN:
            if path not in inside:
                yield f"{path} (loading does not name it)"
        elif not all(piece in texts or is_put_together(piece, texts) for piece in pieces(path)):
            yield path


def is_put_together(piece: str, said: frozenset[str]) -> bool:
    """Whether code reads a table and, by its own name, what is in it."""
    table, _, name = piece.rpartition(".")
    return bool(table) and table in said and name in said


def test_every_settings_key_is_consumed_by_a_bridge() -> None:
    # A key that waits for its feature is named to whoever sets it: the tests of caliban_settings.unbuilt.
    later = {path for path, waits in rows() if waits}
    house.expect_none(path for path in unconsumed() if path.partition(" ")[0] not in later)


def test_the_table_has_no_doubles() -> None:
    keys = paths()
    assert len(set(keys)) == len(keys)
