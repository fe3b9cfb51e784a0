"""Files that a line writes and then runs: what stands in them is what runs."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from caliban_permissions.commands.files import write_targets
from caliban_permissions.commands.forms import Forms
from caliban_permissions.commands.wrappers import SHELLS, WRAPPERS, program
from caliban_permissions.shell import HOLE, Redirect, SimpleCommand

_COPIES = frozenset("cp ln mv install dd tee curl wget rsync scp".split())
_RUNNERS = (
    SHELLS
    | WRAPPERS
    | frozenset(
        "python pypy perl ruby node nodejs php lua make gmake awk gawk mawk sed gcc cc g++ clang "
        "clang++ go rustc "
        "javac tclsh expect rscript ocaml swift scala groovy julia elixir nim ghc runghc deno bun "
        "ts-node tsx vi "
        "vim nvim ex emacs sqlite3 psql mysql gdb crontab".split()
    )
)
_SAYS = frozenset({"echo", "printf"})


class Written(Struct, frozen=True, kw_only=True):
    """A file that a line writes: its text, or what it is a copy of; neither where that is not known."""

    name: str
    text: str | None = None
    source: str | None = None


def written_files(commands: Iterable[SimpleCommand], groups: Iterable[Redirect]) -> tuple[Written, ...]:
    """The files that simple commands and groups of them write, as far as they may be run."""
    files = [file for simple in commands for file in _written(simple)]
    texts = {posixpath.normpath(file.name): file.text for file in files if file.text is not None}
    for index, file in enumerate(files):
        if file.source is not None and posixpath.normpath(file.source) in texts:
            files[index] = Written(name=file.name, text=texts[posixpath.normpath(file.source)])
    return (*files, *(Written(name=item.target.text) for item in groups if item.writes))


def with_written(forms: Forms, argv: tuple[str, ...], files: tuple[Written, ...]) -> Forms:
    """The forms of a simple command with what stands in those of the files that it runs."""
    if not argv or not files:
        return forms
    commands = (argv, *(inner.argv for inner in forms.inner if inner.argv))
    ran = [each if program(each[0]) in _RUNNERS else each[:1] for each in commands]
    names = {posixpath.normpath(word) for words in ran for word in words if word}
    for file in files:
        if posixpath.normpath(file.name) not in names:
            continue
        if file.text is not None:
            forms = replace(forms, code=(*forms.code, file.text))
        elif file.source is not None:
            copied = " ".join((posixpath.basename(file.source), *argv[1:]))
            forms = replace(forms, texts=(*forms.texts, copied))
        else:
            forms = replace(forms, unknown=True)
    return forms


def _written(simple: SimpleCommand) -> Iterator[Written]:
    argv = simple.argv
    name = program(argv[0]) if argv else ""
    text = text_said(simple)
    for redirect in simple.redirects:
        if redirect.writes:
            yield Written(name=redirect.target.text, text=text)
    if name not in _COPIES:
        return
    operands = [word for word in argv[1:] if not word.startswith("-")]
    source = operands[0] if name in ("cp", "ln", "mv", "install") and len(operands) > 1 else None
    for _, target in write_targets(argv):
        yield Written(name=target, text=text if name == "tee" else None, source=source)


def text_said(simple: SimpleCommand) -> str | None:
    """What a simple command prints, where that stands in it."""
    argv = simple.argv
    if argv[:1] and argv[0] in _SAYS:
        text = " ".join(argv[1:])
        return None if HOLE in text else text
    if argv[:1] in (("cat",), ("tee",)):
        for redirect in simple.redirects:
            if redirect.op == "<<<":
                return redirect.target.text
            if redirect.body is not None:
                return redirect.body
    return None
