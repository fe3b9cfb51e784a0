"""The line of a key in the text of a settings file: a simple scan, for error messages only."""

from __future__ import annotations

import re
from typing import Final

MAX_LINE_CHARS = 300
"""A key stands at the beginning of its line; the patterns below are quadratic in what follows."""

_PART: Final = r"""[\w-]+|"[^"]*"|'[^']*'"""
_KEY: Final = rf"\s*((?:{_PART})(?:\s*\.\s*(?:{_PART}))*)\s*="
_HEADER: Final = r"\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?$"


def line_of(text: str, path: tuple[str | int, ...], *, toml: bool) -> int | None:
    """The line, from 1, where `path` (or the nearest key above it) is given; `None` when it is not found."""
    names = tuple(part for part in path if isinstance(part, str))
    return _toml_line(text, names, path) if toml else _json_line(text, names)


def _toml_line(text: str, names: tuple[str, ...], path: tuple[str | int, ...]) -> int | None:
    best: tuple[int, int] | None = None
    header: tuple[str, ...] = ()
    seen: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line[:MAX_LINE_CHARS]
        section = re.match(_HEADER, line)
        if section is not None:
            header = _parts(section[1])
            if line.lstrip().startswith("[["):
                seen[header] = seen.get(header, -1) + 1
            given = header
        else:
            key = re.match(_KEY, line)
            if key is None:
                continue
            given = header + _parts(key[1])
        deeper = best is None or len(given) > best[0]
        if deeper and names[: len(given)] == given and _same_element(header, path, seen):
            best = (len(given), number)
    return best[1] if best is not None else None


def _same_element(
    header: tuple[str, ...], path: tuple[str | int, ...], seen: dict[tuple[str, ...], int]
) -> bool:
    """Whether the array element that `header` stands in is the one that `path` asks for."""
    if header not in seen or len(path) <= len(header) or not isinstance(path[len(header)], int):
        return True
    return seen[header] == path[len(header)]


def _json_line(text: str, names: tuple[str, ...]) -> int | None:
    position = -1
    for name in names:
        match = re.compile(rf'"{re.escape(name)}"\s*:').search(text, position + 1)
        if match is None:
            break
        position = match.start()
    return text.count("\n", 0, position) + 1 if position >= 0 else None


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
