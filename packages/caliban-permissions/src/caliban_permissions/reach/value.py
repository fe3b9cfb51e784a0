"""What a command reaches below a directory, as values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Held: TypeAlias = Literal["", "tracked", "changed", "staged", "untracked"]
"""Which files git means: all, those in the index, those of them that differ from it, those that differ in it
from the last commit, or all that are not in it."""


class Reach(Struct, frozen=True, kw_only=True):
    """The files below `root`, a path as the command writes it, or the file itself.

    Which of them: `names` are globs for the last part of a path, `paths` for all of it with the root; a part
    below the root that one of `spared` fits is left out, a glob with a slash fits the path below the root.
    `hidden` are files that begin with a dot, `ignored` those that an ignore file names. `links` says that
    links are followed, `plain` that none is among the files. At most `depth` levels where it is not 0. With
    `empty` a directory without files counts. `held` are those that git means.
    With `all` it is the working tree that the root is in.
    A word may be a file or the name of a revision: it is only so where `there` is on the disk, and where
    `gone` is not.
    What is judged: the files; with `onto` the places where they arrive, below that path; with `patch` what
    this file names, `strip` parts cut off, below the root.
    With a `revision`, only what it holds otherwise than the last commit does; or, `applied`, what it changed.
    `certain`: each of the files is reached. Else some of them may be.
    """

    root: str
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    hidden: bool = True
    ignored: bool = True
    links: bool = False
    plain: bool = False
    depth: int = 0
    empty: bool = False
    held: Held = ""
    all: bool = False
    there: str = ""
    gone: str = ""
    onto: str = ""
    patch: str = ""
    revision: str = ""
    applied: bool = False
    strip: int = 1
    certain: bool = True


class Fed(Struct, frozen=True):
    """The files whose names a command is given by another one; `known` is whether anything else may be."""

    reaches: tuple[Reach, ...] = ()
    known: bool = True


UNKNOWN = Fed(known=False)
