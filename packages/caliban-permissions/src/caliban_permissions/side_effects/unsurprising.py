"""Evidence without what is everyday.

A runner whose sub-command runs a program is everyday for whoever names that sub-command: `uv run *` says
what it allows, `uv *` does not.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re
from collections.abc import Mapping

from caliban_permissions.side_effects.everyday import LINES, PLAIN_WORD, WORDS, Line, Words
from caliban_permissions.side_effects.known import UNKNOWN
from caliban_permissions.side_effects.row import RUNS, Evidence, whole

RUNNERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys("uv poetry pipenv pdm hatch rye pixi".split(), frozenset({"run"})),
    **dict.fromkeys(("bundle", "bundler"), frozenset({"exec"})),
}
"""Programs with the sub-commands by which they run a program of the project."""

_RUNNER_FLAGS = frozenset(
    "-m --module --all-extras --dev --no-dev --frozen --locked --no-sync -q --quiet --offline".split()
)
_RUNNER_VALUES = frozenset("--extra --group --only-group --python".split())

_STRICT = (("docker", "compose"), ("docker-compose",), ("podman", "compose"))
"""Programs of which whatever is no row of `LINES` asks: options stand on both sides of their sub-command."""


def unsurprising(name: str, argv: tuple[str, ...], items: list[Evidence]) -> list[Evidence]:
    """The evidence without what is everyday."""
    strict = next(
        (head for head in _STRICT if (name, *argv[1 : len(head)]) == head and len(argv) > len(head)), ()
    )
    if not items and not strict:
        return items
    if any(_is_line(line, (name, *argv[1:])) for line in _LINES.get(name, ())):
        return []
    if strict and not items:
        return [whole(argv, len(strict), UNKNOWN)]
    for row in _WORDS.get(name, ()):
        items = [item for item in items if not _is_word(row, argv, item.word)]
    if argv[1:2] and argv[1] in RUNNERS.get(name, ()) and _names_program(argv):
        # Whoever spells out the sub-command has named what it runs.
        return [whole(argv, 1, RUNS)]
    return items


def _names_program(argv: tuple[str, ...]) -> bool:
    """Whether a runner has a program to run, behind options of which every one is known."""
    index = 2
    while index < len(argv) and argv[index].startswith("-"):
        if argv[index] in _RUNNER_VALUES and re.fullmatch(PLAIN_WORD, "".join(argv[index + 1 : index + 2])):
            index += 1
        elif argv[index] not in _RUNNER_FLAGS:
            return False
        index += 1
    return index < len(argv)


def _is_line(line: Line, argv: tuple[str, ...]) -> bool:
    head = tuple(line.head.split())
    if argv[: len(head)] != head:
        return False
    flags = line.flags.split()
    index = len(head)
    while index < len(argv):
        word = argv[index]
        name, equals, value = word.partition("=")
        if word in flags:
            pass
        elif word in line.values and index + 1 < len(argv):
            index += 1
            if not _fits(line.values[word], argv[index]):
                return False
        elif equals and name.startswith("--") and name in line.values:
            if not _fits(line.values[name], value):
                return False
        elif not line.operands or not _fits(line.operands, word):
            return False
        index += 1
    return True


def _fits(pattern: str, text: str) -> bool:
    return ".." not in text.split("/") and re.fullmatch(pattern, text) is not None


def _is_word(row: Words, argv: tuple[str, ...], index: int) -> bool:
    """Whether the word, alone or with the one beside it, is in the row."""
    texts = [argv[index]]
    if index + 1 < len(argv):
        texts.append(f"{argv[index]} {argv[index + 1]}")
    if index > 1:
        texts.append(f"{argv[index - 1]} {argv[index]}")
    return any(re.fullmatch(row.match, text) for text in texts)


def _by_program(rows: tuple[Words, ...]) -> dict[str, tuple[Words, ...]]:
    names = dict.fromkeys(name for row in rows for name in row.of.split())
    return {name: tuple(row for row in rows if name in row.of.split()) for name in names}


_WORDS = _by_program(WORDS)
_LINES: Mapping[str, tuple[Line, ...]] = {
    name: tuple(line for line in LINES if line.head.split()[0] == name)
    for name in dict.fromkeys(line.head.split()[0] for line in LINES)
}
