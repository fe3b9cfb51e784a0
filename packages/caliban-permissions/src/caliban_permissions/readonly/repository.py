"""Whether git can work in a directory without running what the repository's own configuration names.

`core.fsmonitor`, filters, text converters and external diffs are programs. A clone brings no configuration,
an unpacked archive may: git is only taken to read where every section of the configuration is known.
"""

# ruff: noqa: SIM905 - a table of words reads best as words
# ruff: noqa: PTH112, PTH113, PTH118, PTH120, PTH206 - every git command asks, and texts cost less than paths

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_common.paths import expand_user
from caliban_permissions.paths import real_path
from caliban_permissions.readonly.index import IndexEntry, index_entries, index_names

_SECTION = lazy_pattern(r"\[\s*([A-Za-z0-9.-]+)(?:\s+\"[^\"\n]*\")?\s*\]")
_HEAD = lazy_pattern(r"ref: refs/|[0-9a-f]{40}")
_PLAIN_PATH = lazy_pattern(r'"?([A-Za-z0-9_./~-]+)"?')
_KEY = lazy_pattern(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=|$)")
_SECTIONS = frozenset(
    "remote branch user init pull push fetch rebase color advice gc pack lfs receive tag status log "
    "rerere maintenance gitflow github submodule".split()
)
_CORE = frozenset(
    "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks "
    "autocrlf eol "
    "safecrlf longpaths quotepath abbrev compression untrackedcache preloadindex fscache sharedrepository "
    "hidedotfiles protecthfs protectntfs commentchar whitespace sparsecheckout sparsecheckoutcone".split()
)
_EXTENSIONS = frozenset("objectformat refstorage noop".split())
_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of a repository within the repository, as the index holds it."""

_HOOK = "post-index-change"
"""The hook that reading sub-commands run when they refresh the index."""

_MAX_CHARS = 64_000
_MAX_INDEX_BYTES = 32_000_000
_MAX_CLIMB = 64


def harmless_repository(directory: str) -> bool:
    """Whether the repository that git finds from the canonical `directory` names no program to run.

    One with repositories within it is not looked through.
    """
    return all(map(_harmless, _candidates(directory)))


def configurations(directory: str, home: str) -> Iterator[str]:
    """The files out of which git takes the addresses of other repositories in the canonical `directory`."""
    for entry in map(Path, _candidates(directory)):
        own = entry if entry.is_dir() else _linked(entry)
        commondir = _read(own / "commondir")
        yield f"{own if commondir is None else real_path(str(own / commondir.strip()))}/config"
    yield from (os.path.join(home, name) for name in (".gitconfig", ".config/git/config"))


def in_repository(directory: str) -> bool:
    """Whether git may find a repository from the canonical `directory`."""
    return next(_candidates(directory), None) is not None


def in_working_tree(directory: str) -> bool:
    """Whether git surely finds a working tree from the canonical `directory`."""
    entry = next(_candidates(directory), "")
    return entry.rpartition("/")[2] == ".git" and (os.path.isfile(entry) or _surely(entry))


def tracked_names(directory: str) -> tuple[str, ...] | None:
    """The names that the index of the repository holds; `None` where they cannot be read."""
    candidates = [Path(entry) for entry in _candidates(directory)]
    if len(candidates) != 1:
        return None
    return index_names((candidates[0] if candidates[0].is_dir() else _linked(candidates[0])) / "index")


class WorkingTree(Struct, frozen=True, kw_only=True):
    """The `top` of a working tree, with the files that git holds there.

    `own` is the directory of git for it, `common` that for all trees of the repository. `entries` are
    `None` where the index cannot be read.
    """

    top: str
    entries: tuple[IndexEntry, ...] | None
    own: str
    common: str


def working_tree(directory: str) -> WorkingTree | None:
    """The working tree that a canonical `directory` is in; `None` where it is in none."""
    entry = next(_candidates(directory), None)
    if entry is None or entry.rpartition("/")[2] != ".git":
        return None
    git_directory = Path(entry)
    own = git_directory if git_directory.is_dir() else _linked(git_directory)
    commondir = _read(own / "commondir")
    common = str(own) if commondir is None else real_path(str(own / commondir.strip()))
    entries = index_entries(own / "index")
    return WorkingTree(top=os.path.dirname(entry), entries=entries, own=str(own), common=common)


def _harmless(entry: str) -> bool:
    git_directory = Path(entry)
    own = git_directory if git_directory.is_dir() else _linked(git_directory)
    commondir = _read(own / "commondir")
    common = own if commondir is None else Path(real_path(str(own / commondir.strip())))
    if any((place / "config.worktree").exists() for place in (own, common)):
        return False
    top = git_directory.parent if git_directory.name == ".git" else git_directory
    return (
        _harmless_config(common / "config", top) and not _holds_others(own) and not _hooked(common / "hooks")
    )


def planted_repository(directory: str) -> bool:
    """Whether the canonical `directory` is in a repository for git, and in one without a protected `.git`.

    Its configuration and hooks are files like any others there, and git runs the programs that they name.
    """
    return any(".git" not in entry.split(os.sep) for entry in _candidates(directory))


def _candidates(start: str) -> Iterator[str]:
    """The directories and files that may make `start` part of a repository, to the first that surely does.

    Git passes by what looks like a repository and is none.
    """
    current = start
    for _ in range(_MAX_CLIMB):
        entry = os.path.join(current, ".git")
        if os.path.isfile(entry):
            yield entry
            return
        folders = [entry] if os.path.isdir(entry) else []
        for place in (*folders, *([current] if _may_be_bare(current) else [])):
            yield place
            if _surely(place):
                return
        parent = os.path.dirname(current)
        if parent == current:
            return
        current = parent


def _may_be_bare(directory: str) -> bool:
    if not os.path.lexists(os.path.join(directory, "HEAD")):
        return False
    return any(os.path.lexists(os.path.join(directory, name)) for name in ("objects", "commondir"))


def _surely(directory: str) -> bool:
    """Whether git takes the directory for a repository, whatever else stands there."""
    head = _read(Path(directory, "HEAD")) or ""
    parts = all(os.path.isdir(os.path.join(directory, name)) for name in ("objects", "refs"))
    return parts and _HEAD.match(head) is not None


def _linked(entry: Path) -> Path:
    """The directory that the file `.git` of a linked worktree or a submodule leads to."""
    text = _read(entry) or ""
    return Path(real_path(str(entry.parent / text.removeprefix("gitdir:").strip())))


def _holds_others(own: Path) -> bool:
    """Whether the index may name repositories within this one."""
    try:
        index = own / "index"
        if index.stat().st_size > _MAX_INDEX_BYTES or any(own.glob("sharedindex.*")):
            return True
        return _GITLINK in index.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _hooked(hooks: Path) -> bool:
    try:
        return (hooks / _HOOK).exists()
    except OSError:
        return True  # what cannot be looked at may be there


def _harmless_config(config: Path, top: Path) -> bool:
    text = _read(config)
    if text is None:
        return not config.exists()
    section = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        heading = _SECTION.match(stripped)
        if heading is not None:
            section = heading.group(1).lower().partition(".")[0]
            stripped = stripped[heading.end() :].strip()
            if not stripped or stripped[0] in "#;":
                continue
        key = _KEY.match(stripped)
        if key is None or stripped.endswith("\\"):
            return False
        name = key.group(1).lower()
        if section == "core" and name == "hookspath":
            plain = _PLAIN_PATH.fullmatch(stripped.partition("=")[2].strip())
            hooks = plain.group(1) if plain is not None else ""
            # Git knows whose home another one is, we do not.
            is_of_another = hooks.startswith("~") and not hooks.startswith("~/")
            if not hooks or is_of_another or _hooked(top / expand_user(hooks)):
                return False
        elif not _known(section, name):
            return False
    return True


def _known(section: str, key: str) -> bool:
    if section == "core":
        return key in _CORE
    if section == "log":
        return key != "showsignature"  # a program checks it
    if section == "extensions":
        return key in _EXTENSIONS
    if section == "submodule":
        return key in ("url", "active", "branch", "recurse")
    if section == "remote":
        return key in ("url", "pushurl", "fetch", "push", "tagopt", "prune", "mirror", "gh-resolved")
    return section in _SECTIONS


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > _MAX_CHARS:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
