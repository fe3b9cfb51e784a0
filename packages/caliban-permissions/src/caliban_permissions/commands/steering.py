"""What a simple command of a line does for the others: hands on text, makes links, renames programs."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from itertools import islice

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.wrappers import program
from caliban_permissions.shell import HOLE, SimpleCommand

_STEERS = frozenset(
    "source . eval alias unalias hash enable export declare typeset readonly local set shopt trap bind exec "
    "function read mapfile readarray getopts let unset".split()
)
_LOOKING = frozenset({"status", "diff", "log", "show", "rev-parse", "ls-files", "grep"})
_KEEPING = frozenset(
    {"cd", "echo", "printf", "pwd", "ls", "cat", "true", "head", "tail", "grep", "wc", "sort"}
)
_CALLS = ("command", "builtin")
_HARMLESS_WORD = lazy_pattern(r"-[eur]+o?|-o|pipefail|errexit|nounset|[a-z_][a-z0-9_]*")
_OWN_NAME = lazy_pattern(r"[a-z_][a-z0-9_]*(?:\[[^\]]*\])?\+?=")
_MAX_FEEDERS = 8


def steers(simple: SimpleCommand) -> bool:
    """Whether it may change what the name of a program, or an option, means to a later command."""
    argv = simple.argv
    while argv[:1] and argv[0] in _CALLS:
        argv = argv[1:]
    if not argv:
        return any(_OWN_NAME.match(word.text) is None for word in simple.assigns)
    if argv[0] in ("set", "read") and all(map(_HARMLESS_WORD.fullmatch, argv[1:])):
        return False
    return argv[0] in _STEERS or HOLE in argv[0] or (argv[0] == "printf" and "-v" in argv)


def keeps_repositories(argv: tuple[str, ...]) -> bool:
    """Whether a command, for all that stands in it, leaves repositories as they are."""
    if not argv or (program(argv[0]) == "git" and argv[1:2] and argv[1] in _LOOKING):
        return True
    return program(argv[0]) in _KEEPING


def feeder(pieces: Sequence[object], simple: SimpleCommand) -> SimpleCommand | None:
    """The command whose output a command reads by a pipe."""
    for at in range(2, len(pieces)):
        if pieces[at] is simple and pieces[at - 1] in ("|", "|&"):
            before = pieces[at - 2]
            return before if isinstance(before, SimpleCommand) else None
    return None


def feeders(pieces: Sequence[object], simple: SimpleCommand) -> Iterator[SimpleCommand]:
    """The commands in front of one in its pipe, the next one first, as far as a bound."""

    def backwards() -> Iterator[SimpleCommand]:
        source = feeder(pieces, simple)
        while source is not None:
            yield source
            source = feeder(pieces, source)

    return islice(backwards(), _MAX_FEEDERS)


def links_of(argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The links that a command makes, each with what it leads to, seen from where the command runs."""
    if not argv or program(argv[0]) not in ("ln", "gln"):
        return
    operands = [word for word in argv[1:] if not word.startswith("-")]
    into = operands.pop() if len(operands) > 1 else "."
    for target in operands:
        for link in (into, posixpath.join(into, posixpath.basename(target))):
            if HOLE not in target + link:
                place = posixpath.normpath(link)
                yield place, posixpath.join(posixpath.dirname(place), target)
