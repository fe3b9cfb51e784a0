"""The other names of a file (hard links): whether all of them lie inside the root that it is reached from.

A name inside may belong to a file outside, which writing in place would change. No system says where the
other names are, so they are looked for; what is not found within the bound counts as outside.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from caliban_tools_builtin import handles
from caliban_tools_builtin.errors import FileRefused
from caliban_tools_builtin.fence import AdmittedPath

MAX_ENTRIES = 50_000
"""So many entries of the root are looked at, those beside the file first (about 50 ms)."""


def all_names_inside(place: AdmittedPath, status: os.stat_result) -> bool:
    """Whether as many names as the file with that `status` has are found below the root of `place`."""
    beside = os.path.relpath(place.path.parent, place.root)
    paths: dict[str, None] = {}
    for path in _names(str(place.root), "" if beside == "." else beside, status.st_ino):
        paths[path] = None
        if len(paths) == status.st_nlink:
            break
    # Whoever renames one while it is looked for would have it counted twice: all must be there at once.
    return len(paths) == status.st_nlink and all(_is_there(place, path, status) for path in paths)


def _names(root: str, beside: str, number: int) -> Iterator[str]:
    """The names below `root` of entries that have the `number`, each once; links are not followed."""
    first = deque([beside, ""] if beside else [""])
    seen: set[str] = set()
    looked_at = 0
    while first and looked_at < MAX_ENTRIES:
        here = first.popleft()
        if here in seen:
            continue
        seen.add(here)
        try:
            entries = list(os.scandir(f"{root}/{here}"))
        except OSError:
            continue
        looked_at += len(entries)
        for entry in entries:
            path = f"{here}/{entry.name}" if here else entry.name
            if entry.is_dir(follow_symlinks=False):
                first.append(path)
            elif entry.inode() == number:
                yield path


def _is_there(place: AdmittedPath, path: str, status: os.stat_result) -> bool:
    """Whether handles reach that very file under the name `path` of the root."""
    other = AdmittedPath(path=place.root / path, root=place.root, shown=path, identity=place.identity)
    try:
        with handles.parent_of(other) as parent:
            there = handles.status_of(other, parent)
    except FileRefused:
        return False
    return there is not None and (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino)
