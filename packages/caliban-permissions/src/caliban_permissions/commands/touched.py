"""The files that a simple command names, with those that its scripts and its code name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.code import names_in
from caliban_permissions.commands.effects import all_write_targets
from caliban_permissions.commands.files import read_candidates, shared_device
from caliban_permissions.commands.forms import Forms
from caliban_permissions.shell import HOLE, SimpleCommand
from caliban_permissions.shell.loose import dequoted

_TARGET = lazy_pattern(r">[>|&]? *([^ \t\n;&|()<>`{}]+)")
_PROCESS = lazy_pattern(r"/proc/(?:self|thread-self|\?+|[0-9]+)/(?:task/[^/]+/)?(cwd|root)(?=/|$)")
READING = ("<", "<>")
_MAX_TEXTS = 64


def read_inside(forms: Iterable[Forms]) -> Iterator[str]:
    """The files that scripts and code may read."""
    for each in forms:
        for inner in each.inner:
            yield from _read(inner)
        for code in each.code:
            yield from names_in(code)


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
        for inner in each.inner:
            if inner.argv:
                yield from all_write_targets(inner.argv)
            for redirect in inner.redirects:
                if redirect.writes and not shared_device(redirect.target.text):
                    yield redirect.target.text


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
