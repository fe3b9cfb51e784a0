"""All the names of a path: what was written, what it means, and what it is on the disk.

A deny or ask rule looks at every name, an allow rule only at the canonical one.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.characters import fold, hidden_character, lookalike, refused_text

Parts: TypeAlias = tuple[str, ...]
"""The components of an absolute path, without the root."""

_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]+://|file:", re.IGNORECASE)
_AT_PATH = lazy_pattern(r"@(?:[/\\~]|[A-Za-z]:)")
_DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")
_UNEXPANDED = lazy_pattern(r"(?<!:)\$(?:[A-Za-z_]|\{|\()|`")
_PROC_ROOT = lazy_pattern(r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/root(?=/|$)")
_PROC_ALIAS = lazy_pattern(r"/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/(?:root|cwd|fd)(?:/|$)")
_DEVICE = lazy_pattern(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|COM[0-9]|LPT[0-9])(?:[.:].*)?", re.IGNORECASE)
_SHORT_NAME = lazy_pattern(r"[^.]{1,8}~[0-9]+(?:\..{0,3})?")
_IGNORED_BY_HFS = lazy_pattern("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_UNDECODED = lazy_pattern("[\udc80-\udcff]")
_MAX_LINKS = 40
_MAX_CHARS = 4_096
_MAX_PARTS = 256


class PathContext(Struct, frozen=True, kw_only=True):
    """Where an engine stands. All paths are absolute; `workspace` and `home` are canonical.

    `aliases` maps the spellings under which workspace and home were given to the canonical ones. `roots` are
    further directories that count as inside; `search_path` is where programs are looked for. `web_hosts` are
    those that a person opened for the tool that fetches pages.
    """

    workspace: str
    cwd: str
    home: str
    aliases: tuple[tuple[str, str], ...] = ()
    roots: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()
    web_hosts: frozenset[str] = frozenset()
    windows: bool = False

    @classmethod
    def of(
        cls,
        workspace: Path,
        cwd: Path | None,
        home: Path,
        roots: tuple[Path, ...] = (),
        search_path: tuple[str, ...] = (),
        web_hosts: frozenset[str] = frozenset(),
    ) -> PathContext:
        """Resolve the directories once."""
        given = str(workspace.absolute()), str(home.absolute())
        real = os.path.realpath(workspace), os.path.realpath(home)
        return cls(
            workspace=real[0],
            cwd=real[0] if cwd is None else os.path.realpath(cwd),
            home=real[1],
            aliases=tuple(
                (spelled, true) for spelled, true in zip(given, real, strict=True) if spelled != true
            ),
            roots=tuple(os.path.realpath(root) for root in roots),
            search_path=search_path,
            web_hosts=web_hosts,
            windows=os.name == "nt",
        )

    def inside(self, path: str) -> bool:
        """Whether a canonical path is the workspace, one of the roots, or below one of them."""
        parts = split(path)
        return any(parts[: len(root)] == root for root in map(split, (self.workspace, *self.roots)))


class PathNames(Struct, frozen=True):
    """The names of one path.

    `refused` says why it is no path at all, `uncertain` why nobody can say which file is meant; the latter
    still has names, but no rule covers it. `canonicals` has two entries where `~` has two readings. With
    `unexpanded` it holds a `$`; with `any_name` it may name any file at all.
    """

    given: str
    names: tuple[Parts, ...] = ()
    canonicals: tuple[str, ...] = ()
    refused: str | None = None
    uncertain: str | None = None
    unexpanded: bool = False
    any_name: bool = False

    @property
    def canonical(self) -> str:
        """The first canonical name, for messages."""
        return self.canonicals[0] if self.canonicals else self.given


ANY_PATH = PathNames("a file", uncertain="there are too many files to look at", any_name=True)
"""Stands for the files that nobody looked at: every rule about a path means it."""


def split(path: str) -> Parts:
    """The components of an absolute path; a Windows drive is a component in upper case."""
    if "\\" in path and _DRIVE.match(path):
        path = path.replace("\\", "/")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if parts and len(parts[0]) == 2 and parts[0][1] == ":":
        return (parts[0].upper(), *parts[1:])
    return parts


def resolve(
    text: str,
    place: PathContext,
    base: str | None = None,
    *,
    on_disk: bool = False,
    canonical: bool = False,
) -> PathNames:
    """Find all names of `text`, relative to `base` (the workspace unless given). Never raises.

    A name that a directory listing gave is `on_disk`: bytes that are no UTF-8 stand in it as Python reads
    them. One that is known to be `canonical` is not looked up: it has no other.
    """
    shown = _UNDECODED.sub("?", text) if on_disk and not text.isascii() else text
    refused = _refused(shown, place)
    if refused is not None:
        return PathNames(text, refused=refused)
    base = place.workspace if base is None else base
    readings = list(_readings(text, base, place))
    names: dict[Parts, None] = {}
    canonicals: dict[str, None] = {}
    for reading in readings:
        real = reading if canonical else _real(reading, place)
        canonicals.setdefault(real)
        further = () if canonical else (_normal(reading, place), real, *_links(reading, place))
        for name in (reading, *further):
            for spelled in _spellings(name, place):
                names.setdefault(split(spelled))
    uncertain = _uncertain(shown, tuple(canonicals))
    any_name = place.windows and any(_SHORT_NAME.fullmatch(part) for part in re.split(r"[\\/]", text))
    unexpanded = _UNEXPANDED.search(text) is not None
    return PathNames(text, tuple(names), tuple(canonicals), None, uncertain, unexpanded, any_name)


def real_path(path: str) -> str:
    """An absolute path without links; where one of them may not be read, as if it were none. Never raises.

    The links below the /proc of other users' processes are such: looking one up is refused.
    """
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)


def folded(parts: Parts) -> Parts:
    """The components as a case-insensitive, forgiving file system compares them."""
    return tuple(map(_folded, parts))


@lru_cache(maxsize=1024)  # of the names in one search most parts are the same
def _folded(part: str) -> str:
    return fold(_IGNORED_BY_HFS.sub("", part)).rstrip(". ") or part


def hard_linked(canonical: str) -> bool:
    """Whether the path is a regular file that has another name elsewhere."""
    try:
        status = os.lstat(canonical)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


def _refused(text: str, place: PathContext) -> str | None:
    reason = refused_text(text)
    if reason is not None:
        return reason
    if not text:
        return "it is empty"
    if len(text) > _MAX_CHARS or text.count("/") > _MAX_PARTS:
        return "it is longer than any path"
    if _SCHEME.match(text):
        return "it is a URI, not a path"
    if _AT_PATH.match(text):
        return "a path does not begin with '@'"
    if place.windows:
        plain = text.replace("/", "\\")
        if plain.startswith("\\\\"):
            return "network and device paths are not opened"
        if any(_DEVICE.fullmatch(part.strip()) for part in plain.split("\\")):
            return "it names a device"
    return None


def _uncertain(text: str, canonicals: tuple[str, ...]) -> str | None:
    hidden = hidden_character(text) or ("a line break" if "\n" in text else None)
    if hidden is not None:
        return f"the path contains {hidden}, which does not show"
    alike = lookalike(text)
    if alike is not None:
        return f"the path contains {alike}, which looks like another character"
    if _UNEXPANDED.search(text):
        return "the path contains an expansion, and file tools expand nothing"
    if text.startswith("~") and text[1:2] not in ("", "/"):
        return "the path begins with another user's home"
    if any(_PROC_ALIAS.match(canonical) for canonical in canonicals):
        return "the path goes through another process"
    return None


def _readings(text: str, base: str, place: PathContext) -> Iterator[str]:
    """The absolute paths that the text may mean: `~` may be the home or a name."""
    join = ntpath.join if place.windows else posixpath.join
    if text == "~" or text.startswith("~/"):
        yield join(place.home, text[2:])
    yield join(base, text)
    if not place.windows and _DRIVE.match(text):
        yield text


def _normal(path: str, place: PathContext) -> str:
    return ntpath.normpath(path) if place.windows else posixpath.normpath(path)


def _real(path: str, place: PathContext) -> str:
    if place.windows != (os.name == "nt"):
        return _normal(path, place)
    return real_path(path)


def _links(path: str, place: PathContext) -> Iterator[str]:
    """The links that the last component goes through, one after the other."""
    if place.windows != (os.name == "nt"):
        return
    current = _normal(path, place)
    for _ in range(_MAX_LINKS):
        try:
            target = os.readlink(current)  # noqa: PTH115 - a str in, a str out, once per link
        except (OSError, ValueError):
            return
        current = os.path.normpath(os.path.join(os.path.dirname(current), target))  # noqa: PTH118, PTH120
        yield current


def _spellings(name: str, place: PathContext) -> Iterator[str]:
    """A name, what it is without a detour through /proc, and how Windows would read it."""
    yield name
    if name.startswith("/proc/"):
        yield _PROC_ROOT.sub("", name, count=1) or "/"
    for given, real in place.aliases:
        if name == given or name.startswith(given + "/"):
            yield real + name[len(given) :]
    if "\\" in name or ":" in name:
        plain = name.replace("\\", "/")
        yield "/".join(
            part.partition(":")[0].rstrip(". ") if len(part) > 2 else part for part in plain.split("/")
        )
