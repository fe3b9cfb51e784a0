"""Whether an ignore file names a path, for programs that leave out what one names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from caliban_permissions.rules.glob import PathGlob, compile_path

_OF_ONE_PROGRAM = (".rgignore", ".fdignore")
"""They count for one program each, and here only where they take something in again."""

_OF_ALL = (".ignore",)
_OF_GIT = (".gitignore", ".git/info/exclude")
_ODD = frozenset("[]{}\\\r\ufffd")
_MAX_CHARS = 64_000
_MAX_CLIMB = 64
_ANY = compile_path(("**",))


def is_ignored(path: str, *, below: int, git_only: bool = False) -> bool:
    """Whether a file of git, or of a search program, leaves the canonical `path` out.

    Its last `below` parts are below the place that is searched: that itself is searched whatever it is
    called, and paths in files above it do not count for ripgrep (its issue 829); both not for git. What is
    not understood, and what settings of a person name elsewhere, leaves nothing out.
    """
    parts = tuple(part for part in path.split("/") if part)
    top = _repository(parts)
    first = max(len(parts) - _MAX_CLIMB, 0) if top is None or not git_only else top
    least = first if git_only else max(first, len(parts) - below)
    kinds = _OF_GIT if git_only else (*_OF_ONE_PROGRAM, *_OF_ALL, *_OF_GIT)
    search = _Search(kinds=kinds, top=top, first=first, root=least)
    return any(
        _is_left_out(search, parts[:size], is_folder=size < len(parts) or _is_folder(path))
        for size in range(least + 1, len(parts) + 1)
    )


class _Search(Struct, frozen=True):
    """Which files count, from which depth on; how deep the repository and the place that is searched are."""

    kinds: tuple[str, ...]
    top: int | None
    first: int
    root: int


def _is_left_out(search: _Search, parts: tuple[str, ...], *, is_folder: bool) -> bool:
    """What the first kind of file says that says anything; of one kind, the file nearest to the path."""
    for name in search.kinds:
        for depth in range(len(parts) - 1, search.first - 1, -1):
            if name in _OF_GIT and (search.top is None or depth < search.top):
                break
            ignoring = "/".join(("", *parts[:depth], name))
            verdict = _verdict(ignoring, parts[depth:], is_folder=is_folder, with_paths=depth >= search.root)
            if verdict is not None:
                if not verdict or name not in _OF_ONE_PROGRAM:
                    return verdict
                break
    return False


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - a str, many times


def _repository(parts: Sequence[str]) -> int | None:
    """How many of the parts lead to the repository that the path is in."""
    for size in range(len(parts) - 1, -1, -1):
        if os.path.lexists("/" + "/".join((*parts[:size], ".git"))):
            return size
    return None


def _verdict(ignoring: str, below: tuple[str, ...], *, is_folder: bool, with_paths: bool) -> bool | None:
    """What a file says of a path below the directory that it is in; the last line that names it counts.

    Lines that are paths leave nothing out unless `with_paths`.
    """
    verdict = None
    for line in _lines(ignoring):
        counts = line.negated or with_paths or not line.is_path
        if counts and (is_folder or not line.only_folders) and line.glob.matches(below):
            verdict = not line.negated
    return verdict


class _Line(Struct, frozen=True):
    glob: PathGlob
    negated: bool
    only_folders: bool
    is_path: bool


def _lines(ignoring: str) -> Iterator[_Line]:
    try:
        with open(ignoring, encoding="utf-8-sig", errors="replace", newline="\n") as file:  # noqa: PTH123 - a str
            text = file.read(_MAX_CHARS + 1)
    except (OSError, ValueError):
        return
    if len(text) > _MAX_CHARS:
        text = "!*"  # what stands behind may take anything in again
    for line in text.split("\n"):
        pattern = line.rstrip(" ")
        negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        if not negated and (not pattern or pattern.startswith("#")):
            continue
        if not pattern.strip("/ \t") or not _ODD.isdisjoint(pattern):
            if negated:
                yield _Line(_ANY, negated=True, only_folders=False, is_path=False)
            continue
        parts = tuple(part for part in pattern.split("/") if part)
        is_path = "/" in pattern.rstrip("/")
        inside = ("*",) if parts[-1:] == ("**",) else ()  # `x/**` is all in `x`, and not `x`
        glob = compile_path((*(() if is_path else ("**",)), *parts, *inside))
        yield _Line(glob, negated=negated, only_folders=pattern.endswith("/"), is_path=is_path)
