"""Reading the arguments of a program by a table of the options that only read.

Strict where `side_effects` is wide: an option that is not in the table, an abbreviation or a missing value
makes the answer "not known", and the command asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell import HOLE

Operands: TypeAlias = Literal["files", "names", "text", "script", "none"]
"""What the operands are: files whose contents are read, files of which only the name or the state is shown,
plain text, one text and then files, or nothing."""

OptionStyle: TypeAlias = Literal["clusters", "apart", "single"]
"""How short options are written: in clusters with a value behind its letter, as getopt reads them; in such
with the value `apart`, in the next word; or each `single`, in a word of its own. A number may be glued."""

_NUMBER = lazy_pattern(r"-[0-9]+")
_GLUED = lazy_pattern(r"[-+]?[0-9][0-9a-fx]*")


class OptionGrammar(Struct, frozen=True):
    """The options of a program that only read.

    `flags` and `takes` are short options without and with a value, `long` and `long_takes` the long ones;
    one in `long` may have a value behind `=`, and where options are single one dash is enough. Names in
    `files` have a file to read as their value, those in `scripts` the text that is otherwise the first
    operand, those in `recursive` make it read directories. `numbers`: `-20` is an option. At most `most`
    operands; `options_first`: an option behind one of them may be another one. Short options in `glued`
    have their number in their own word or none.
    """

    flags: str = ""
    takes: str = ""
    long: str = ""
    long_takes: str = ""
    operands: Operands = "files"
    files: str = ""
    scripts: str = ""
    recursive: str = ""
    numbers: bool = False
    most: int = 512
    style: OptionStyle = "clusters"
    glued: str = ""
    options_first: bool = False


class KnownArguments(Struct, frozen=True):
    """Arguments that the table knows in full.

    `late` are values of options that stand behind an operand: programs that stop there read them as files.
    """

    options: frozenset[str]
    values: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    late: tuple[str, ...] = ()


def read_arguments(words: Sequence[str], grammar: OptionGrammar) -> KnownArguments | None:
    """The arguments sorted, or `None` when one of them is not known to only read."""
    reader = _Reader(words, grammar)
    return reader.arguments() if reader.read() else None


class _Reader:
    def __init__(self, words: Sequence[str], grammar: OptionGrammar) -> None:
        self.words = words
        self.grammar = grammar
        self.long = frozenset(grammar.long.split())
        self.long_takes = frozenset(grammar.long_takes.split())
        self.options: set[str] = set()
        self.values: list[tuple[str, str]] = []
        self.operands: list[str] = []
        self.late: list[str] = []
        self.at = 0

    def arguments(self) -> KnownArguments:
        return KnownArguments(
            frozenset(self.options), tuple(self.values), tuple(self.operands), tuple(self.late)
        )

    def read(self) -> bool:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if self.grammar.options_first and self.operands and word.startswith("-") and word != "-":
                return False
            if word == "--":
                self.operands.extend(self.words[self.at :])
                break
            if word.startswith("--"):
                known = self._long(word[2:])
            elif self.grammar.numbers and _NUMBER.fullmatch(word):
                known = True
            elif word.startswith("-") and word != "-":
                known = self._short(word)
            else:
                # Whatever begins with an unknown text might be an option.
                known = not word.startswith(HOLE)
                self.operands.append(word)
            if not known:
                return False
        return len(self.operands) <= self.grammar.most

    def _long(self, text: str) -> bool:
        name, equals, value = text.partition("=")
        if name in self.long_takes:
            if equals:
                self.values.append((name, value))
                return True
            return self._value(name)
        self.options.add(name)
        return name in self.long

    def _short(self, word: str) -> bool:
        style = self.grammar.style
        if style == "single" and word[1:] in self.long:
            return self._long(word[1:])
        for place, letter in enumerate(word[1:], start=2):
            if letter in self.grammar.takes:
                if place < len(word):
                    if style != "clusters" and not _GLUED.fullmatch(word, place):
                        return False
                    self.values.append((letter, word[place:]))
                    return True
                return self._value(letter)
            if letter in self.grammar.glued:
                return place == len(word) or word[place:].isdecimal()
            if letter not in self.grammar.flags or (style == "single" and len(word) > 2):
                return False
            self.options.add(letter)
        return True

    def _value(self, name: str) -> bool:
        if self.at >= len(self.words):
            return False
        value = self.words[self.at]
        self.at += 1
        self.values.append((name, value))
        if self.operands:
            self.late.append(value)
        return True
