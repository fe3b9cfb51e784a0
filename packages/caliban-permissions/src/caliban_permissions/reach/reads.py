"""What a command reads below the directories that it names, or that it is in."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from caliban_permissions.commands.candidates import read_candidates
from caliban_permissions.commands.files import option_values
from caliban_permissions.commands.wrappers import program
from caliban_permissions.reach.git import git_reads
from caliban_permissions.reach.lists import (
    FDS,
    FEEDS,
    FINDS,
    GREPS,
    RIPGREPS,
    fd_reaches,
    find_reaches,
    grep_reaches,
    inner_of,
)
from caliban_permissions.reach.value import Fed, Reach
from caliban_permissions.reach.words import sort_words
from caliban_permissions.shell import HOLE
from caliban_permissions.side_effects.bundles import unbundled

TARS = frozenset("tar gtar bsdtar star".split())
_ARCHIVERS = frozenset("7z 7za 7zz 7zr rar jar".split())
_CLOUDS = frozenset("aws gsutil gcloud rclone s3cmd mc".split())
_COPIES_ALL = frozenset("cp copy sync rsync mirror mv move".split())
_TAR_TAKES = "fCTXbHgIKNVLF"
_TAR_LONG = (
    "file directory files-from exclude exclude-from transform xform use-compress-program owner group mode "
    "mtime newer after-date label format sort blocking-factor listed-incremental checkpoint-action"
)
_RSYNC_TAKES = "efTBM"
_RSYNC_LONG = (
    "exclude include filter exclude-from include-from files-from rsh rsync-path temp-dir backup-dir suffix "
    "compare-dest copy-dest link-dest bwlimit port log-file chmod chown max-size min-size partial-dir "
    "out-format"
)


def reaches_read(argv: Sequence[str], fed: Fed | None) -> Iterator[Reach]:
    """The files that a command reads; `fed` are those whose names another one hands to it."""
    name = program(argv[0])
    if name in GREPS or name in RIPGREPS:
        if not (name in RIPGREPS and "--files" in argv):
            yield from grep_reaches(argv)
    elif name in FINDS or name in FDS:
        if _hands_on(argv):
            reaches = find_reaches(argv) if name in FINDS else fd_reaches(argv)
            yield from (deepened(_opened(reach), argv, reaches_read) for reach in reaches)
    elif name in FEEDS or _takes_names(name, argv):
        if name not in FEEDS or _hands_on(argv):
            given = fed.reaches if fed is not None else ()
            yield from (deepened(_opened(reach), argv, reaches_read) for reach in given)
            yield from () if all_named(argv, fed) else (ANY,)
    elif name == "git":
        yield from git_reads(argv)
    elif name in TARS:
        yield from _tar(argv)
    elif name in ("zip", "gzip", "pigz", "zstd", "bzip2", "xz", *_ARCHIVERS):
        yield from _archived(name, argv)
    elif name in ("cp", "gcp", "scp", "rsync", "mv", "gmv", "ditto"):
        yield from copied(name, argv)
    elif name in ("diff", "gdiff", "colordiff", "sdiff"):
        words = sort_words(
            argv[1:], "UCxXWIFS", "exclude exclude-from width label ignore-matching-lines unified context"
        )
        reach = Reach(
            root=".",
            depth=0 if words.has("r", "recursive") else 1,
            links=not words.has("", "no-dereference"),
            spared=words.values("x", "exclude"),
            certain=words.has("N", "new-file"),  # else only what is on both sides
        )
        yield from (replace(reach, root=root) for root in words.operands)
    elif name in _CLOUDS:
        uploads = _COPIES_ALL.intersection(argv[1:])
        recursive = any(word in ("-r", "-R", "--recursive") for word in argv) or name in ("rclone", "mc")
        if uploads and (recursive or not uploads <= {"cp", "mv", "copy"}):
            yield from (Reach(root=word, certain=False) for word in argv[2:] if _is_local(word))


ANY = Reach(root="", certain=False)
"""Stands for files of which nobody knows the names."""


def reads_names(command: tuple[str, ...]) -> bool:
    """Whether a command reads the files whose names stand where the HOLE is."""
    return any(HOLE in word for word in read_candidates(command))


def all_named(argv: Sequence[str], fed: Fed | None) -> bool:
    """Whether all files are known: no names come from elsewhere, and they stand alone in what is run."""
    if any(word.startswith(("-a", "--arg-file")) for word in argv[1:] if program(argv[0]) in FEEDS):
        return False
    if fed is None:
        return True
    alone = all(word == HOLE or HOLE not in word for command in inner_of(argv) for word in command)
    return fed.known and alone


def deepened(
    reach: Reach, argv: Sequence[str], reaches: Callable[[Sequence[str], Fed | None], Iterator[Reach]]
) -> Reach:
    """The reach where what is run on a directory takes in all that is below it, whatever it is called."""
    inner = (tuple(word.replace(HOLE, "x") for word in command) for command in inner_of(argv))
    deep = any(each.root == "x" for command in inner for each in reaches(command, None))
    if not deep:
        return reach
    return replace(reach, names=(), paths=(), depth=0, hidden=True, plain=False, certain=False)


def _opened(reach: Reach) -> Reach:
    """The reach where each file is opened by its name: that of a link opens what it leads to."""
    return reach if reach.plain else replace(reach, links=True)


def _hands_on(argv: Sequence[str]) -> bool:
    return any(reads_names(command) for command in inner_of(argv))


def _takes_names(name: str, argv: Sequence[str]) -> bool:
    """Whether a program reads the names of its files from its input."""
    if name in TARS:
        return "-" in (value for _, value in option_values(tuple(argv), "-T", ("--files-from",)))
    if name == "zip":
        return "-@" in argv
    if name == "rsync":
        return "--files-from=-" in argv
    return name in ("cpio", "pax") and not any(word.startswith(("-i", "-r", "--extract")) for word in argv)


def _tar(argv: Sequence[str]) -> Iterator[Reach]:
    words = sort_words(unbundled(tuple(argv))[1:], _TAR_TAKES, _TAR_LONG)
    if not words.has("cru", "create", "append", "update"):
        return
    places = words.values("C", "directory") or (".",)
    reach = Reach(
        root=".",
        spared=tuple(glob.removeprefix("./") for glob in words.values("", "exclude")),
        links=words.has("h", "dereference"),
        certain=not words.values("X", "exclude-from") and not words.has("", "exclude-vcs-ignores"),
    )
    for place in places:
        for root in words.operands:
            yield replace(reach, root=posixpath.join(place, root) if place != "." else root)


def _archived(name: str, argv: Sequence[str]) -> Iterator[Reach]:
    if name in ("gzip", "pigz", "zstd", "bzip2", "xz"):
        words = sort_words(argv[1:], "S")
        if words.has("r", "recursive"):
            yield from (Reach(root=root) for root in words.operands)
        return
    if name == "zip":
        spared, kept = _zip_lists(argv)
        words = sort_words(kept[1:], "bntP", "temp-path suffixes")
        if words.has("rR", "recurse-paths"):
            roots = words.operands[1:] or (".",)
            yield from (
                Reach(root=root, links=not words.has("y", "symlinks"), spared=spared) for root in roots
            )
        return
    operands = [word for word in argv[1:] if not word.startswith("-")]
    adds = operands[:1] in (["a"], ["u"], ["m"]) or (
        name == "jar" and argv[1:2] and argv[1].lstrip("-")[:1] in "cu"
    )
    if adds:
        yield from (Reach(root=root, certain=name != "jar") for root in operands[1:])


def _zip_lists(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What `-x` leaves out, and the words without it."""
    at = next((place for place, word in enumerate(argv) if word in ("-x", "--exclude")), len(argv))
    end = next((place for place in range(at + 1, len(argv)) if argv[place].startswith("-")), len(argv))
    return tuple(glob.removesuffix("/*") for glob in argv[at + 1 : end]), (*argv[:at], *argv[end:])


def copied(name: str, argv: Sequence[str]) -> Iterator[Reach]:
    """The directories that are copied or moved with what is in them."""
    if name == "rsync":
        words = sort_words(argv[1:], _RSYNC_TAKES, _RSYNC_LONG)
        links = words.has("L", "copy-links")
        deep = words.has("ra", "recursive", "archive")
        certain = not words.has("n", "dry-run") and not words.values(
            "f", "filter", "include", "exclude-from", "include-from", "files-from"
        )
    else:
        words = sort_words(argv[1:], "tSiFJloPc", "target-directory suffix")
        links = words.has("L", "dereference") or name == "scp"
        deep = words.has("rRa", "recursive", "archive") or name in ("mv", "gmv", "ditto")
        certain = True
    into = words.values("t", "target-directory") if name in ("cp", "gcp", "mv", "gmv") else ()
    sources = words.operands if into else words.operands[:-1]
    spared = words.values("", "exclude") if name == "rsync" else ()
    if deep and not (name == "rsync" and words.has("n", "dry-run")):
        for root in filter(_is_local, sources):
            yield Reach(root=root, links=links, spared=spared, certain=certain)


def _is_local(word: str) -> bool:
    return not word.startswith("-") and ":" not in word.partition("/")[0]
