"""Whether the commands of a line provably only read, inside the workspace, what nobody keeps from them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from caliban_permissions.paths import PathContext, PathNames, real_path
from caliban_permissions.readonly.reads import DEVICES, Reads, Tree
from caliban_permissions.readonly.repository import (
    configurations,
    harmless_repository,
    in_repository,
    tracked_names,
)
from caliban_permissions.secrets import is_secret, is_secret_name, shows_password

_MAX_ENTRIES = 20_000
_MAX_ASKED = 4_000
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_CUT = frozenset(" \t\n'\"\\")


class Workspace(Struct, frozen=True):
    """Where a command runs, and what of it may be read.

    `names_of` finds the names of a path as the command means it; `verdict` is what rules for Read say to
    one: `None` where nobody wrote any. `guarded` says whether there are rules for single files.
    """

    place: PathContext
    names_of: Callable[[str], PathNames]
    verdict: Callable[[PathNames], bool | None]
    guarded: bool


def why_not(reads: Reads, workspace: Workspace) -> str | None:
    """What of it may not be read unasked; `None` where everything may."""
    for text in (*reads.files, *reads.places):
        problem = None if text in DEVICES else _of_path(text, workspace, shows=text in reads.files)
        if problem is not None:
            return problem
    for tree in reads.trees:
        problem = _of_path(tree.root, workspace, shows=True) or _of_index(tree, workspace)
        problem = problem or _of_tree(tree, workspace)
        if problem is not None:
            return problem
    for text in reads.repositories:
        names = workspace.names_of(text)
        if not names.canonicals or not all(map(harmless_repository, names.canonicals)):
            return "the configuration of the repository names programs"
        home = workspace.place.home
        if reads.addresses and any(
            shows_password(file) for start in names.canonicals for file in configurations(start, home)
        ):
            return "an address in the configuration of git holds a password"
        if reads.compares and reads.files and not all(map(in_repository, names.canonicals)):
            return "there is no repository, so that git reads any file"
    return None


def _of_path(text: str, workspace: Workspace, *, shows: bool) -> str | None:
    names = workspace.names_of(text)
    if names.refused is not None or names.uncertain is not None or not names.canonicals:
        return f"{names.refused or names.uncertain or 'the file is not known'}"
    if not all(workspace.place.inside(canonical) for canonical in names.canonicals):
        return f"{names.canonical} is outside the workspace"
    verdict = workspace.verdict(names)
    if verdict is False:
        return f"a rule for Read means {names.canonical}"
    if not shows or verdict is not None:
        return None
    below = _below(names.canonicals, workspace.place)
    if any(map(is_secret, below)) or any(map(shows_password, names.canonicals)):
        return f"{names.canonical} may hold credentials"
    return None


def _below(canonicals: tuple[str, ...], place: PathContext) -> Iterator[str]:
    """The canonical names without the workspace, whose own name says nothing."""
    for canonical in canonicals:
        root = next(
            (root for root in (place.workspace, *place.roots) if f"{canonical}/".startswith(f"{root}/")), ""
        )
        yield canonical[len(root) :] or "/"


def _of_index(tree: Tree, workspace: Workspace) -> str | None:
    """What of the names in the index cannot be an argument; they need not be those of any file."""
    if not tree.indexed:
        return None
    for directory in workspace.names_of(tree.root).canonicals:
        names = tracked_names(directory)
        if names is None:
            return "the names in the index cannot be read"
        for name in names:
            if "/-" in f"/{name}" or (tree.split and not _CUT.isdisjoint(name)):
                return f"the name {name!r} in the index is no plain argument"
    return None


def _of_tree(tree: Tree, workspace: Workspace) -> str | None:
    """Look through a directory for what may not be read; too much to look at is a reason, too."""
    left = _MAX_ASKED if workspace.guarded else _MAX_ENTRIES
    roots = workspace.names_of(tree.root).canonicals
    waiting = [*roots]
    linked = set(roots)
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return "there are too many files to look at"
                    problem = _of_entry(entry, tree, workspace)
                    if problem is not None and tree.ignoring and _is_left_out(entry, roots):
                        continue
                    if tree.fed and tree.bare and directory in roots and entry.name.startswith("-"):
                        problem = problem or f"the name {entry.name!r} becomes an option"
                    if problem is not None:
                        return problem
                    if entry.is_dir(follow_symlinks=False):
                        waiting += [entry.path] if _seen(entry, tree, workspace) else []
                    elif tree.links and not tree.fed and entry.is_symlink() and entry.is_dir():
                        real = real_path(entry.path)
                        waiting += [] if real in linked else [real]
                        linked.add(real)
        except NotADirectoryError:
            continue
        except FileNotFoundError:
            if not (tree.optional and directory in roots):
                return f"{directory} cannot be looked at"
        except (OSError, ValueError):
            return f"{directory} cannot be looked at"
    return None


def _is_left_out(entry: os.DirEntry[str], roots: tuple[str, ...]) -> bool:
    """Whether an ignore file names the entry, or a directory between it and the one that is searched."""
    from caliban_permissions.reach.ignored import is_ignored

    root = max((root for root in roots if entry.path.startswith(f"{root}/")), key=len, default="")
    return bool(root) and is_ignored(entry.path, below=entry.path.count("/") - root.count("/"))


def _of_entry(entry: os.DirEntry[str], tree: Tree, workspace: Workspace) -> str | None:
    name = entry.name
    if entry.is_dir(follow_symlinks=False):
        if tree.split and not _CUT.isdisjoint(name):
            return f"the name {name!r} becomes several words"
        secret = not tree.names and is_secret(f"/{name}/x") and _seen(entry, tree, workspace)
        return f"{entry.path} may hold credentials" if secret else None
    if tree.names and not any(fnmatchcase(name, glob) for glob in tree.names):
        return None
    if tree.split and not _CUT.isdisjoint(name):
        return f"the name {name!r} becomes several words"
    if entry.is_symlink():
        if not tree.links:
            return None
        real = real_path(entry.path)
        if not workspace.place.inside(real):
            return f"{entry.path} leads outside the workspace"
        if _is_secret_place(real, workspace.place):
            return f"{entry.path} may hold credentials"
    verdict = None
    if workspace.guarded and _seen(entry, tree, workspace):
        verdict = workspace.verdict(workspace.names_of(entry.path))
    if verdict is False:
        return f"a rule for Read means {entry.path}"
    # Where only some names are looked for, the directories above are not asked about.
    secret = is_secret_name(name.lower()) or (
        bool(tree.names) and _is_secret_place(entry.path, workspace.place)
    )
    secret = secret or shows_password(entry.path)
    shown = verdict is None and secret and _seen(entry, tree, workspace)
    return f"{entry.path} may hold credentials" if shown else None


def _is_secret_place(canonical: str, place: PathContext) -> bool:
    return any(map(is_secret, _below((canonical,), place)))


def _seen(entry: os.DirEntry[str], tree: Tree, workspace: Workspace) -> bool:
    """Whether a search that leaves hidden files out sees the entry: a `.gitignore` may say so."""
    if tree.hidden or not entry.name.startswith("."):
        return True
    place = workspace.place
    directory = posixpath.dirname(entry.path)
    while True:
        for ignoring in _IGNORE_FILES:
            if _readmits(posixpath.join(directory, ignoring), entry.name):
                return True
        if not place.inside(directory) or directory in (place.workspace, *place.roots, "/"):
            return False
        directory = posixpath.dirname(directory)


def _readmits(ignoring: str, name: str) -> bool:
    try:
        with open(ignoring, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123 - a str, many times
            globs = [line.strip().rstrip("/").rpartition("/")[2].lstrip("!") for line in lines if "!" in line]
    except (OSError, ValueError):
        return False
    return any(set(glob) & set("[\\") or fnmatchcase(name, glob) for glob in globs)
