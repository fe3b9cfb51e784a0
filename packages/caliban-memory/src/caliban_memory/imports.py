"""Puts what a file imports in its place: five files deep, each file once, nothing from outside unasked."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from caliban_common.paths import home
from caliban_common.text import one_line
from caliban_memory.errors import MemoryFileRefused
from caliban_memory.markdown import Import, find_imports, is_url
from caliban_memory.reading import MemoryReader, ReadFence, canonical_of
from caliban_memory.values import Approve, LeftOut, digest_of

MAX_DEPTH = 5
OUTSIDE = "outside of the project"
MAX_IMPORTS = 100
"""Of one session: a file that imports everything is a mistake."""
MAX_WRITTEN = 1000
"""Of one session: so many imports are looked at, whether there are such files or not."""


class ImportScope:
    """What the imports of one session share.

    `seen` are the canonical files that were told already, by whatever road; `left_out` collects what was not.
    """

    def __init__(self, reader: MemoryReader, approve: Approve) -> None:
        self.reader = reader
        self.approve = approve
        self.seen: set[Path] = set()
        self.left_out: list[LeftOut] = []
        self.count: int = 0
        self.written: int = 0
        self._noted: set[LeftOut] = set()

    def leave_out(self, path: str, reason: str, *, matters: bool = False) -> None:
        """Note what is not told, each once."""
        note = LeftOut(path=path, reason=reason, matters=matters)
        if note not in self._noted:
            self._noted.add(note)
            self.left_out.append(note)


class _Site(Struct, frozen=True, kw_only=True):
    """Where an import is written: the file, the files above it, and what that file may import unasked."""

    file: Path
    above: tuple[Path, ...]
    fence: ReadFence


def with_imports(text: str, file: Path, fence: ReadFence, scope: ImportScope) -> tuple[str, tuple[Path, ...]]:
    """`text` of the canonical `file` with its imports in it, and which files these are."""
    brought: list[Path] = []
    site = _Site(file=file, above=(file,), fence=fence)
    return _expanded(text, site, scope, brought), tuple(brought)


def _expanded(text: str, site: _Site, scope: ImportScope, brought: list[Path]) -> str:
    """An import on a line of its own is replaced; what another one brings stands behind its paragraph."""
    edits: list[tuple[int, int, str]] = []
    for item in find_imports(text):
        scope.written += 1
        if scope.written > MAX_WRITTEN:
            reason = f"at most {MAX_WRITTEN:,} imports are looked at"
            scope.leave_out(f"what else {site.file} imports", reason, matters=True)
            break
        content = _imported(item, site, scope, brought)
        if content is None:
            continue
        if item.alone:
            edits.append((item.start, item.end, content))
            continue
        end = text.find("\n\n", item.end)
        end = len(text.rstrip("\n")) if end < 0 else end
        edits.append((end, end, f"\n{content}"))
    parts: list[str] = []
    place = 0
    for start, end, content in sorted(edits, key=lambda edit: edit[0]):
        parts += (text[place:start], content)
        place = end
    return "".join((*parts, text[place:]))


def _imported(item: Import, site: _Site, scope: ImportScope, brought: list[Path]) -> str | None:
    """The text that an import stands for; `None` where it stands for nothing more than itself."""
    shown = one_line(item.target, max_chars=200)
    where = f"@{shown} in {site.file}"
    if is_url(item.target):
        scope.leave_out(where, "only files are imported, not addresses", matters=True)
        return None
    path = _resolved(item.target, site.file.parent)
    try:
        canonical = canonical_of(path)
    except MemoryFileRefused as refused:
        if item.alone or item.target.startswith((".", "~", "/")):
            scope.leave_out(where, refused.message)
        return None
    fence, digest = site.fence, ""
    if not fence.admits(canonical):
        approved = scope.approve(site.file, canonical)
        if not approved:
            reason = f"it lies {OUTSIDE}, at {canonical}, and nobody has approved of that"
            scope.leave_out(where, reason, matters=True)
            return None
        digest = approved if isinstance(approved, str) else ""
        fence = ReadFence(roots=(*fence.roots, canonical))
    if canonical in site.above:
        scope.leave_out(where, "it is imported by what it imports")
        return None
    if canonical in scope.seen:
        return None
    if len(site.above) > MAX_DEPTH:
        scope.leave_out(where, f"imports reach {MAX_DEPTH} files deep", matters=True)
        return None
    if scope.count >= MAX_IMPORTS:
        scope.leave_out(where, f"at most {MAX_IMPORTS} files are imported", matters=True)
        return None
    try:
        _, text = scope.reader.read(canonical, fence)
    except MemoryFileRefused as refused:
        scope.leave_out(where, refused.message)
        return None
    if digest and digest_of(text) != digest:
        reason = f"it lies {OUTSIDE}, at {canonical}, and has changed since it was approved of"
        scope.leave_out(where, reason, matters=True)
        return None
    return _taken(canonical, text, site, scope, brought)


def _taken(canonical: Path, text: str, site: _Site, scope: ImportScope, brought: list[Path]) -> str:
    """The text of a file that is imported, with its own imports in it."""
    scope.count += 1
    scope.seen.add(canonical)
    brought.append(canonical)
    inner = _Site(file=canonical, above=(*site.above, canonical), fence=site.fence)
    body = _expanded(text.strip(), inner, scope, brought)
    return f"<!-- imported from {one_line(str(canonical), max_chars=1000)} -->\n{body}"


def _resolved(target: str, folder: Path) -> Path:
    """The path that an import means: below the home, absolute, or beside the file that has it."""
    if target == "~" or target.startswith("~/"):
        return home() / target[2:]
    if target.startswith("~"):
        return folder / f"./{target}"
    return folder / (target.replace("\\", "/") if os.name == "nt" else target)
