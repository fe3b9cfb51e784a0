"""Patterns of paths, as a .gitignore has them: what is left out, and which files a rule is for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caliban_memory.errors import MemoryFileRefused

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_PATTERNS = 256
MAX_PATTERN_CHARS = 4096
DEPENDENCIES = frozenset(
    (
        "node_modules", "bower_components", "jspm_packages", "vendor", "site-packages",
        "dist-packages", ".venv", "venv", ".tox", ".nox", ".git", ".hg", ".svn", ".cargo", ".gradle",
        "Pods", "Carthage", "__pycache__",
    )
)  # fmt: skip
"""Directories of what others wrote: no instructions are taken from below them."""


def expand_braces(pattern: str) -> tuple[str, ...]:
    """The patterns that `a.{b,c}` stands for, groups in groups included.

    Raises `MemoryFileRefused` for more than 256, before they are made.
    """
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > MAX_PATTERNS or len(waiting[-1]) > MAX_PATTERN_CHARS:
            raise MemoryFileRefused(f"a pattern stands for more than {MAX_PATTERNS} others")
        text = waiting.pop()
        group = _inner_group(text)
        if group is None:
            done.append(text)
            continue
        start, end = group
        choices = text[start + 1 : end].split(",")
        if len(choices) + len(waiting) > MAX_PATTERNS:
            raise MemoryFileRefused(f"a pattern stands for more than {MAX_PATTERNS} others")
        waiting.extend(f"{text[:start]}{choice}{text[end + 1 :]}" for choice in choices)
    return tuple(dict.fromkeys(done))


def _inner_group(text: str) -> tuple[int, int] | None:
    """The first group with a comma that holds no other group; a lone brace is itself."""
    start = -1
    for place, char in enumerate(text):
        if char == "{":
            start = place
        elif char == "}" and start >= 0:
            if "," in text[start:place]:
                return start, place
            start = -1
    return None


class PathPatterns:
    """Patterns below one directory; the last one that matches decides, `!` takes back."""

    def __init__(self, patterns: Iterable[str], root: Path) -> None:
        self._patterns = tuple(patterns)
        self._root = str(root)
        self._spec: GitIgnoreSpec | None = None

    def match(self, path: Path) -> bool:
        """Whether the absolute `path` is meant; nothing outside of the directory is."""
        if not self._patterns:
            return False
        relative = os.path.relpath(path, self._root).replace(os.sep, "/")
        if relative == ".." or relative.startswith("../"):
            return False
        return bool(self._loaded().match_file(relative))

    def _loaded(self) -> GitIgnoreSpec:
        if self._spec is None:
            from pathspec import GitIgnoreSpec

            self._spec = GitIgnoreSpec.from_lines(_readable(self._patterns))
        return self._spec


def _readable(patterns: Sequence[str]) -> list[str]:
    """Those that are patterns: one that is none must not take the others with it."""
    from pathspec import GitIgnoreSpec

    kept: list[str] = []
    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            continue
        kept.append(pattern)
    return kept
