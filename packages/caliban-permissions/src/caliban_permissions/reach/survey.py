"""Looking for what rules mean below a directory, within a bound."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.nested import NOT_OURS
from caliban_permissions.paths import Parts, PathContext, PathNames, real_path, resolve, split
from caliban_permissions.reach.guard import Guard
from caliban_permissions.reach.ignored import is_ignored
from caliban_permissions.reach.objects import UnknownObjectError
from caliban_permissions.reach.revisions import Revisions
from caliban_permissions.reach.value import Reach
from caliban_permissions.readonly.index import IndexEntry
from caliban_permissions.readonly.repository import WorkingTree, working_tree
from caliban_permissions.rules.chain import Ruling
from caliban_permissions.subjects import PathSubject

TOO_MANY: Final = "there are too many files below it to look at"
_MAX_ENTRIES = 20_000
"""Directory entries that one line has looked at, some 30 ms of them."""
_MAX_ASKED = 200
"""Files that a rule means, but an earlier one allows."""
_MAX_PATCH = 400_000
_PATCHED = lazy_pattern(r"(?m)^(?:---|\+\+\+|\*\*\*|Index:|rename (?:to|from)|copy to) *([^\t\n]+)")


class Finding(Struct, frozen=True):
    """A file that a rule means and a command reaches; `certain` is whether it surely does.

    Without a subject nobody looked far enough.
    """

    subject: PathSubject | None
    ruling: Ruling | None
    certain: bool


class _TooManyError(Exception):
    """The bound was reached."""


class Survey:
    """One look for one line; everything in it shares the bound."""

    def __init__(self, place: PathContext) -> None:
        self.place = place
        self._entries_left = _MAX_ENTRIES
        self._asked_left = _MAX_ASKED
        self._followed: set[str] = set()
        self._trees: dict[str, WorkingTree | None] = {}

    def find(self, reach: Reach, guard: Guard, roots: PathNames, onto: PathNames | None) -> Iterator[Finding]:
        """What of the rules a command meets; the last is without a subject where there is too much."""
        try:
            for root in roots.canonicals:
                targets = onto.canonicals if onto is not None else (root,)
                for target in targets:
                    yield from self._below(reach, guard, root, target)
        except _TooManyError:
            yield Finding(None, None, False)

    def find_patched(
        self, reach: Reach, guard: Guard, roots: PathNames, patch: PathNames
    ) -> Iterator[Finding]:
        """What of the rules the files are that a patch names; one without a subject where it is too long."""
        for path in patch.canonicals:
            try:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
                    text = file.read(_MAX_PATCH + 1)
            except (OSError, ValueError):
                continue
            names = dict.fromkeys(_PATCHED.findall(text[:_MAX_PATCH]))
            for name in islice(names, _MAX_ASKED):
                parts = split(name)
                for root in roots.canonicals:
                    for size in sorted({0, reach.strip} & set(range(len(parts)))):
                        finding = self._judged(guard, "/".join((root.rstrip("/"), *parts[size:])))
                        yield from () if finding is None else (finding,)
            if len(text) > _MAX_PATCH or len(names) > _MAX_ASKED:
                yield Finding(None, None, False)

    def _below(self, reach: Reach, guard: Guard, root: str, target: str) -> Iterator[Finding]:
        if reach.held:
            tree = self._tree_at(root)
            if tree is None:
                return
            yield from self._held(reach, guard, tree.top if reach.all else root, tree)
        else:
            yield from self._on_disk(reach, guard, root, target)

    def _held(self, reach: Reach, guard: Guard, root: str, tree: WorkingTree) -> Iterator[Finding]:
        if reach.held in ("tracked", "changed", "staged"):
            try:
                if reach.revision:
                    yield from self._of_revision(reach, guard, root, tree)
                    return
                staged = _staged(tree) if reach.held == "staged" else None
            except UnknownObjectError:
                reach, staged = replace(reach, held="tracked", certain=False), None
            if tree.entries is not None:
                yield from self._of_index(reach, guard, root, (tree, staged))
                return
            reach = replace(reach, held="", certain=False)
        yield from self._on_disk(reach, guard, root, root)

    def _on_disk(self, reach: Reach, guard: Guard, root: str, target: str) -> Iterator[Finding]:
        itself = self._judged(guard, target)
        if itself is not None and self._holds(reach, root):
            yield replace(itself, certain=reach.certain)
            return
        top = split(root)
        starts = {(top, False)} if target != root else set(guard.below(top))
        if (top, False) in starts:
            starts = {(place, whole) for place, whole in starts if whole or place == top}
        for start, whole in sorted(starts):
            if whole:
                yield from self._at(reach, guard, (root, target), start)
            else:
                yield from self._walk(reach, guard, (root, target), start)

    def _walk(self, reach: Reach, guard: Guard, trees: tuple[str, str], start: Parts) -> Iterator[Finding]:
        top, onto = map(split, trees)
        waiting = deque([start])
        while waiting:
            folder = waiting.popleft()
            for entry in self._listed(folder):
                parts = (*folder, entry.name)
                below = parts[len(top) :]
                if (reach.depth and len(below) > reach.depth) or (
                    not reach.hidden and entry.name.startswith(".")
                ):
                    continue
                if entry.is_symlink() and not reach.empty:
                    if reach.links:
                        yield from self._linked(reach, guard, trees, (entry, parts))
                    continue
                if guard.means((*onto, *below)):
                    yield from self._at(reach, guard, trees, parts)
                if entry.is_dir(follow_symlinks=False) and not _filled_by_tools(reach, entry):
                    waiting.append(parts)

    def _linked(
        self, reach: Reach, guard: Guard, trees: tuple[str, str], link: tuple[os.DirEntry[str], Parts]
    ) -> Iterator[Finding]:
        """What lies behind a link that is followed, if the tree does not hold it anyway."""
        entry, parts = link
        path = real_path(entry.path)
        real = split(path)
        if guard.means(parts) or any(guard.means(real[:size]) for size in range(1, len(real) + 1)):
            yield from self._at(reach, guard, trees, parts)
        elif entry.is_dir() and path not in self._followed and not f"{path}/".startswith(f"{trees[0]}/"):
            self._followed.add(path)
            yield from self._below(replace(reach, onto=""), guard, path, path)

    def _at(self, reach: Reach, guard: Guard, trees: tuple[str, str], parts: Parts) -> Iterator[Finding]:
        """The finding for one place on the disk, if the command gets there."""
        root, target = trees
        path = "/" + "/".join(parts)
        below = parts[len(split(root)) :]
        if not os.path.lexists(path) or not self._reached(reach, path, below):
            return
        self._asked_left -= 1
        if self._asked_left < 0:
            raise _TooManyError
        arriving = path if root == target else "/".join((target.rstrip("/"), *below))
        finding = self._judged(guard, arriving)
        if finding is not None:
            yield replace(finding, certain=reach.certain)

    def _judged(self, guard: Guard, path: str) -> Finding | None:
        subject = PathSubject(guard.tools, resolve(path, self.place, on_disk=True))
        ruling = guard.decide(subject)
        return Finding(subject, ruling, True) if ruling.explicit and ruling.action != "allow" else None

    def _holds(self, reach: Reach, root: str) -> bool:
        """Whether a place that a rule means as a whole has files that the command reaches."""
        return os.path.lexists(root) and self._reached(reach, root, ())

    def _reached(self, reach: Reach, path: str, below: Parts) -> bool:
        """Whether a file, or one below a directory, is among those that the command means."""
        if not self._passes(reach, path, below):
            return False
        if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - a str, many times
            return self._named(reach, path, below)
        if reach.empty and not reach.names:
            return True
        return any(
            not entry.is_dir(follow_symlinks=False)
            and self._passes(reach, entry.path, inner)
            and self._named(reach, entry.path, inner)
            for entry, inner in self._files(split(path), below)
        )

    def _files(self, start: Parts, below: Parts) -> Iterator[tuple[os.DirEntry[str], Parts]]:
        waiting = deque([(start, below)])
        while waiting:
            folder, inner = waiting.popleft()
            for entry in self._listed(folder):
                yield entry, (*inner, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(((*folder, entry.name), (*inner, entry.name)))

    def _passes(self, reach: Reach, path: str, below: Parts) -> bool:
        """Whether nothing that a command leaves out is above the path or it."""
        if not reach.hidden and any(part.startswith(".") for part in below):
            return False
        if reach.depth and len(below) > reach.depth:
            return False
        if _spared(reach, below):
            return False
        if not reach.ignored and is_ignored(path, below=len(below), git_only=reach.held == "untracked"):
            return False
        if reach.held == "untracked":
            tree = self._tree_at(path)
            if tree is None or tree.entries is None:
                return tree is not None
            return path not in {f"{tree.top}/{entry.name}" for entry in tree.entries}
        return True

    def _named(self, reach: Reach, path: str, below: Parts) -> bool:
        if reach.names and not any(fnmatchcase(path.rpartition("/")[2], glob) for glob in reach.names):
            return False
        shown = "/".join((reach.root.rstrip("/") or "/", *below))
        return not reach.paths or any(fnmatchcase(shown, glob) for glob in reach.paths)

    def _listed(self, folder: Parts) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir("/" + "/".join(folder)) as entries:
                for entry in entries:
                    self._entries_left -= 1
                    if self._entries_left < 0:
                        raise _TooManyError
                    yield entry
        except (OSError, ValueError):
            return

    def _tree_at(self, path: str) -> WorkingTree | None:
        folder = path if os.path.isdir(path) else os.path.dirname(path)  # noqa: PTH112, PTH120
        if folder not in self._trees:
            self._trees[folder] = working_tree(folder)
        return self._trees[folder]

    def _of_index(
        self,
        reach: Reach,
        guard: Guard,
        root: str,
        held: tuple[WorkingTree, Callable[[IndexEntry], bool] | None],
    ) -> Iterator[Finding]:
        tree, staged = held
        for entry in tree.entries or ():
            path = f"{tree.top}/{entry.name}"
            if not self._is_meant(guard, root, path) and not (entry.link and reach.links):
                continue
            if reach.held == "changed" and not entry.differs(path):
                continue
            if staged is not None and not staged(entry):
                continue
            yield from self._of_git(reach, guard, root, path)

    def _of_revision(self, reach: Reach, guard: Guard, root: str, tree: WorkingTree) -> Iterator[Finding]:
        """What a revision holds otherwise; nothing where there is none, for git refuses its name."""
        revisions = Revisions(tree.own, tree.common)
        id = revisions.commit(reach.revision)
        if id is None:
            return
        before = next(iter(revisions.parents(id)), None) if reach.applied else revisions.commit("HEAD")
        if reach.applied and len(revisions.parents(id)) > 2:
            raise UnknownObjectError("it holds what was not tracked")
        for name in revisions.differing(before, id):
            if self._is_meant(guard, root, f"{tree.top}/{name}"):
                yield from self._of_git(reach, guard, root, f"{tree.top}/{name}")

    def _is_meant(self, guard: Guard, root: str, path: str) -> bool:
        """Whether a path is at or below the root, and a rule may mean it or a directory above it."""
        if path != root and not path.startswith(root.rstrip("/") + "/"):
            return False
        parts = split(path)
        return any(guard.means(parts[:size]) for size in range(1, len(parts) + 1))

    def _of_git(self, reach: Reach, guard: Guard, root: str, path: str) -> Iterator[Finding]:
        below = split(path)[len(split(root)) :]
        if not _spared(reach, below) and self._named(reach, path, below):
            finding = self._judged(guard, path)
            if finding is not None:
                yield replace(finding, certain=reach.certain)


def _staged(tree: WorkingTree) -> Callable[[IndexEntry], bool]:
    """Whether a file of the index is another than in the last commit. Raises `UnknownObjectError`."""
    revisions = Revisions(tree.own, tree.common)
    head = revisions.commit("HEAD")

    def differs(entry: IndexEntry) -> bool:
        try:
            return head is None or revisions.file(head, entry.name) != entry.id
        except UnknownObjectError:
            return True

    return differs


def _filled_by_tools(reach: Reach, entry: os.DirEntry[str]) -> bool:
    """Whether a directory of many files, as package managers fill them, is left out by an ignore file."""
    return not reach.ignored and entry.name in NOT_OURS and is_ignored(entry.path, below=1)


def _spared(reach: Reach, below: Parts) -> bool:
    """Whether a part of the path below the root is one that the command leaves out."""
    for glob in reach.spared:
        if "/" not in glob.strip("/"):
            if any(fnmatchcase(part, glob.strip("/")) for part in below):
                return True
            continue
        plain = glob.removeprefix("./").strip("/")
        texts = ("/".join(below[:size]) for size in range(1, len(below) + 1))
        root = reach.root.removeprefix("./").strip("/")
        if any(
            fnmatchcase(text, plain) or fnmatchcase(f"{root}/{text}".removeprefix("./"), plain)
            for text in texts
        ):
            return True
    return False
