"""Where a shell is while it runs a line: what `cd` and its like do, one command after the other."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator

from caliban_permissions.commands.wildcards import Directories, word_names
from caliban_permissions.paths import PathContext, resolve
from caliban_permissions.shell import SimpleCommand

_MOVES = frozenset({"cd", "pushd", "popd"})
_RUNS_HERE = frozenset({"eval", "source", "."})
_MAX_BASES = 4
_MAX_MOVES = 12
_MAX_FAR = 4
"""Of so many directories, the first and the last that came into question, none is forgotten."""


class WorkingDirectory:
    """The directories that a shell may be in: their `names`, and the canonical `bases` of these.

    `been` are those that it may have been in before. `known`: no others come into question. `lost`: it has
    moved too often to be followed.
    """

    def __init__(self, place: PathContext, cwd: str, been: tuple[str, ...], directories: Directories) -> None:
        self.names: tuple[str, ...] = (cwd,)
        self.bases: tuple[str, ...] = (cwd,)
        self.been: dict[str, None] = dict.fromkeys((*been, cwd))
        self.known = True
        self.lost = False
        self._moves = 0
        self._place = place
        self._directories = directories
        self._through_links = False
        self._furthest: tuple[str, ...] = (cwd,)

    def follow(self, simple: SimpleCommand, *, certain: bool = False) -> None:
        """Go where a simple command leads. It is `certain` that it did where nothing else runs otherwise."""
        name = moves(simple)
        self._moves += bool(name)
        self.lost = self._moves > _MAX_MOVES
        self.known = self.known and not self.lost
        if self.lost:
            return
        if name in ("pushd", "popd") or (name == "cd" and not _target(simple)):
            self.wander(known=False)
            places = tuple(self._perhaps(simple))
            self._add(places, places)
            self.been = dict.fromkeys(_ends((*self.been, *places)))
        elif name == "cd":
            self._go(_target(simple), certain=certain)

    def wander(self, *, known: bool) -> None:
        """It may go back to wherever it has been, and where else is not known."""
        self.known = self.known and known
        if not known:
            self._add(tuple(self.been), tuple(self.been))

    def _add(self, places: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.bases = _ends((*self.bases, *places))
        self.names = _ends((*self.names, *names))

    def _go(self, target: str, *, certain: bool) -> None:
        self._through_links = self._through_links or not all(map(self._is_literal(target), self.bases))
        self._furthest = tuple(dict.fromkeys(self._named(target, self._furthest)))[:_MAX_BASES]
        # Each `cd` may fail, which doubles what comes into question: beyond a bound, where none of them has.
        many = len(self.bases) > _MAX_BASES
        names = self._furthest if many else tuple(dict.fromkeys(self._named(target, self.names)))
        places = tuple(
            dict.fromkeys(place for name in names for place in resolve(name, self._place).canonicals)
        )
        if certain and all(map(os.path.isdir, places)):
            self.names, self.bases = names, places
        else:
            self._add(places, () if many else names)
        self.been = dict.fromkeys(_ends((*self.been, *places)))
        # The shell takes a `..` for the directory by whose name it came, not for the one it is in.
        doubtful = self._through_links and ".." in target.split("/")
        self.known = self.known and len(self.bases) <= _MAX_BASES and not doubtful

    def _named(self, target: str, names: tuple[str, ...]) -> Iterator[str]:
        """What a `cd` leads to by the `names` of where the shell is, and what `cd -P` leads to."""
        for name in names:
            yield posixpath.normpath(target if target[:1] == "~" else posixpath.join(name, target))
            yield from resolve(target, self._place, name).canonicals

    def _is_literal(self, target: str) -> Callable[[str], bool]:
        """Whether a directory is, seen from another, where its name says, whatever links there are."""

        def is_literal(base: str) -> bool:
            literal = posixpath.normpath(posixpath.join(base, target))
            return resolve(target, self._place, base).canonicals == (literal,)

        return is_literal

    def _perhaps(self, simple: SimpleCommand) -> Iterator[str]:
        """Directories among those that a move of which more is unknown may lead to: a wildcard has names."""
        words = [word for word in simple.words if word.text not in _argv(simple)[:1]]
        for word in words[-1:]:
            names = word_names(word, self.bases, self._place.home, self._directories) or ()
            for name in names[:_MAX_BASES]:
                for base in self.bases:
                    yield from resolve(name, self._place, base).canonicals


def _ends(places: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a long line that came first and last: each of them is looked at for each name of a file."""
    distinct = tuple(dict.fromkeys(places))
    return distinct if len(distinct) <= 2 * _MAX_FAR else (*distinct[:_MAX_FAR], *distinct[-_MAX_FAR:])


def moves(simple: SimpleCommand) -> str:
    """The name of what it changes the directory by; empty for all else."""
    name = next(iter(_argv(simple)), "")
    return name if name in _MOVES else ""


def runs_here(simple: SimpleCommand) -> bool:
    """Whether a simple command runs others in the shell itself, which they may move."""
    return not _RUNS_HERE.isdisjoint(_argv(simple)[:1])


def _argv(simple: SimpleCommand) -> tuple[str, ...]:
    """The arguments without `command` and `builtin` before them: what they call moves the shell as well."""
    argv = simple.argv
    while argv[:1] in (("command",), ("builtin",)):
        argv = argv[1:]
        while argv[:1] in (("-p",), ("--",)):
            argv = argv[1:]
    return argv


def _target(simple: SimpleCommand) -> str:
    """The literal directory of a `cd`; empty when it has none or several readings."""
    operands = [word for word in _argv(simple)[1:] if word not in ("-P", "-L", "--", "-e", "-@")]
    if not operands and not simple.opaque:
        return "~"
    plain = len(operands) == 1 and operands[0][:1] not in ("-", "+", "") and not simple.opaque
    return operands[0] if plain and simple.words[-1].glob is None else ""
