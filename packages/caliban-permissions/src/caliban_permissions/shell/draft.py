"""A simple command while it is read: its words, and what is opaque in it."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell.line import COPIES, HOLE, Opacity, Redirect, Segment, SimpleCommand, Word
from caliban_permissions.shell.variables import ASSIGNMENT, INERT_VARIABLES, harmless, names_a_loader

_SETTERS = frozenset(
    "read unset export declare typeset local readonly getopts mapfile readarray eval source . let wait "
    "command builtin exec set shift trap coproc select enable alias".split()
)

_EXPANDS_VARIABLES = frozenset({"make", "gmake"})
"""Programs that take every variable for one of their own and hand its value to a shell."""

_COPIED = lazy_pattern(r"[A-Za-z0-9_./:,@%+=-]+")
"""What no expansion changes: bash expands the word behind `>&` as a word, and once more as a file's name,
quoted or not: it runs the substitutions that it then finds."""

_SEPARATING = ("IFS=", "IFS=,", "IFS=:", "IFS=;", "IFS=|")
"""What `read` splits a line at, where it is said for that alone."""

_PLAIN_VALUE = lazy_pattern(r"[A-Za-z0-9_.,:+=@%-]*")


class Scope(Protocol):
    """A construct around a command: a loop, and the variable that it gives values."""

    kind: str
    variable: str
    values: tuple[Word, ...]


class Draft:
    """`known` are the variables whose values are known here; `marked` holds after `!` and `time`."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.assigns: list[Word] = []
        self.redirects: list[Redirect] = []
        self.known: dict[str, tuple[Word, ...]] = {}
        self.repeated: bool = False
        self.marked: bool = False
        self.start: int = -1
        self.end: int = -1

    @property
    def empty(self) -> bool:
        """Whether nothing was read yet."""
        return self.end < 0

    @property
    def only_assigns(self) -> bool:
        """Whether it runs nothing and writes nothing: it only sets variables."""
        return bool(self.assigns) and not self.words and not self.redirects

    @property
    def may_set_variables(self) -> bool:
        """Whether it may give variables values other than those of its assignments."""
        if any(item.what in ("expansion", "arithmetic") for word in self.words for item in word.opaque):
            return True
        if not self.words:
            return False
        name, *arguments = (word.text for word in self.words)
        if name == "printf":
            return any(argument.startswith("-v") for argument in arguments)
        return name in _SETTERS or (name in ("test", "[") and any("[" in item for item in arguments))

    def extend(self, start: int, end: int) -> None:
        """Note that a piece of it stands between two places of the text."""
        self.start = start if self.start < 0 else min(self.start, start)
        self.end = end

    def place(self, known: Mapping[str, tuple[Word, ...]], scopes: Iterable[Scope], *, marked: bool) -> None:
        """Say where it stands: which variables are known there, and whether in a loop."""
        self.marked = marked
        uses = any(word.opaque for word in (*self.words, *self.assigns)) or bool(self.redirects)
        self.known = dict(known) if uses else {}
        for scope in scopes:
            self.repeated = self.repeated or scope.kind == "loop"
            if scope.variable:
                self.known[scope.variable] = scope.values

    def names(self) -> Iterator[str]:
        """The variables that it sets for what follows."""
        for word in self.assigns:
            assignment = ASSIGNMENT.match(word.raw)
            if assignment is not None:
                yield assignment.group(1)

    def values(self) -> Iterator[tuple[str, Word]]:
        """The variables that it sets to plain text, with the text."""
        for word in self.assigns:
            assignment = ASSIGNMENT.match(word.raw)
            plain = word.segments is not None and all(item.kind == "text" for item in word.segments)
            if assignment is not None and plain and assignment.group().endswith(assignment.group(1) + "="):
                text = word.text[assignment.end() :]
                raw = word.raw[assignment.end() :]
                yield (
                    assignment.group(1),
                    replace(word, text=text, raw=raw, segments=(Segment("text", text),)),
                )

    def simple(self, text: str) -> SimpleCommand:
        """The finished command; `text` is the whole line."""
        raw = text[self.start : self.end]
        words, assigns, redirects = tuple(self.words), tuple(self.assigns), tuple(self.redirects)
        return SimpleCommand(
            words, assigns, redirects, raw, opacities(words, assigns, redirects), self.repeated
        )


def opacities(
    words: tuple[Word, ...], assigns: tuple[Word, ...], redirects: tuple[Redirect, ...]
) -> tuple[Opacity, ...]:
    """What is opaque in a simple command."""
    opaque = [opacity for word in (*assigns, *words) for opacity in word.opaque]
    opaque += [opacity for redirect in redirects for opacity in target_opacity(redirect)]
    plain = not any(word.text.rpartition("/")[2] in _EXPANDS_VARIABLES for word in words)
    opaque += [
        Opacity("assignment", word.raw, names_a_loader(word.raw))
        for word in assigns
        if not (_inert(word) and (plain or _plain_value(word)))
        and not (word.text in _SEPARATING and words and words[0].text == "read")
    ]
    if words:
        opaque += _program_opacity(words[0])
    elif not assigns:
        opaque.append(Opacity("redirect without a command"))
    return tuple(opaque)


def target_opacity(redirect: Redirect) -> tuple[Opacity, ...]:
    """What is opaque in the target of a redirect."""
    target = redirect.target
    if redirect.descriptor.startswith("{"):
        return (*target.opaque, Opacity("named descriptor", redirect.descriptor))
    if redirect.op in ("<<", "<<-"):
        broken = "\n" in target.text
        return (*target.opaque, Opacity("here-document delimiter of two lines")) if broken else target.opaque
    name = target.text.removeprefix("~/") if target.at_home else target.text
    if redirect.op in COPIES and _COPIED.fullmatch(name) is None:
        return (*target.opaque, Opacity("a redirect whose target is expanded twice", target.raw, runs=True))
    if target.glob is not None and redirect.op != "<<<":
        return (*target.opaque, Opacity("wildcard in a redirect target", target.raw))
    return target.opaque


def _program_opacity(word: Word) -> list[Opacity]:
    braces = "{" in word.raw and "{" not in word.text
    if (
        braces
        or HOLE in word.text
        or word.glob is not None
        or (word.opaque and word.opaque[0].what != "ANSI-C quoting")
    ):
        return [Opacity("command name that is not literal", word.raw, runs=True)]
    if not word.text:
        return [Opacity("empty command name", word.raw, runs=True)]
    return []


def _plain_value(word: Word) -> bool:
    """Whether an assignment gives a value that is no text of a program, however it is expanded."""
    assignment = ASSIGNMENT.match(word.raw)
    return assignment is not None and _PLAIN_VALUE.fullmatch(word.text[assignment.end() :]) is not None


def _inert(word: Word) -> bool:
    """Whether an assignment changes nothing about what runs."""
    assignment = ASSIGNMENT.match(word.raw)
    if assignment is None or "[" in assignment.group() or word.segments is None:
        return False
    name = assignment.group(1)
    if name in INERT_VARIABLES and assignment.group().endswith("+="):
        return False
    unknown = any(opacity.value_only for opacity in word.opaque) or HOLE in word.text
    return harmless(name, None if unknown else word.text[assignment.end() :])
