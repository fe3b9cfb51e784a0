"""What a command changes below the directories that it names, or that it is in."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from caliban_permissions.commands.code import module_of
from caliban_permissions.commands.effects import all_write_targets, formatted
from caliban_permissions.commands.wrappers import program
from caliban_permissions.reach.git import applied, git_changes
from caliban_permissions.reach.lists import FDS, FEEDS, FINDS, fd_reaches, find_reaches, inner_of
from caliban_permissions.reach.reads import ANY, TARS, all_named, copied, deepened
from caliban_permissions.reach.value import Fed, Reach
from caliban_permissions.reach.words import sort_words
from caliban_permissions.shell import HOLE
from caliban_permissions.side_effects.bundles import unbundled

_MODES = frozenset("chmod chown chgrp setfacl chattr setfattr".split())
_REMOVERS = frozenset("rm grm srm trash trash-put gio shred".split())
_UNPACKERS = frozenset("7z 7za 7zz 7zr unrar rar jar cpio pax".split())


def reaches_written(argv: Sequence[str], fed: Fed | None) -> Iterator[Reach]:
    """The files that a command changes or deletes; `fed` are those whose names another one hands to it."""
    name = program(argv[0])
    if name in _REMOVERS:
        words = sort_words(argv[1:])
        operands = words.operands[1:] if name == "gio" else words.operands
        if name in ("trash", "trash-put", "gio") or words.has("rR", "recursive"):
            yield from (Reach(root=root, empty=True) for root in operands)
    elif name in ("mv", "gmv"):
        yield from (replace(reach, empty=True) for reach in copied(name, argv))
    elif name in _MODES:
        words = sort_words(argv[1:], "mxMX" if name == "setfacl" else "", "reference from")
        if words.has("R", "recursive"):
            operands = (
                words.operands if name == "setfacl" or words.values("", "reference") else words.operands[1:]
            )
            yield from (Reach(root=root, empty=True) for root in operands)
    elif name in FINDS or name in FDS:
        if "-delete" in argv or any(writes_names(command) for command in inner_of(argv)):
            reaches = find_reaches(argv) if name in FINDS else fd_reaches(argv)
            yield from (replace(deepened(reach, argv, reaches_written), empty=True) for reach in reaches)
    elif name in FEEDS:
        if any(writes_names(command) for command in inner_of(argv)):
            given = fed.reaches if fed is not None else ()
            yield from (replace(deepened(reach, argv, reaches_written), empty=True) for reach in given)
            yield from () if all_named(argv, fed) else (ANY,)
    elif name == "git":
        yield from git_changes(argv)
    else:
        yield from _in_bulk(name, argv)


def writes_names(command: tuple[str, ...]) -> bool:
    """Whether a command changes the files whose names stand where the HOLE is."""
    return any(HOLE in word for word in (*all_write_targets(command), *formatted(command)))


def _in_bulk(name: str, argv: Sequence[str]) -> Iterator[Reach]:
    if name in ("cp", "gcp", "rsync", "ditto"):
        yield from _copied_onto(name, argv)
    elif name in TARS or name in ("unzip", "python", "pypy") or name in _UNPACKERS:
        yield from (Reach(root=root, empty=True, certain=False) for root in _unpacked(name, argv))
        yield from _taken_in(name, argv)
    elif name in ("gzip", "gunzip", "pigz", "zstd", "bzip2", "xz"):
        words = sort_words(argv[1:], "S")
        if words.has("r", "recursive"):
            yield from (Reach(root=root) for root in words.operands)
    elif name == "patch":
        words = sort_words(argv[1:], "dipoBDFgrVYz", "directory input strip output")
        root = "".join(words.values("d", "directory")[-1:]) or "."
        strips = [value for value in words.values("p", "strip") if value.isdigit()]
        given = (*words.values("i", "input"), *words.operands[1:2])
        if not words.has("", "dry-run"):
            yield from applied(root, given, int(strips[-1]) if strips else 1)
    elif name == "zip":
        words = sort_words(argv[1:], "bntPx", "temp-path suffixes exclude")
        if words.has("m", "move"):
            yield from (Reach(root=root, empty=True) for root in words.operands[1:])
    else:
        yield from (
            Reach(root=word, hidden=False, ignored=False, certain=False) for word in formatted(tuple(argv))
        )


def _copied_onto(name: str, argv: Sequence[str]) -> Iterator[Reach]:
    """What a copy of directories puts in the place of other files, and what it takes away there."""
    words = sort_words(argv[1:], "tSef", "target-directory suffix exclude filter rsh include")
    into = words.values("t", "target-directory") if name != "rsync" else ()
    target = into[0] if into else words.operands[-1] if len(words.operands) > 1 else ""
    if not target or (name == "rsync" and words.has("n", "dry-run")):
        return
    if name == "rsync" and words.has("", "delete", "del", "delete-after", "delete-before", "delete-during"):
        yield Reach(root=target, spared=words.values("", "exclude"), empty=True)
    if name == "rsync" and words.has("", "remove-source-files"):
        yield from copied(name, argv)
    if ":" in "".join(words.operands).partition("/")[0]:
        yield Reach(root=target, certain=False)
    for reach in copied(name, argv):
        inside = reach.root.endswith(("/", "/.", "/..")) or reach.root in (".", "..")
        if name == "rsync":
            inside = reach.root.endswith(("/", "/.")) or reach.root == "."
        onto = {target} if inside else {target, posixpath.join(target, posixpath.basename(reach.root))}
        yield from (replace(reach, onto=place, empty=True) for place in sorted(onto))


def _unpacked(name: str, argv: Sequence[str]) -> Iterator[str]:
    """The directories that an archive is unpacked into."""
    if name in TARS:
        words = sort_words(unbundled(tuple(argv))[1:], "fCTXbHgIKNVLF", "file directory files-from exclude")
        if words.has("x", "extract", "get") and not words.has("Ot", "to-stdout"):
            yield words.values("C", "directory")[-1] if words.values("C", "directory") else "."
    elif name in ("python", "pypy"):
        module = module_of(tuple(argv))
        if module[:1] in (("zipfile",), ("tarfile",)) and module[1:2] in (("-e",), ("--extract",)):
            yield "".join(module[3:4]) or "."
    elif name == "unzip":
        words = sort_words(argv[1:], "dPx")
        if not words.has("lptvzZ"):
            yield "".join(words.values("d")[:1]) or "."
    elif name in ("cpio", "pax"):
        if any(word[:1] == "-" and set(word) & set("ipr") for word in argv[1:2]):
            yield "."
    elif "".join(argv[1:2]).lstrip("-")[:1] in ("x", "e"):
        yield next((word[2:] for word in argv if word.startswith("-o") and len(word) > 2), ".")


def _taken_in(name: str, argv: Sequence[str]) -> Iterator[Reach]:
    """What an archive takes away from where it was."""
    if name in TARS and any(word.startswith("--remove-f") for word in argv):
        words = sort_words(unbundled(tuple(argv))[1:], "fCTX", "file directory files-from exclude")
        yield from (Reach(root=root, empty=True) for root in words.operands)
