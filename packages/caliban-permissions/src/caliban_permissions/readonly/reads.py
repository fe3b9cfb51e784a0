"""What a command looks at that only reads."""

from __future__ import annotations

from msgspec import Struct


class Tree(Struct, frozen=True):
    """A directory that is read with everything below it.

    `hidden` says whether files that begin with a dot are among it, `links` whether links are followed. With
    `names` only files whose name matches one of these globs are read; `split` means that the names of the
    files go through a program that cuts them at blanks.
    """

    root: str
    hidden: bool = True
    links: bool = False
    names: tuple[str, ...] = ()
    split: bool = False


class Reads(Struct, frozen=True):
    """Everything that a read-only command looks at, as it is written there.

    Of `files` it shows the contents, of `places` the names or the state, `trees` it reads from top to
    bottom, and git works in `repositories`. `listed` are the trees whose file names it prints, one a line
    or, when `null`, each ended by a NUL.
    """

    files: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    trees: tuple[Tree, ...] = ()
    repositories: tuple[str, ...] = ()
    listed: tuple[Tree, ...] = ()
    null: bool = False


NOTHING = Reads()


def plain_globs(globs: tuple[str, ...]) -> bool:
    """Whether the patterns mean the same to everybody who reads them: no brackets and no backslashes."""
    return all(not set(glob) & set("[]\\/\x00") for glob in globs)
