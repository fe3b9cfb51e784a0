"""What a command looks at that only reads."""

from __future__ import annotations

from msgspec import Struct


class Tree(Struct, frozen=True):
    """A directory that is read with everything below it.

    `hidden` says whether files that begin with a dot are among it, `links` whether links are followed. With
    `names` only files whose name matches one of these globs are read; `split` means that the names of the
    files go through a program that cuts them at blanks. `bare` names are printed without the directory that
    they are in, `indexed` ones come from the index of a repository, and `fed` ones become arguments. What is
    `optional` may be a file as well, or nothing. With `ignoring`, what ignore files name is not among it.
    """

    root: str
    hidden: bool = True
    links: bool = False
    names: tuple[str, ...] = ()
    split: bool = False
    bare: bool = False
    indexed: bool = False
    fed: bool = False
    optional: bool = False
    ignoring: bool = False


class Reads(Struct, frozen=True):
    """Everything that a read-only command looks at, as it is written there.

    Of `files` it shows the contents, of `places` the names or the state, `trees` it reads from top to
    bottom, and git works in `repositories`; where there is none, it `compares` the files themselves. It may
    show the `addresses` of others.
    `listed` are the trees whose file names it prints, one a line or, when `null`, each ended by a NUL.
    """

    files: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    trees: tuple[Tree, ...] = ()
    repositories: tuple[str, ...] = ()
    listed: tuple[Tree, ...] = ()
    null: bool = False
    compares: bool = False
    addresses: bool = False


NOTHING = Reads()
DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/zero", "-"})
"""What is no file of anybody's, wherever the workspace is."""


def plain_globs(globs: tuple[str, ...], *, wildcards: bool = True) -> bool:
    """Whether the patterns mean the same to everybody who reads them: no brackets and no backslashes.

    Without `wildcards` they may be paths, but no patterns at all.
    """
    odd = set("[]\\/\x00" if wildcards else "[]\\*?\x00")
    return all(not set(glob) & odd for glob in globs)
