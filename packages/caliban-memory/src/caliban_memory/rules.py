"""Rules: Markdown files about one topic, told at once or when a file they are for is touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caliban_common.errors import DataError
from caliban_common.frontmatter import split_front_matter
from caliban_common.text import one_line
from caliban_memory.errors import MemoryFileRefused
from caliban_memory.globs import expand_braces

MAX_RULES = 200
"""Of one directory."""


def rule_files(folder: Path) -> tuple[Path, ...]:
    """The Markdown files of a directory of rules by name, at most `MAX_RULES`; none where it is not there."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".md")
    except OSError:
        return ()
    return tuple(folder / name for name in names[:MAX_RULES])


def read_rule(text: str) -> tuple[tuple[str, ...], str]:
    """The patterns of the files that a rule is for, empty for all, and its words.

    Raises `MemoryFileRefused` for front matter that cannot be read.
    """
    try:
        head, body = split_front_matter(text)
    except DataError as error:
        raise MemoryFileRefused(error.message) from error
    return _patterns(head), body


def _patterns(head: Mapping[str, Any]) -> tuple[str, ...]:
    written = head.get("paths")
    if written is None or written == "":
        return ()
    items = written.split("\n") if isinstance(written, str) else written
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise MemoryFileRefused(
            f"paths must be a list of patterns, not {one_line(str(written), max_chars=80)}"
        )
    patterns: list[str] = []
    for item in items:
        for pattern in _split(item.removeprefix("- ").strip().strip("\"'")):
            patterns += expand_braces(pattern)
    return tuple(patterns)


def _split(text: str) -> list[str]:
    """`a, b` as two patterns; a comma in braces belongs to the pattern."""
    parts, depth, last = [], 0, 0
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth <= 0:
            parts.append(text[last:place])
            last = place + 1
    return [part.strip() for part in (*parts, text[last:]) if part.strip()]
