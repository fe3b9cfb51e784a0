"""Commands that keep a last question in every mode: they would destroy a system, a home or the workspace."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.commands.files import operands_of
from caliban_permissions.commands.forms import Forms, text_forms
from caliban_permissions.commands.wrappers import program
from caliban_permissions.paths import PathContext, split
from caliban_permissions.shell import HOLE

_DELETERS = frozenset("rm find chmod chown chgrp dd tee shred cp fdisk sfdisk parted sgdisk wipefs".split())
_FORMATTERS = ("mkfs", "mke2fs", "mkswap", "wipefs", "fdisk", "sfdisk", "parted", "sgdisk", "blkdiscard")
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
_SELECTS_NOTHING = frozenset("-delete -depth -mindepth -maxdepth -xdev -mount -type -print -P -H -L".split())
_HOME = re.compile(r"\$HOME(?![A-Za-z0-9_])|\$\{HOME\}")
_MAX_LOOKED_UP = 64


class Danger(NamedTuple):
    """A destructive command; `certain` is false where only its target is unknown."""

    text: str
    why: str
    certain: bool


def dangers(command: ShellCommand) -> Iterator[Danger]:
    """The destructive commands in a command, under any wrapper."""
    place, base = command.place, command.cwd
    for forms in (*command.forms, *_with_home(command)):
        for text in forms.texts:
            argv = tuple(text.split(" "))
            if argv[0] not in _DELETERS and not argv[0].startswith(_FORMATTERS):
                continue
            why = catastrophic(argv, place, base)
            if why is not None:
                yield Danger(text.replace(HOLE, "?"), why, True)
            elif _unknown_delete(argv):
                yield Danger(text.replace(HOLE, "?"), "what it deletes is known only when it runs", False)
    for redirect in command.redirects:
        if redirect.writes and redirect.target.text.startswith(_BLOCK_DEVICES):
            yield Danger(redirect.target.text, "it overwrites a device", True)


def catastrophic(argv: tuple[str, ...], place: PathContext, base: str) -> str | None:
    """Why running this would destroy a system, a home or the workspace, or `None`."""
    name = program(argv[0])
    if name.startswith(_FORMATTERS):
        return f"{name} overwrites a whole device"
    if name in ("dd", "tee", "shred", "cp"):
        targets = (word.removeprefix("of=") for word in argv[1:])
        device = next((target for target in targets if target.startswith(_BLOCK_DEVICES)), None)
        return None if device is None else f"it overwrites the device {device}"
    recursive = any(_is_recursive(word) for word in argv[1:])
    operands = [word for _, word in operands_of(argv)]
    if name == "find" and "-delete" in argv and not _selects(argv):
        roots = operands[:1] or ["."]
    elif name == "rm" and (recursive or "--no-preserve-root" in argv):
        roots = operands
    elif name in ("chmod", "chown", "chgrp") and recursive:
        roots = operands[1:]
    else:
        return None
    for number, root in enumerate(roots):
        if _vital(root, place, base, on_disk=number < _MAX_LOOKED_UP):
            return f"it changes all of {root.replace(HOLE, '?')}"
    return None


def _with_home(command: ShellCommand) -> Iterator[Forms]:
    """The forms of simple commands that name the home by its variable, with the home in its place."""
    for simple in command.simple_commands:
        if _HOME.search(simple.parsed.raw):
            words = (_HOME.sub(command.place.home, word.raw).strip("\"'") for word in simple.parsed.words)
            yield text_forms(" ".join(words), command.cwd, command.place.home)


def _selects(argv: tuple[str, ...]) -> bool:
    """Whether a find expression picks some files only."""
    return any(word.startswith("-") and word not in _SELECTS_NOTHING for word in argv[1:])


def _unknown_delete(argv: tuple[str, ...]) -> bool:
    recursive = program(argv[0]) == "rm" and any(map(_is_recursive, argv[1:]))
    return recursive and any(HOLE in word for word in argv)


def _is_recursive(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 3 and "--recursive".startswith(word)
    return word.startswith("-") and ("r" in word or "R" in word)


def _vital(word: str, place: PathContext, base: str, *, on_disk: bool) -> bool:
    """Whether a path, trailing `/*` and the like removed, is a root that nobody deletes in passing."""
    if HOLE in word:  # an empty variable before `/*` simple commands the root
        return set(word) <= {HOLE, "/", "*", "."} and "/" in word
    path = place.home + word[1:] if word == "~" or word.startswith("~/") else word
    joined = posixpath.normpath(posixpath.join(base, path))
    parts = split(os.path.realpath(joined) if on_disk else joined)
    while parts and set(parts[-1]) <= set("*.?"):
        parts = parts[:-1]
    return len(parts) <= 1 or any(
        split(root)[: len(parts)] == parts for root in (place.home, place.workspace)
    )
