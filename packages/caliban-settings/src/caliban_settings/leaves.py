"""Settings as a flat map from paths to checked values: the form in which scopes are restrained and merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from caliban_common.near import nearest
from caliban_common.text import one_line
from caliban_settings.check import KeyPath, problems
from caliban_settings.errors import SettingsError
from caliban_settings.key import Key, Scope
from caliban_settings.parse import kind_of
from caliban_settings.place import line_of
from caliban_settings.rules import BUCKETS, RuleFinding, clean_patterns, clean_rules
from caliban_settings.source import Source

LeafPath: TypeAlias = tuple[str, ...]
MAX_PROBLEMS = 5
MAX_WARNINGS = 20


class ValueOrigin(Struct, frozen=True, kw_only=True):
    """Where a value comes from; `path` is `None` for an overlay given inline."""

    scope: Scope
    path: Path | None

    def __str__(self) -> str:
        return self.scope if self.path is None else f"{self.scope} ({self.path})"


class SettingValue(Struct, frozen=True, kw_only=True):
    """A value, the setting that it is (`None` for an unknown one) and who gave it, lowest first."""

    key: Key | None
    value: Any
    origins: tuple[ValueOrigin, ...]


Leaves: TypeAlias = Mapping[LeafPath, SettingValue]


class Node:
    """One name in the tree of the schema's paths."""

    __slots__ = ("children", "key", "name", "star")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.key: Key | None = None
        self.children: dict[str, Node] = {}
        self.star: Node | None = None

    def child(self, name: str) -> Node | None:
        """The node below for a given name."""
        return self.children.get(name) or self.star


def schema_tree(keys: Iterable[Key]) -> Node:
    """The paths of `keys` as a tree."""
    root = Node("")
    for key in keys:
        node, named, above = root, root, root
        for name in key.path.split("."):
            if name == "*":
                node.star = node.star or Node("*")
                node = node.star
            else:
                above, node = node, node.children.setdefault(name, Node(name))
                named = node
        node.key = key
        for alias in key.aliases:
            above.children[alias] = named
    return root


def read_leaves(source: Source, tree: Node) -> tuple[dict[LeafPath, SettingValue], list[str]]:
    """The settings of one scope, checked, and warnings about what is unknown or left out.

    Raises `SettingsError` that names each value of a wrong form with its file and line.
    """
    reader = _Reader(source)
    reader.walk(tree, source.data, ())
    if reader.problems:
        raise SettingsError("\n".join(reader.problems[:MAX_PROBLEMS] + _more(reader.problems, MAX_PROBLEMS)))
    if {("permissions", "allow"), ("permissions", "rules")} <= reader.leaves.keys():
        reader.warn(("permissions", "allow"), "does not count beside `permissions.rules`")
    warnings = [*source.warnings, *reader.warnings[:MAX_WARNINGS]]
    return reader.leaves, warnings + [
        f"{source.name}: {text}" for text in _more(reader.warnings, MAX_WARNINGS)
    ]


def dotted(path: KeyPath) -> str:
    """A path as a person writes it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.lstrip(".")


class _Reader:
    """One pass over the data of a source."""

    def __init__(self, source: Source) -> None:
        self.leaves: dict[LeafPath, SettingValue] = {}
        self.warnings: list[str] = []
        self.problems: list[str] = []
        self._source = source
        self._origins: dict[str, tuple[ValueOrigin, ...]] = {}

    def walk(self, node: Node, table: Mapping[str, Any], path: LeafPath) -> None:
        """Take in `table`, which stands at `path`, by the names that `node` knows."""
        for given, value in table.items():
            if given == "$schema" and not path:  # for editors
                continue
            child = node.child(given)
            if child is None:
                self._unknown(node, (*path, given))
                self._add((*path, given), None, value)
                continue
            name = given if child is node.star else child.name
            if name != given and name in table:
                self.warn((*path, given), f"is the same as `{name}`, which counts")
                continue
            here = (*path, name)
            if child.key is not None:
                self._leaf(child.key, here, (*path, given), value)
            elif isinstance(value, dict):
                self.walk(child, value, here)
            else:
                self._problem((*path, given), f"must be a table, got {kind_of(value)}")

    def _leaf(self, key: Key, path: LeafPath, given: LeafPath, value: Any) -> None:
        if path[0] == "permissions" and isinstance(value, list):
            value = self._rules(path[-1], given, value)
        else:
            wrong = list(problems(key.form, value))
            for below, text in wrong:
                self._problem((*given, *below), text)
            if wrong:
                return
        self._add(path, key, value)

    def _rules(self, name: str, given: LeafPath, items: list[Any]) -> list[Any]:
        kept: list[Any]
        findings: list[RuleFinding]
        if name in BUCKETS:
            kept, findings = clean_patterns(name, items)
        else:
            kept, findings = clean_rules(items)
        for finding in findings:
            say = self._problem if finding.fatal else self.warn
            say((*given, finding.index), finding.text)
        return kept

    def _add(self, path: LeafPath, key: Key | None, value: Any) -> None:
        self.leaves[path] = SettingValue(key=key, value=value, origins=self._origin(path[0]))

    def _origin(self, name: str) -> tuple[ValueOrigin, ...]:
        if name not in self._origins:
            path = self._source.file_of(name).path
            self._origins[name] = (ValueOrigin(scope=self._source.scope, path=path),)
        return self._origins[name]

    def _unknown(self, node: Node, path: LeafPath) -> None:
        near = nearest(path[-1], node.children) if len(self.warnings) < MAX_WARNINGS else None
        self.warn(path, "is unknown and has no effect" + (f": did you mean `{near}`?" if near else ""))

    def warn(self, path: KeyPath, text: str) -> None:
        """Say something about the value at `path`."""
        self.warnings.append(self._placed(path, text) if len(self.warnings) < MAX_WARNINGS else "")

    def _problem(self, path: KeyPath, text: str) -> None:
        self.problems.append(self._placed(path, text) if len(self.problems) < MAX_PROBLEMS else "")

    def _placed(self, path: KeyPath, text: str) -> str:
        source = self._source.file_of(str(path[0]))
        line = line_of(source.text, path, toml=source.toml)
        place = source.name if line is None else f"{source.name}:{line}"
        return f"{place}: `{one_line(dotted(path), max_chars=120)}` {text}"


def _more(lines: list[str], shown: int) -> list[str]:
    return [f"and {len(lines) - shown} more"] if len(lines) > shown else []
