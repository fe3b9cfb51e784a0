"""The files that a simple command names, with those that its scripts and its code name."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.candidates import read_candidates, reads_operands
from caliban_permissions.commands.code import names_in
from caliban_permissions.commands.effects import all_write_targets
from caliban_permissions.commands.files import shared_device
from caliban_permissions.commands.forms import Forms
from caliban_permissions.commands.wrappers import program
from caliban_permissions.shell import HOLE, SimpleCommand
from caliban_permissions.shell.loose import dequoted
from caliban_permissions.side_effects.bundles import unbundled

_TARGET = lazy_pattern(r">[>|&]? *([^ \t\n;&|()<>`{}]+)")
_TILDE = lazy_pattern(r"~([^/]+)")
_PROCESS = lazy_pattern(r"/proc/(?:self|thread-self|\?+|[0-9]+)/(?:task/[^/]+/)?(cwd|root)(?=/|$)")
READING = ("<", "<>")
_FED = frozenset({"xargs", "gxargs", "parallel"})
_NAMES = frozenset({"echo", "printf"})
_ARCHIVE = frozenset({"cpio", "pax"})
_FROM_INPUT = frozenset({"-@", "-T-", "--stdin", "--stdin-paths"})
_LISTS = ("--files-from", "--files0-from", "-files0-from", "--pathspec-from-file")
_LISTS_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("tar", "gtar", "bsdtar", "star"), ("-T",)),
    "wget": ("-i", "--input-file"),
    "curl": ("-K", "--config"),
    "file": ("-f",),
}
"""Options whose value is a list of names, of every program and of one."""

_MAX_TEXTS = 64


def read_inside(forms: Iterable[Forms]) -> Iterator[str]:
    """The files that scripts and code may read."""
    for each in forms:
        yield from _moving(each.inner, _read)
        for code in each.code:
            yield from names_in(code)


def _moving(
    commands: Iterable[SimpleCommand], names_of: Callable[[SimpleCommand], Iterator[str]]
) -> Iterator[str]:
    """What simple commands name, also below the directories that they change to."""
    places: list[str] = []
    for simple in commands:
        if simple.argv[:1] == ("cd",):
            places = [*places, *(posixpath.join("", *places[-1:], word) for word in simple.argv[1:2])]
        for name in names_of(simple):
            yield name
            yield from (posixpath.join(place, name) for place in places)


def fed_names(commands: Iterable[SimpleCommand]) -> Iterator[str]:
    """The names that a line itself hands to `xargs`, or to what else reads the names of its files."""
    commands = [simple for simple in commands if simple.argv]
    runners = [
        simple
        for simple in commands
        if not _FED.isdisjoint(map(program, simple.argv)) or _takes_names(simple.argv)
    ]
    if any(_takes_names(simple.argv) or any(map(reads_operands, simple.argv[1:])) for simple in runners):
        yield from handed(commands, runners)


def handed(commands: Iterable[SimpleCommand], runners: Iterable[SimpleCommand]) -> Iterator[str]:
    """The words that a line prints, or writes behind the commands that read them."""
    for simple in commands:
        if program(simple.argv[0]) in _NAMES:
            yield from (word for argument in simple.argv[1:] for word in argument.split())
    for redirect in (redirect for simple in runners for redirect in simple.redirects):
        given = redirect.target.text if redirect.op == "<<<" else redirect.body
        yield from (given or "").split()


def _takes_names(argv: tuple[str, ...]) -> bool:
    """Whether a program is told to read the names of its files from its input."""
    name = program(argv[0])
    lists = (*_LISTS, *_LISTS_OF.get(name, ()))
    words = unbundled(argv)
    return name in _ARCHIVE or any(
        word in _FROM_INPUT
        or word.endswith(("-from=-", "-from=/dev/stdin", "-from-file=-"))
        or (word in lists and after in ("-", "/dev/stdin"))
        for word, after in pairwise((*words[1:], ""))
    )


def read_in_texts(forms: Iterable[Forms]) -> Iterator[str]:
    """The files that commands may read of which only the text is known."""
    for each in forms:
        for text in each.texts[:_MAX_TEXTS]:
            words = tuple(text.replace(HOLE, "?").split())
            if words:
                yield words[0]  # where it stood behind a redirect
                yield from read_candidates(words)


def redirected_in(text: str) -> tuple[str, ...]:
    """What may be the target of a redirect in a text that no parser took apart."""
    return tuple(_TARGET.findall(dequoted(text)))


def written_inside(forms: Iterable[Forms]) -> Iterator[str]:
    """The files that scripts write."""
    for each in forms:
        yield from _moving(each.inner, _written)


def readings(path: str, base: str, home: str) -> Iterator[str]:
    """What a path means in a shell: `~+` is where it is, `~NAME` somebody's home, perhaps this person's.

    A path through the process that will run goes by its directory, which is not that of this one.
    """
    own = _PROCESS.match(path)
    yield path if own is None else (base if own.group(1) == "cwd" else "/") + path[own.end() :]
    other = _TILDE.match(path)
    if other is not None:
        rest = path[other.end() :]
        known = () if other.group(1)[0] in "+-0123456789" else (os.path.expanduser(other.group()),)  # noqa: PTH111
        yield from (place + rest for place in (base, home, *known))


def like_an_option(path: str) -> bool:
    """Whether a later wildcard could turn the file into an option."""
    return path.rpartition("/")[2].startswith("-")


def named_in_code(forms: Forms) -> Iterator[str]:
    """What in code may name a file."""
    for code in forms.code:
        yield from names_in(code)


def _read(simple: SimpleCommand) -> Iterator[str]:
    if simple.argv:
        yield from read_candidates(simple.argv)
    yield from (item.target.text for item in simple.redirects if item.op in READING)


def _written(simple: SimpleCommand) -> Iterator[str]:
    if simple.argv:
        yield from all_write_targets(simple.argv)
    for redirect in simple.redirects:
        if redirect.writes and not shared_device(redirect.target.text):
            yield redirect.target.text
