"""The files that a simple command names, with those that its scripts and its code name."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.code import names_in
from caliban_permissions.commands.effects import all_write_targets
from caliban_permissions.commands.files import read_candidates, reads_operands, shared_device
from caliban_permissions.commands.forms import Forms
from caliban_permissions.commands.wrappers import program
from caliban_permissions.shell import HOLE, SimpleCommand
from caliban_permissions.shell.loose import dequoted

_TARGET = lazy_pattern(r">[>|&]? *([^ \t\n;&|()<>`{}]+)")
_PROCESS = lazy_pattern(r"/proc/(?:self|thread-self|\?+|[0-9]+)/(?:task/[^/]+/)?(cwd|root)(?=/|$)")
READING = ("<", "<>")
_FED = frozenset({"xargs", "gxargs", "parallel"})
_NAMES = frozenset({"echo", "printf"})
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
    """The names that a line itself hands to `xargs`, for a program that reads what it is given."""
    commands = [simple for simple in commands if simple.argv]
    runners = [simple for simple in commands if program(simple.argv[0]) in _FED]
    if not any(any(map(reads_operands, simple.argv[1:])) for simple in runners):
        return
    for simple in commands:
        if program(simple.argv[0]) in _NAMES:
            yield from (word for argument in simple.argv[1:] for word in argument.split())
    for redirect in (redirect for simple in runners for redirect in simple.redirects):
        given = redirect.target.text if redirect.op == "<<<" else redirect.body
        yield from (given or "").split()


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


def in_process(path: str, base: str) -> str:
    """A path through the process that will run, whose directory is not that of this one."""
    own = _PROCESS.match(path)
    return path if own is None else (base if own.group(1) == "cwd" else "/") + path[own.end() :]


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
