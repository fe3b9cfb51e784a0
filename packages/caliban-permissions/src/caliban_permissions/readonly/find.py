"""`find` as far as it only looks: in which directories, and which names pass its tests."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_permissions.readonly.reads import Reads, Tree, plain_globs
from caliban_permissions.shell import HOLE

_ALONE = frozenset(
    "-ls -empty -prune -quit -depth -d -xdev -mount -true -false -readable -writable "
    "-executable -nouser -nogroup -daystart -noleaf -ignore_readdir_race".split()
)
_PRINTS = frozenset({"-print", "-print0"})
_JOINING = frozenset("! ( ) -not -a -and -o -or ,".split())
_WITH_VALUE = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -type -xtype -size -mtime -mmin -atime -amin -ctime "
    "-cmin -maxdepth -mindepth -perm -user -group -uid -gid -regex -iregex -regextype -links -inum -used "
    "-printf -lname -ilname".split()
)
_WITH_FILE = frozenset("-newer -anewer -cnewer -samefile".split())
_PRINTS_MORE = frozenset({"-printf", "-ls"})
_UNCLEAR = frozenset("! -not -o -or , -prune".split())


def find_reads(words: tuple[str, ...]) -> Reads | None:
    """What a `find` looks at; `None` for an action that runs, writes or deletes, and for links followed."""
    start = next((at for at, word in enumerate(words) if word[:1] in ("-", "(", "!")), len(words))
    if words[start : start + 1] == ("-P",):
        return None if start else find_reads(words[1:])
    roots = words[:start] or (".",)
    files: list[str] = []
    names: list[str] = []
    printed = False
    at = start
    while at < len(words):
        word = words[at]
        if word in _WITH_VALUE or word in _WITH_FILE:
            at += 1
            if at >= len(words) or HOLE in words[at]:
                return None
            if word in _WITH_FILE:
                files.append(words[at])
            elif word == "-name" and not printed:
                names.append(words[at])
        elif word in _PRINTS:
            printed = True  # what is tested behind it, is printed whatever the test says
        elif word not in _ALONE and word not in _JOINING:
            return None
        at += 1
    if any(HOLE in root for root in roots):
        return None
    # Only where every test must pass does a name say which files are meant; the last of them is enough.
    tested = tuple(names[-1:]) if not _UNCLEAR.intersection(words) and plain_globs(tuple(names)) else ()
    trees = tuple(Tree(root, names=tested) for root in roots)
    prints_names = not _PRINTS_MORE.intersection(words)
    return Reads(places=(*roots, *files), listed=trees if prints_names else (), null="-print0" in words)
