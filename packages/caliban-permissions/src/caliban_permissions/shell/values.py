"""Settling a line: its substitutions are read, and its variables get the values that they surely have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from msgspec.structs import replace

from caliban_permissions.shell.draft import Draft, opacities
from caliban_permissions.shell.line import (
    HOLE,
    Opacity,
    ParsedLine,
    Piece,
    Redirect,
    Segment,
    SimpleCommand,
    Word,
)

Bindings: TypeAlias = Mapping[str, tuple[Word, ...]]
Reader: TypeAlias = Callable[[str, Bindings], ParsedLine | None]

MAX_DEPTH = 8
"""Substitutions nested deeper are opaque."""

_MAX_COMMANDS = 256
_MAX_CHOICES = 64
_SPLIT = frozenset(" \t\n*?[]\\")


def settle(
    pieces: Sequence[Piece | Draft], assigned: Iterable[str], read: Reader, text: str
) -> tuple[tuple[SimpleCommand, ...], tuple[Piece, ...], tuple[Opacity, ...]]:
    """The commands that run, the pieces of the line as they are printed, and further doubts."""
    times = Counter(assigned)
    fixed = not any(isinstance(piece, Draft) and piece.may_set_variables for piece in pieces)
    commands: list[SimpleCommand] = []
    settled: list[Piece] = []
    doubts: list[Opacity] = []
    for piece in pieces:
        if not isinstance(piece, Draft):
            if isinstance(piece, (Word, Redirect)):
                word = piece if isinstance(piece, Word) else piece.target
                known, inner = _read(word, {}, read)
                commands += inner
                if isinstance(piece, Word):  # what a loop goes through is of no command
                    doubts += (opacity for opacity in known.opaque if not opacity.value_only)
                piece = known if isinstance(piece, Word) else replace(piece, target=known)
            settled.append(piece)
            continue
        known_here = {name: values for name, values in piece.known.items() if fixed and times[name] <= 1}
        simple = _substituted(piece.simple(text), known_here, read, commands)
        settled.append(simple)
        if not piece.only_assigns or simple.opaque:
            commands += _variants(simple, known_here)
        if len(commands) > _MAX_COMMANDS:
            return (
                tuple(commands[:_MAX_COMMANDS]),
                (),
                (Opacity("more commands than are looked at", runs=True),),
            )
    if not commands:
        commands += (piece for piece in settled if isinstance(piece, SimpleCommand))
    return tuple(commands), tuple(settled), tuple(doubts)


def _substituted(
    simple: SimpleCommand, known: Bindings, read: Reader, commands: list[SimpleCommand]
) -> SimpleCommand:
    """The command, its substitutions read and its loop variables quoted; what they run goes to `commands`."""
    if not any(opacity.script is not None or opacity.value_only for opacity in simple.opaque):
        return simple
    words: list[Word] = []
    assigns: list[Word] = []
    redirects: list[Redirect] = []
    for group, given in ((words, simple.words), (assigns, simple.assigns)):
        for word in given:
            if len(commands) > _MAX_COMMANDS:
                return simple  # the whole line is more than is looked at
            settled, inner = _read(word, known, read)
            commands += inner
            group.append(settled)
    for redirect in simple.redirects:
        settled, inner = _read(redirect.target, known, read)
        commands += inner
        redirects.append(replace(redirect, target=settled))
    parts = tuple(words), tuple(assigns), tuple(redirects)
    return SimpleCommand(*parts, simple.raw, opacities(*parts), simple.repeated)


def _read(word: Word, known: Bindings, read: Reader) -> tuple[Word, tuple[SimpleCommand, ...]]:
    if word.segments is None or not word.opaque:
        return word, ()
    segments: list[Segment] = []
    inner: list[SimpleCommand] = []
    clear: set[str] = set()
    for segment in word.segments:
        if segment.kind == "substitution":
            line = read(segment.text, known)
            if line is None or line.opaque:
                return replace(word, segments=None), ()
            inner += line.simple_commands
            if len(inner) > _MAX_COMMANDS:
                return replace(word, segments=None), tuple(inner)
            clear.add(segment.text)
            segment = replace(segment, line=line)
        elif segment.kind == "variable" and len(word.segments) == 1:
            values = known.get(segment.name, ())
            if values and all(_one_word(value) for value in values):
                segment = replace(segment, quoted=True)
        segments.append(segment)
    opaque = tuple(
        replace(opacity, value_only=True) if opacity.script in clear else opacity for opacity in word.opaque
    )
    return replace(word, segments=tuple(segments), opaque=opaque), tuple(inner)


def _one_word(value: Word) -> bool:
    """Whether the value stays one word where it is not quoted, or names of files, which should."""
    return value.glob is not None or (bool(value.text) and not _SPLIT.intersection(value.text))


def _variants(simple: SimpleCommand, known: Bindings) -> list[SimpleCommand]:
    """The command once for each value of its known variables; itself where there are none, or too many.

    A program is never named by a variable: what runs should be seen.
    """
    unnamed = bool(simple.words) and any(item.kind == "variable" for item in simple.words[0].segments or ())
    if unnamed or not known or not any(opacity.value_only for opacity in simple.opaque):
        return [simple]
    names = dict.fromkeys(
        segment.name
        for word in (*simple.words, *(redirect.target for redirect in simple.redirects))
        for segment in word.segments or ()
        if segment.kind == "variable" and segment.name in known
    )
    count = 1
    for name in names:
        count *= len(known[name])
    if not names or count > _MAX_CHOICES:
        return [simple]
    return [
        _filled(simple, dict(zip(names, values, strict=True)))
        for values in product(*(known[name] for name in names))
    ]


def _filled(simple: SimpleCommand, values: Mapping[str, Word]) -> SimpleCommand:
    words = tuple(_filled_word(word, values) for word in simple.words)
    redirects = tuple(
        replace(redirect, target=_filled_word(redirect.target, values)) for redirect in simple.redirects
    )
    opaque = opacities(words, simple.assigns, redirects)
    return replace(simple, words=words, redirects=redirects, opaque=opaque)


def _filled_word(word: Word, values: Mapping[str, Word]) -> Word:
    """The word with the values in it; unchanged where a value may become other words than one."""
    if word.segments is None or not any(item.name in values for item in word.segments):
        return word
    segments: list[Segment] = []
    for segment in word.segments:
        value = values.get(segment.name) if segment.kind == "variable" else None
        if value is None:
            segments.append(segment)
            continue
        whole = len(word.segments) == 1
        if value.opaque or value.segments is None or (value.glob is not None and not whole):
            return word
        if value.at_home or (not segment.quoted and not _one_word(value)):
            return word
        if whole:
            return replace(value, start=word.start, end=word.end)
        segments.append(Segment("text", value.text))
    opaque = tuple(
        item for item in word.opaque if item.what != "variable" or item.text.strip("${}") not in values
    )
    text = _text(segments)
    raw = word.raw if opaque else text
    return replace(word, text=text, raw=raw, opaque=opaque, segments=tuple(segments), glob=_glob(segments))


_UNKNOWN = ("number", "variable", "substitution")


def _text(segments: Sequence[Segment]) -> str:
    return "".join(
        HOLE if item.kind in _UNKNOWN else "." if item.kind == "directory" else item.text for item in segments
    )


def _glob(segments: Sequence[Segment]) -> str | None:
    if not any(item.kind == "pattern" for item in segments):
        return None
    return "".join(
        item.text
        if item.kind == "pattern"
        else "".join("\\" + char if char in "*?[]\\" else char for char in _text((item,)))
        for item in segments
    )
