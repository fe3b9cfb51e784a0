"""Side effects of a simple command that depend on where it runs, and on what is there."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from caliban_permissions.commands.files import shared_device, write_targets
from caliban_permissions.commands.touched import like_an_option
from caliban_permissions.commands.wrappers import program
from caliban_permissions.paths import real_path, resolve
from caliban_permissions.readonly import planted_repository
from caliban_permissions.shell import HOLE
from caliban_permissions.side_effects import Evidence
from caliban_permissions.side_effects.row import RUNS, WRITES, everything, whole

if TYPE_CHECKING:
    from caliban_permissions.commands.simple import SimpleSubject

_EXCHANGES = frozenset("push fetch pull clone ls-remote".split())
_OWN_HOOKS = RUNS + " that a repository without a protected .git names"
_MAX_PATHS = 64
_INSTALLED = frozenset("usr bin sbin opt nix gnu snap Applications Library System".split())


def local_evidence(subject: SimpleSubject, argv: tuple[str, ...]) -> Iterator[Evidence]:
    """What it does outside of the workspace, or by programs and hooks that are files there."""
    yield from _outside(subject, argv)
    yield from _local_program(subject, argv)
    yield from _repositories(subject, argv)


def stays_inside(subject: SimpleSubject, directory: str) -> bool:
    """Whether a directory is in the workspace wherever the command runs."""
    names = [resolve(directory, subject.command.place, base) for base in subject.bases]
    inside = subject.command.place.inside
    return subject.known and all(
        each.uncertain is None and each.canonicals and all(map(inside, each.canonicals)) for each in names
    )


def _outside(subject: SimpleSubject, argv: tuple[str, ...]) -> Iterator[Evidence]:
    for number, (index, target) in enumerate(write_targets(argv)):
        if number == _MAX_PATHS:
            yield whole(argv, len(argv) - 1, WRITES)
            return
        if shared_device(target):
            continue
        names = subject.names_of(target)
        if any(not subject.command.place.inside(canonical) for canonical in names.canonicals):
            yield whole(argv, index, WRITES + " outside the workspace")
        elif like_an_option(target):
            yield whole(argv, index, WRITES + " whose name reads as an option")


def _local_program(subject: SimpleSubject, argv: tuple[str, ...]) -> Iterator[Evidence]:
    """A program given by a path that is not where programs are installed."""
    if subject.planted and HOLE not in argv[0]:
        yield everything(argv, RUNS + " of the workspace")
    if HOLE in argv[0] or "/" not in argv[0]:
        return
    real = real_path(f"{subject.bases[0]}/{argv[0]}" if argv[0][0] != "/" else argv[0])
    if real.split("/")[1] not in _INSTALLED or subject.command.place.inside(real):
        yield whole(argv, 0, RUNS + " of the workspace")


def _repositories(subject: SimpleSubject, argv: tuple[str, ...]) -> Iterator[Evidence]:
    """Repositories that a git command works in or pushes to, whose hooks are files like any others."""
    if "git" not in map(program, argv):
        return
    if any(map(planted_repository, subject.bases)):
        yield everything(argv, _OWN_HOOKS)
    if _EXCHANGES.intersection(argv):
        for index, word in enumerate(argv[1:], start=1):
            path = word.partition("=")[2] if word.startswith("--") else word.removeprefix("file://")
            if path != word or "/" in word or word == ".." or planted_at(subject, word):
                if planted_at(subject, path):
                    yield whole(argv, index, _OWN_HOOKS)
                elif "push" in argv and path.startswith(("/", ".", "~")) and not stays_inside(subject, path):
                    yield whole(argv, index, WRITES + " outside the workspace")


def planted_at(subject: SimpleSubject, directory: str) -> bool:
    """Whether a directory is, or is in, a repository without a protected `.git`."""
    names = [
        name for base in subject.bases for name in resolve(directory, subject.command.place, base).canonicals
    ]
    return any(
        Path(name + end).is_dir() and planted_repository(name + end) for name in names for end in ("", ".git")
    )
