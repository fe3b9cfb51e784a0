"""What of a git repository decides what runs: the rest of it stays writable, so that git works (SB5)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

_MAX_MODULES: Final = 200
_MAX_BYTES: Final = 4096
_DECIDES: Final = ("hooks", "config", "config.worktree")
_OF_WORKTREE: Final = ("commondir", "gitdir", "config.worktree")
_WRITABLE: Final = ("objects", "refs", "logs")
HERE: Final = ".\n"
"""In a file `commondir`, what git takes to be there without it: the repository is its own."""


class RepositoryParts(Struct, frozen=True, kw_only=True):
    """What of a repository is `protected`, and what lies outside of its directory and is `writable`.

    `files` are protected names that must be files where they are not there yet, with what is then in them:
    with a directory of that name git would not work.
    """

    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def repository_parts(path: str) -> RepositoryParts:
    """The parts of the repository whose `.git` is at `path`: a directory, or the file of a linked worktree.

    A file that leads to where no linked worktree of that name is known gives nothing. A directory without a
    HEAD is no repository, but the ghost of a call beside this one: all of it is protected.
    """
    if os.path.isfile(path):
        return _worktree(path)
    if os.path.isdir(path) and os.path.lexists(f"{path}/HEAD"):
        return RepositoryParts(protected=tuple(_protected(path)), files=_files(path))
    return RepositoryParts(protected=(path,))


def _files(path: str) -> tuple[tuple[str, str], ...]:
    return (f"{path}/commondir", HERE), (f"{path}/info/attributes", "")


def _protected(path: str) -> Iterator[str]:
    yield from (f"{path}/{name}" for name in _DECIDES)
    for name in _directories(f"{path}/worktrees"):
        yield from _there(f"{path}/worktrees/{name}", _OF_WORKTREE)
    yield from _modules(f"{path}/modules")


def _modules(path: str) -> Iterator[str]:
    """Those of submodules, whose names may hold slashes."""
    waiting, seen = [path], 0
    while waiting and seen < _MAX_MODULES:
        seen += 1
        folder = waiting.pop()
        if os.path.isfile(f"{folder}/config"):
            yield from (f"{folder}/{name}" for name in ("hooks", "config"))
            waiting.append(f"{folder}/modules")
        else:
            waiting += (f"{folder}/{name}" for name in _directories(folder))


def _worktree(path: str) -> RepositoryParts:
    """The `.git` file of a linked worktree, and the parts of the repository that it belongs to."""
    own = _leads_to(path, "gitdir: ")
    if own is None or os.path.basename(os.path.dirname(own)) != "worktrees":
        return RepositoryParts(protected=(path,))
    back = _leads_to(f"{own}/gitdir", "")
    common = os.path.dirname(os.path.dirname(own))
    if back is None or os.path.realpath(back) != os.path.realpath(path) or not os.path.isdir(common):
        return RepositoryParts(protected=(path,))
    return RepositoryParts(
        writable=(own, *(f"{common}/{name}" for name in _WRITABLE)),
        protected=(path, *_there(own, _OF_WORKTREE)),
    )


def _leads_to(path: str, head: str) -> str | None:
    """Where the one line of a file leads, resolved."""
    try:
        with Path(path).open("rb") as file:
            text = os.fsdecode(file.read(_MAX_BYTES)).strip()
    except OSError:
        return None
    if not text.startswith(head) or "\n" in text or "\0" in text:
        return None
    target = text.removeprefix(head)
    return os.path.realpath(os.path.join(os.path.dirname(path), target)) if target else None


def _there(folder: str, names: tuple[str, ...]) -> Iterator[str]:
    return (f"{folder}/{name}" for name in names if os.path.lexists(f"{folder}/{name}"))


def _directories(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
