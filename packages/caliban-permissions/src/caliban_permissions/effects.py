"""Which files a simple command names: those it may read, those it writes, and what it must never delete."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator

from caliban_permissions.paths import Place, split
from caliban_permissions.wrappers import program

_READS_NOTHING = frozenset(
    "echo printf true false : mkdir rmdir rm unlink touch ls dir stat test [ cd pwd basename dirname "
    "realpath "
    "readlink which type command chmod chown chgrp kill sleep seq date whoami id uname hostname df du export "
    "find fd tree locate".split()
)
_GIT_READS = frozenset(
    "show diff log blame annotate cat-file grep archive hash-object format-patch apply am range-diff "
    "diff-tree diff-index diff-files difftool whatchanged stash commit tag notes bundle".split()
)
_ALL_OPERANDS = frozenset(
    "mv tee touch truncate rm rmdir unlink mkdir mkfifo mknod shred sponge chattr setfacl setfattr".split()
)
_AFTER_FIRST = frozenset("chmod chown chgrp".split())
_LAST_OPERAND = frozenset("cp ln install rsync scp".split())
_SHARED = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})
_BLOCK_DEVICES = (
    "/dev/sd",
    "/dev/hd",
    "/dev/vd",
    "/dev/xvd",
    "/dev/nvme",
    "/dev/mmcblk",
    "/dev/disk",
    "/dev/dm-",
)
_MAX_LOOKED_UP = 64
_FORMATTERS = ("mkfs", "mke2fs", "mkswap", "wipefs", "fdisk", "sfdisk", "parted", "sgdisk", "blkdiscard")


def read_candidates(argv: tuple[str, ...]) -> Iterator[str]:
    """Every argument, or part of one, that a command may read as a file."""
    name = program(argv[0])
    if name in _READS_NOTHING:
        return
    is_git = name == "git"
    if is_git and not _GIT_READS.intersection(argv[1:]):
        return
    for word in argv[1:]:
        if not word or word == "-":
            continue
        if not word.startswith("-"):
            yield word
        elif not word.startswith("--") and len(word) > 2:
            yield word[2:]
        for mark in ("=", "@", "<"):
            tail = word.partition(mark)[2]
            if tail:
                yield tail.lstrip("@<")
        if is_git and ":" in word:
            yield word.partition(":")[2]
        if word.lower().startswith("file:"):
            yield "/" + word[5:].lstrip("/").removeprefix("localhost/")


def write_targets(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The files that a known command creates, changes or deletes, with the index of the argument."""
    name = program(argv[0])
    if name == "dd":
        yield from ((index, word[3:]) for index, word in enumerate(argv) if word.startswith("of="))
        return
    if name in ("tar", "gtar", "bsdtar", "unzip"):
        yield from _extraction(argv, "-C" if name != "unzip" else "-d")
        return
    operands = list(_operands(argv))
    if name in _ALL_OPERANDS:
        yield from operands
    elif name in _AFTER_FIRST:
        yield from operands[1:]
    elif name not in _LAST_OPERAND:
        return
    if name in _LAST_OPERAND or name == "mv":
        yield from _into_directory(argv, operands)


def catastrophic(argv: tuple[str, ...], place: Place, base: str) -> str | None:
    """Why running this would destroy a system, a home or the workspace, or `None`."""
    name = program(argv[0])
    if name.startswith(_FORMATTERS):
        return f"{name} overwrites a whole device"
    if name in ("dd", "tee", "shred", "cp"):
        device = next((word for word in argv[1:] if _device(word.removeprefix("of="))), None)
        return None if device is None else f"it overwrites the device {device.removeprefix('of=')}"
    recursive = any(_is_recursive(word) for word in argv[1:])
    if name == "find" and "-delete" in argv:
        roots = [word for _, word in _operands(argv)][:1] or ["."]
    elif name == "rm" and (recursive or "--no-preserve-root" in argv):
        roots = [word for _, word in _operands(argv)]
    elif name in ("chmod", "chown", "chgrp") and recursive:
        roots = [word for _, word in _operands(argv)][1:]
    else:
        return None
    for number, root in enumerate(roots):
        if _vital(root, place, base, on_disk=number < _MAX_LOOKED_UP):
            return f"it changes all of {root}"
    return None


def unknown_delete(argv: tuple[str, ...], hole: str) -> bool:
    """Whether a recursive delete has a target that is known only when it runs."""
    return (
        program(argv[0]) == "rm" and any(map(_is_recursive, argv[1:])) and any(hole in word for word in argv)
    )


def _operands(argv: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    ended = False
    for index, word in enumerate(argv[1:], start=1):
        if word == "--" and not ended:
            ended = True
        elif ended or not word.startswith("-") or word == "-":
            yield index, word


def _extraction(argv: tuple[str, ...], option: str) -> Iterator[tuple[int, str]]:
    """The directories that an archive program is told to work in."""
    for index, word in enumerate(argv):
        if word in (option, "--directory", "--one-top-level") and index + 1 < len(argv):
            yield index + 1, argv[index + 1]
        elif word.startswith(("--directory=", "--one-top-level=")):
            yield index, word.partition("=")[2]
        elif word.startswith(option) and len(word) > len(option):
            yield index, word[len(option) :]


def _into_directory(argv: tuple[str, ...], operands: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The last operand or the target directory, and the names that the sources get in it."""
    targets = operands[-1:] if len(operands) > 1 else []
    for index, word in enumerate(argv):
        if word.startswith("--target-directory="):
            targets = [(index, word.partition("=")[2])]
        elif word in ("-t", "--target-directory") and index + 1 < len(argv):
            targets = [(index + 1, argv[index + 1])]
        elif word.startswith("-t") and len(word) > 2:
            targets = [(index, word[2:])]
    for index, target in targets:
        yield index, target
        for _, source in operands:
            if source != target:
                yield index, posixpath.join(target, posixpath.basename(source.rstrip("/")) or ".")


def _is_recursive(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 3 and "--recursive".startswith(word)
    return word.startswith("-") and ("r" in word or "R" in word)


def _device(path: str) -> bool:
    return path.startswith(_BLOCK_DEVICES)


def _vital(word: str, place: Place, base: str, *, on_disk: bool) -> bool:
    """Whether a path, trailing `/*` and the like removed, is a root that nobody deletes in passing."""
    path = word
    if "\x00" in word:
        return False
    if path == "~" or path.startswith("~/"):
        path = place.home + path[1:]
    joined = posixpath.normpath(posixpath.join(base, path))
    stripped = split(os.path.realpath(joined) if on_disk else joined)
    while stripped and set(stripped[-1]) <= set("*.?"):
        stripped = stripped[:-1]
    if len(stripped) <= 1:
        return True
    for vital in (place.home, place.workspace):
        parts = split(vital)
        if parts[: len(stripped)] == stripped:
            return True
    return False


def shared_device(path: str) -> bool:
    """Whether writing to it writes no file."""
    return path in _SHARED or path in ("/dev/fd/1", "/dev/fd/2")
