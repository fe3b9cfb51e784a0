"""The shape of the table of side effects and how a row is compared with the arguments of a program.

A row is data: what is dangerous in the arguments of a program, and commands that it must and must not hit.
The tests replay every example.
"""

from __future__ import annotations

import re

from msgspec import Struct

RUNS = "runs a program"
WRITES = "writes a file"
READS = "reads a file of its own choosing"
FETCHES = "moves data over the network"
LOADS = "loads code or configuration"


class Evidence(Struct, frozen=True):
    """Why a simple command does more than its name says.

    An allow rule must name the arguments up to `word` (an index), of that word the first `size` characters; a
    size beyond the word's end is named by no prefix, only by a rule without wildcards.
    """

    word: int
    size: int
    why: str
    text: str


class ArgumentRule(Struct, frozen=True):
    """Dangerous arguments of the programs `of`, several names separated by blanks.

    `short` are option letters, `long` option names (abbreviations count, unless it ends in `!`),
    `words` whole arguments (a final
    `*` means a prefix), `match` an expression searched in every argument. `operands` n: the n-th operand is
    dangerous. `subs` limits the row to subcommands; `unless`: every other subcommand is dangerous. With
    `leading` options count before the first operand alone: what is behind it is for what that one names.
    `hits` and `misses` are commands that must and must not be found by this row.
    """

    of: str
    why: str
    short: str = ""
    long: str = ""
    words: str = ""
    match: str = ""
    operands: int = 0
    subs: str = ""
    unless: str = ""
    leading: bool = False
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


class Option(Struct, frozen=True):
    """An option as typed: its letter or name, how much of its word that takes, and a `value` of its own."""

    word: int
    name: str
    size: int
    long: bool
    value: str = ""


class Scanned(Struct, frozen=True):
    """Arguments sorted into options and operands."""

    argv: tuple[str, ...]
    options: tuple[Option, ...]
    operands: tuple[int, ...]


def scan(
    argv: tuple[str, ...], takes: str = "", takes_long: frozenset[str] = frozenset(), glued: str = ""
) -> Scanned:
    """Sort the arguments as GNU getopt does; `takes` are the short options that have a value.

    Those of `glued` may have one in their own word, and never take the next.
    """
    options: list[Option] = []
    operands: list[int] = []
    index, size = 1, len(argv)
    while index < size:
        word = argv[index]
        if word == "--":
            operands.extend(range(index + 1, size))
            break
        if word.startswith("--"):
            name = word[2:].partition("=")[0]
            options.append(Option(index, name, len(name) + 2, True))
            index += "=" not in word and name in takes_long
        elif word.startswith("-") and len(word) > 1:
            for place, letter in enumerate(word[1:], start=2):
                separate = letter in takes and place == len(word) and index + 1 < size
                value = argv[index + 1] if separate else ""
                options.append(Option(index, letter, place, False, value))
                if letter in takes:
                    index += place == len(word)
                if letter in takes or letter in glued:
                    break
        else:
            operands.append(index)
        index += 1
    return Scanned(argv, tuple(options), tuple(operands))


def evidence(row: ArgumentRule, scanned: Scanned) -> list[Evidence]:
    """What of the row is found in the arguments."""
    argv = scanned.argv
    sub = argv[scanned.operands[0]] if scanned.operands else ""
    if row.subs and sub not in row.subs.split():
        return []
    first = scanned.operands[0] if row.leading and scanned.operands else len(argv)
    items = [
        Evidence(option.word, option.size, row.why, argv[option.word])
        for option in scanned.options
        if option.word < first
        and (_names(option.name, row.long) if option.long else option.name in row.short)
    ]
    if row.match:
        items += [
            whole(argv, option.word + 1, row.why)
            for option in scanned.options
            if option.value and re.search(row.match, f"-{option.name}{option.value}")
        ]
    if row.words or row.match:
        items += [whole(argv, index, row.why) for index in range(1, len(argv)) if _is(argv[index], row)]
    if row.operands and len(scanned.operands) >= row.operands:
        items.append(whole(argv, scanned.operands[row.operands - 1], row.why))
    if row.unless and sub and sub not in row.unless.split():
        items.append(whole(argv, scanned.operands[0], row.why))
    return items


def whole(argv: tuple[str, ...], index: int, why: str) -> Evidence:
    """Evidence of which all of a word must be named."""
    return Evidence(index, len(argv[index]), why, argv[index])


def everything(argv: tuple[str, ...], why: str) -> Evidence:
    """Evidence of which every word must be named; a program alone must be named by a rule of its own."""
    last = len(argv) - 1
    return Evidence(last, len(argv[last]) + (last == 0), why, argv[0])


def _names(name: str, long: str) -> bool:
    name = name.lower()
    return bool(name) and any(
        name == full[:-1] if full.endswith("!") else full.startswith(name) for full in long.split()
    )


def _is(word: str, row: ArgumentRule) -> bool:
    for wanted in row.words.split():
        if word == wanted or (wanted.endswith("*") and word.startswith(wanted[:-1])):
            return True
    return bool(row.match) and re.search(row.match, word) is not None
