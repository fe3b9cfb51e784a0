"""Calls of every tool but the shell, as subjects for rules: paths, URLs, plain text, named fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from caliban_common.lazy import cached_property, lazy_pattern
from caliban_permissions.characters import fold
from caliban_permissions.facts import JudgedTool
from caliban_permissions.names import POWERSHELL, names_for
from caliban_permissions.paths import PathNames, folded, split
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.glob import PathGlob, TextGlob, compile_text
from caliban_permissions.rules.pattern import ArgumentGlob, Bare, KeyPairs
from caliban_permissions.rules.url import Url, parse_url

_PLAIN_TEXT = lazy_pattern(r"[A-Za-z0-9_./:=,@%+ -]*")
_CLIMBS = lazy_pattern(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)|%2[ef]", re.IGNORECASE)


class PathSubject:
    """A path that a file tool opens, or that a command reads or writes.

    `tools` are the names under which rules may speak of it. A name that is `uncertain` is covered by nothing
    but a bare rule of a person, and a deny rule may mean it.
    """

    def __init__(self, tools: tuple[str, ...], names: PathNames) -> None:
        self.tools = tools
        self.names = names

    @cached_property
    def _folded(self) -> tuple[tuple[str, ...], ...]:
        return tuple(folded(parts) for parts in self.names.names)

    def covered_by(self, rule: CompiledRule) -> bool:
        """Whether an allow rule covers every canonical name."""
        if rule.pattern.problem is not None or self.names.uncertain is not None:
            return False
        if isinstance(rule.pattern.argument, Bare):
            return True
        if not isinstance(rule.pattern.argument, ArgumentGlob) or not self.names.canonicals:
            return False
        return all(_any(rule.path_globs, split(canonical)) for canonical in self.names.canonicals)

    def touched_by(self, rule: CompiledRule) -> bool:
        """Whether a deny or ask rule means any name."""
        certain = self.names.uncertain is None
        return self._meant(rule, plain=certain or not self.names.unexpanded, forgiving=certain)

    def may_be_touched_by(self, rule: CompiledRule) -> bool:
        """As `touched_by`, counting every way in which an uncertain name might be read."""
        return self._meant(rule, plain=True, forgiving=True)

    def _meant(self, rule: CompiledRule, *, plain: bool, forgiving: bool) -> bool:
        if rule.pattern.problem is not None:
            return False
        if isinstance(rule.pattern.argument, Bare):
            return True
        if not isinstance(rule.pattern.argument, ArgumentGlob):
            return False
        return (
            self.names.any_name
            or (plain and _covered(rule.wide_paths, self.names.names))
            or (forgiving and _covered(rule.folded_paths, self._folded))
        )


class CallSubject:
    """A call by one argument, a URL or plain text, or by fields that rules name.

    `argument` is the one that the argument part of a rule matches; it may be missing from the call.
    """

    def __init__(
        self, tool: JudgedTool, args: Mapping[str, Any], argument: str | None, *, is_url: bool
    ) -> None:
        self.tools: tuple[str, ...] = names_for(tool.name, "url") if is_url else (tool.name,)
        self.tool = tool
        self.args = args
        main = args.get(argument) if argument else None
        self.main: str | None = main if isinstance(main, str) else None
        self.url: Url | None = parse_url(self.main) if is_url and self.main is not None else None

    def covered_by(self, rule: CompiledRule) -> bool:
        """Whether an allow rule covers the call."""
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return self.url is None or not self.url.refused
            case KeyPairs():
                return all(self._field(path, glob, wide=False) for path, glob in rule.keys)
            case ArgumentGlob():
                return self._main_covered(rule)
            case _:
                return False

    def touched_by(self, rule: CompiledRule) -> bool:
        """Whether a deny or ask rule means the call."""
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return True
            case KeyPairs():
                return all(self._field(path, glob, wide=True) for path, glob in rule.keys)
            case ArgumentGlob():
                return self._main_touched(rule)
            case _:
                return False

    def _main_covered(self, rule: CompiledRule) -> bool:
        if self.main is None:
            return False
        if self.url is not None:
            return rule.url_glob.allows(self.url)
        glob = rule.text_glob
        if self.tool.name == POWERSHELL and not glob.exact:
            return False
        if self.tool.kind == "execute" and not glob.exact and not _PLAIN_TEXT.fullmatch(self.main):
            return False
        return glob.matches(self.main)

    def _main_touched(self, rule: CompiledRule) -> bool:
        if self.main is None:
            return False
        if self.url is not None:
            return rule.url_glob.touches(self.url)
        if self.tool.name == POWERSHELL:
            # Its names have no case, and a command may stand anywhere in a line.
            return compile_text(rule.spec.lower()).occurs_in(" ".join(self.main.lower().split()))
        return rule.text_glob.matches(self.main) or rule.text_glob.matches(" ".join(self.main.split()))

    def _field(self, path: tuple[str, ...], glob: TextGlob, *, wide: bool) -> bool:
        values = list(_values(self.args, path, wide=wide))
        if wide:
            return any(glob.matches(value) or glob.matches(fold(value)) for value in values)
        return bool(values) and all(
            glob.matches(value) and (glob.exact or _CLIMBS.search(value) is None) for value in values
        )


def _values(args: Mapping[str, Any], path: tuple[str, ...], *, wide: bool) -> list[str]:
    """The scalar that a dotted key leads to, as text; for deny rules every scalar of a list, too."""
    texts: list[str] = []
    value: Any = args
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    items = value if wide and isinstance(value, (list, tuple)) else [value]
    if wide and len(path) > 1 and ".".join(path) in args:
        items = [*items, args[".".join(path)]]
    for item in items:
        if isinstance(item, bool):
            texts.append("true" if item else "false")
        elif isinstance(item, (str, int)):
            texts.append(str(item))
    return texts


def _covered(globs: tuple[PathGlob, ...], names: tuple[tuple[str, ...], ...]) -> bool:
    return any(glob.covers(name) for glob in globs for name in names)


def _any(globs: tuple[PathGlob, ...], parts: tuple[str, ...]) -> bool:
    return any(glob.matches(parts) for glob in globs)
