"""What a shell wildcard stands for in a directory, as far as that can be said in bounded time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from posixpath import join

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell import Word

_WILD = lazy_pattern(r"(?<!\\)[*?\[]")
_ESCAPED = lazy_pattern(r"[*?\[\]\\]")
_OPTION_OF_VALUE = lazy_pattern(r"--[A-Za-z0-9][A-Za-z0-9_-]*=")
_MAX_ENTRIES = 10_000
_MAX_NAMES = 1_000
_MAX_LISTINGS = 64


class Directories:
    """Directory listings, each read once, with one bound on all that are read."""

    def __init__(self) -> None:
        self._listings: dict[str, tuple[str, ...]] = {}
        self._left = _MAX_ENTRIES

    def names(self, directory: str) -> tuple[str, ...] | None:
        """The entries; none for what cannot be read, `None` beyond the bound."""
        known = self._listings.get(directory)
        if known is not None:
            return known
        if len(self._listings) >= _MAX_LISTINGS or self._left <= 0:
            return None
        names: list[str] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    names.append(entry.name)
                    self._left -= 1
                    if self._left <= 0:
                        return None
        except (OSError, ValueError):
            names.clear()
        self._listings[directory] = tuple(names)
        return self._listings[directory]


def expand(pattern: str, base: str, directories: Directories) -> tuple[str, ...] | None:
    """The words that a file-name pattern becomes, in order; the pattern's own text when nothing matches.

    `pattern` has quoted wildcards escaped. `None` when it cannot be said: the directories are too large to
    look through, or the pattern is one that shells read differently.
    """
    absolute = pattern.startswith("/")
    reached = [("/" if absolute else "", "/" if absolute else base)]
    components = [part for part in pattern.split("/") if part]
    for place, component in enumerate(components):
        following: list[tuple[str, str]] = []
        if _WILD.search(component) is None:
            name = _unescaped(component)
            following = [
                (shown + name, path)
                for shown, directory in reached
                if os.path.lexists(path := join(directory, name))
            ]
        else:
            matcher = _matcher(component)
            if matcher is None:
                return None
            for shown, directory in reached:
                entries = directories.names(directory)
                if entries is None:
                    return None
                following += [
                    (shown + name, join(directory, name))
                    for name in entries
                    if matcher.fullmatch(name) and (component.startswith(".") or not name.startswith("."))
                ]
        if place < len(components) - 1:
            following = [(shown + "/", path) for shown, path in following]
        if len(following) > _MAX_NAMES:
            return None
        reached = following
    return tuple(sorted(shown for shown, _ in reached)) or (_unescaped(pattern),)


def word_names(
    word: Word, bases: Iterable[str], home: str, directories: Directories
) -> tuple[str, ...] | None:
    """The words that a word becomes in whichever of the `bases`; `None` when it cannot be said."""
    if word.glob is None:
        return (word.text,)
    pattern = _ESCAPED.sub(r"\\\g<0>", home) + word.glob[1:] if word.at_home else word.glob
    names: list[str] = []
    for base in bases:
        expanded = expand(pattern, base, directories)
        if expanded is None:
            return None
        names += expanded
    return tuple(names)


def _matcher(component: str) -> re.Pattern[str] | None:
    """The component as a regular expression; `None` for a bracket that bash may read differently."""
    parts: list[str] = []
    index = 0
    while index < len(component):
        char = component[index]
        if char == "\\" and index + 1 < len(component):
            parts.append(re.escape(component[index + 1]))
            index += 1
        elif char == "[" and (end := component.find("]", index + 2)) > 0:
            inside = component[index + 1 : end]
            if "[" in inside or "\\" in inside:
                return None
            parts.append(_bracket(inside))
            index = end
        else:
            parts.append({"*": ".*", "?": "."}.get(char, re.escape(char)))
        index += 1
    try:
        return re.compile("(?s:" + "".join(parts) + ")")
    except re.error:
        return None


def _bracket(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    escaped = "".join(char if char.isalnum() or char == "-" else "\\" + char for char in body)
    return f"[{'^' if negated else ''}{escaped}]"


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def names_its_option(text: str) -> bool:
    """Whether a word has its wildcards in the value of an option: each name is that option again."""
    return _OPTION_OF_VALUE.match(text) is not None
