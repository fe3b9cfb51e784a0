"""From the files of a policy to mounts, in the order in which they are made: of two, the deeper path wins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_sandbox.errors import SandboxError
from caliban_sandbox.policy import FilePolicy
from caliban_sandbox.repository import repository_parts

MountKind: TypeAlias = Literal["read", "write", "passage", "hide", "protect"]
"""A `passage` is a writable directory above something protected: as a mount it cannot be renamed away."""

REPOSITORY = ".git"


class Mount(Struct, frozen=True, kw_only=True):
    """One path and what becomes of it. `content` is for a protected name that has to be a file."""

    path: str
    kind: MountKind
    content: str | None = None


def planned_mounts(files: FilePolicy) -> tuple[Mount, ...]:
    """The mounts that hold `files`, the shallowest first.

    A protected `.git` stands for what of a repository decides what runs. Raises `SandboxError` where a link
    stands at or above a protected name: it could be replaced.
    """
    kinds, contents = _wanted(files)
    mounts = []
    for path in sorted(kinds, key=lambda path: (path.count("/") if path != "/" else 0, path)):
        kind = kinds[path]
        if kind == "protect" and _above(path, kinds) not in ("write", "passage"):
            continue  # nobody writes there
        mounts.append(Mount(path=path, kind=kind, content=contents.get(path)))
    for mount in mounts:
        if mount.kind in ("protect", "passage"):
            _refuse_links(mount.path, files.writable)
    return tuple(mounts)


def _wanted(files: FilePolicy) -> tuple[dict[str, MountKind], dict[str, str]]:
    """What every path of the policy is to be, with the passages to what is protected or hidden."""
    repositories = {path: repository_parts(path) for path in files.protected if _is_repository(path)}
    contents: dict[str, str] = {}
    kinds: dict[str, MountKind] = {}
    covered = (*files.writable, *files.hidden)
    kinds.update((path, "read") for path in files.readable or () if not is_below(path, covered))
    linked = (parts for path, parts in repositories.items() if is_below(path, files.writable))
    # One that is not there yet, in another, can be made there: as a passage, where something within is held.
    own = (path for path in files.writable if os.path.lexists(path) or not _is_within(path, files.writable))
    writable = (*own, *(path for parts in linked for path in parts.writable))
    kinds.update((path, "write") for path in writable)
    for path in files.hidden:
        # What is not there yet could be made, where its directory may be written, and hides nothing.
        roots = tuple(root for root in files.writable if os.path.isdir(root))
        makeable = is_below(path, roots) and not os.path.lexists(path)
        kinds[path] = "protect" if makeable else "hide"
    protected = [path for path in files.protected if path not in repositories]
    for parts in repositories.values():
        protected += parts.protected
        contents.update(parts.files)
    for path in (*protected, *contents):
        if kinds.get(path) != "hide":
            kinds[path] = "protect"
    writes = tuple(path for path, kind in kinds.items() if kind == "write")
    for path in [path for path, kind in kinds.items() if kind in ("protect", "hide")]:
        if not is_below(path, writes):
            continue  # nearly all that is hidden: no use in going up from each
        for passage in _passages(path, kinds):
            kinds.setdefault(passage, "passage")
    return kinds, contents


def is_below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether `path` is one of `roots`, or below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _is_within(path: str, roots: tuple[str, ...]) -> bool:
    return is_below(os.path.dirname(path), roots)


def _is_repository(path: str) -> bool:
    return os.path.basename(path) == REPOSITORY


def _passages(path: str, kinds: dict[str, MountKind]) -> Iterator[str]:
    """The directories between a path and the writable one that it lies in; none where it lies in none."""
    between: list[str] = []
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent):
        kind = kinds.get(parent)
        if kind == "write":
            yield from between
            return
        if kind in ("read", "hide", "protect"):
            return
        between.append(parent)
        parent = os.path.dirname(parent)


def _above(path: str, kinds: dict[str, MountKind]) -> MountKind | None:
    """What the nearest path above is to be."""
    parent = os.path.dirname(path)
    while True:
        if parent in kinds:
            return kinds[parent]
        if parent == os.path.dirname(parent):
            return None
        parent = os.path.dirname(parent)


def _refuse_links(path: str, roots: tuple[str, ...]) -> None:
    """Raise `SandboxError` where a link stands at `path`, or between it and the root that it lies in."""
    below = [root for root in roots if is_below(path, (root,))]
    root = max(below, key=len, default="")
    place = path
    while len(place) > len(root) and place != "/":
        if os.path.islink(place):
            raise SandboxError(
                f"{place} is a link, and what it leads to cannot be kept from being exchanged",
                hint="put what it leads to in its place",
            )
        place = os.path.dirname(place)
