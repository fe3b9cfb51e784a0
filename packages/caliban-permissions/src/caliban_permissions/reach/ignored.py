"""Whether an ignore file names a path, for programs that leave out what one names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from caliban_permissions.rules.glob import PathGlob, compile_path

_ALWAYS = (".ignore", ".rgignore", ".fdignore")
_OF_GIT = (".gitignore", ".git/info/exclude")
_ODD = frozenset("[]{}\\")
_MAX_CHARS = 64_000
_MAX_CLIMB = 64


def is_ignored(path: str, *, git_only: bool = False) -> bool:
    """Whether a file of git, or of a search program, leaves the canonical `path` out.

    What is not understood, and what settings of a person name elsewhere, leaves nothing out.
    """
    parts = tuple(part for part in path.split("/") if part)
    top = _repository(parts)
    first = max(len(parts) - _MAX_CLIMB, 0) if top is None or not git_only else top
    for size in range(first + 1, len(parts) + 1):
        verdict = False
        for depth in range(first, size):
            folder = "/" + "/".join(parts[:depth])
            of_git = _OF_GIT if top is not None and depth >= top else ()
            names = of_git if git_only else (*_ALWAYS, *of_git)
            is_folder = size < len(parts) or os.path.isdir(path)  # noqa: PTH112 - a str, many times
            for name in names:
                found = _verdict(f"{folder}/{name}", parts[depth:size], is_folder=is_folder)
                verdict = verdict if found is None else found
        if verdict:
            return True
    return False


def _repository(parts: Sequence[str]) -> int | None:
    """How many of the parts lead to the repository that the path is in."""
    for size in range(len(parts) - 1, -1, -1):
        if os.path.lexists("/" + "/".join((*parts[:size], ".git"))):
            return size
    return None


def _verdict(ignoring: str, below: tuple[str, ...], *, is_folder: bool) -> bool | None:
    """What a file says of a path below the directory that it is in; the last line that names it counts."""
    verdict = None
    for glob, negated, only_folders in _lines(ignoring):
        if (is_folder or not only_folders) and glob.matches(below):
            verdict = not negated
    return verdict


def _lines(ignoring: str) -> Iterator[tuple[PathGlob, bool, bool]]:
    try:
        with open(ignoring, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a str, many times
            text = file.read(_MAX_CHARS)
    except (OSError, ValueError):
        return
    for line in text.splitlines():
        pattern = line.rstrip()
        negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        if not pattern or pattern.startswith("#"):
            continue
        if not _ODD.isdisjoint(pattern):
            if negated:  # it may take anything in again
                yield compile_path(("**",)), True, False
            continue
        parts = tuple(part for part in pattern.split("/") if part)
        anchored = "/" in pattern.rstrip("/")
        yield compile_path(parts if anchored else ("**", *parts)), negated, pattern.endswith("/")
