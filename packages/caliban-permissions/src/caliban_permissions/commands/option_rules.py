"""Rules that end in options: `rm -rf *` means `rm -fr`, `rm x -r --force` and whatever else says the same."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from caliban_permissions.commands.code import commands_at
from caliban_permissions.commands.wrappers import program
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.pattern import ArgumentGlob, Prefix

_CLUSTERING = frozenset(
    "rm cp mv ln ls chmod chown chgrp mkdir rmdir git curl grep sed tar rsync sort".split()
)
"""Programs of which several letters may stand behind one dash."""

_LONG: Mapping[str, Mapping[str, str]] = {
    "rm": {"recursive": "r", "force": "f"},
    "cp": {"recursive": "r", "force": "f", "archive": "a"},
    "chmod": {"recursive": "R"},
    "chown": {"recursive": "R"},
    "git push": {"force": "f", "delete": "d"},
    "git commit": {"no-verify": "n", "all": "a"},
    "git branch": {"force": "f", "delete": "d"},
    "git checkout": {"force": "f"},
    "git clean": {"force": "f"},
    "git tag": {"force": "f", "delete": "d"},
    "curl": {"insecure": "k"},
}
"""Long options with the letters that mean the same."""

_TAKES: Mapping[str, str] = {"git commit": "mCcFt", "git push": "o", "git branch": "u", "git tag": "muF"}
"""Letters of which the rest of the word is the value."""

_TOGETHER: Mapping[str, Mapping[str, str]] = {"git branch": {"D": "df"}, "rm": {"R": "r"}}
"""Letters that mean others."""


class OptionRule(Struct, frozen=True, kw_only=True):
    """A program, its sub-commands, and the options that must all be there."""

    head: tuple[str, ...]
    options: frozenset[str]


def means_options(rule: CompiledRule, commands: Iterable[tuple[str, ...]], code: Sequence[str] = ()) -> bool:
    """Whether a rule that ends in options means one of the commands, whatever their order and spelling."""
    argument = rule.pattern.argument
    if isinstance(argument, Prefix):
        wanted = _read(rule.spec)
    else:
        ends = isinstance(argument, ArgumentGlob) and rule.spec.endswith(" *")
        wanted = _read(rule.spec[:-2]) if ends else None
    if wanted is None:
        return False
    split = (tuple(text.split()) for text in commands_at(code, wanted.head[0]))
    return any(_is_meant(wanted, argv) for argv in (*commands, *split))


@lru_cache(maxsize=1_024)
def _read(text: str) -> OptionRule | None:
    words = text.split()
    first = next((index for index, word in enumerate(words) if word.startswith("-")), 0)
    plain = "*" not in text and "?" not in text and "\\" not in text
    if not first or not plain or not all(len(word) > 1 and word[0] == "-" for word in words[first:]):
        return None
    if "--" in words or any("=" in word for word in words[first:]):
        return None
    head = tuple(words[:first])
    return OptionRule(head=head, options=_options(head, words[first:]))


def _is_meant(rule: OptionRule, argv: tuple[str, ...]) -> bool:
    if program(argv[0]) != program(rule.head[0]):
        return False
    words = argv[1 : argv.index("--")] if "--" in argv else argv[1:]
    operands = [word for word in words if not word.startswith("-")]
    if tuple(operands[: len(rule.head) - 1]) != rule.head[1:]:
        return False
    given = _options(rule.head, [word for word in words if word.startswith("-") and len(word) > 1])
    return all(
        option in given
        or any(len(each) > 4 and option.startswith(each) for each in given if each[1:2] == "-")
        for option in rule.options
    )


def _options(head: tuple[str, ...], words: Iterable[str]) -> frozenset[str]:
    """The options, each by one name: a letter where there is one."""
    key = " ".join((program(head[0]), *head[1:]))
    long, together = _LONG.get(key, {}), _TOGETHER.get(key, {})
    options: set[str] = set()
    for word in words:
        if word.startswith("--"):
            name = word[2:].partition("=")[0]
            full = [each for each in long if each == name or (len(name) > 1 and each.startswith(name))]
            options.add(f"-{long[full[0]]}" if full else f"--{name}")
        elif program(head[0]) in _CLUSTERING:
            for letter in word[1:]:
                options.update(f"-{each}" for each in together.get(letter, letter))
                if letter in _TAKES.get(key, ""):
                    break
        else:
            options.add(word)
    return frozenset(options)
