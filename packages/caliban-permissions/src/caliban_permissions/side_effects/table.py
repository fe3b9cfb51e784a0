"""The whole table, indexed by program, and the one question asked of it."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec.structs import replace

from caliban_permissions.commands.code import module_of
from caliban_permissions.commands.wrappers import program
from caliban_permissions.side_effects import development, network, packages, text_tools
from caliban_permissions.side_effects.awk import awk_evidence
from caliban_permissions.side_effects.builtins import builtin_evidence
from caliban_permissions.side_effects.bundles import unbundled
from caliban_permissions.side_effects.git import ELSEWHERE, PATCHES, git_evidence
from caliban_permissions.side_effects.interpreters import interpreter_evidence, wrapper_start
from caliban_permissions.side_effects.known import unknown_options
from caliban_permissions.side_effects.row import (
    RUNS,
    WRITES,
    ArgumentRule,
    Evidence,
    Option,
    Scanned,
    everything,
    evidence,
    scan,
    whole,
)
from caliban_permissions.side_effects.sed import sed_evidence
from caliban_permissions.side_effects.unsurprising import unsurprising

ROWS: tuple[ArgumentRule, ...] = (*text_tools.ROWS, *network.ROWS, *development.ROWS, *packages.ROWS)
"""Every row; the readers of git, sed, awk, interpreters and builtins are code."""

_TRIES = frozenset({"--dry-run", "--help", "--version", "-v"})
_MAX_NESTING = 16
_TABLES = (text_tools, network, development, packages)
_TAKES: Mapping[str, str] = {name: takes for table in _TABLES for name, takes in table.TAKES.items()}
_TAKES_LONG: Mapping[str, frozenset[str]] = {
    name: frozenset(long.split())
    for table in (network, development, packages)
    for name, long in table.TAKES_LONG.items()
}
_DIRECTORIES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("make", "gmake"), ("C", "directory")),
    **dict.fromkeys(("npm", "pnpm"), ("C", "prefix")),
}
_GENERIC: Mapping[str, str] = {
    **dict.fromkeys(
        "exec execute exec-batch eval command shell script-shell rsh pager editor init-file rcfile init-hook "
        "load-plugins use-compress-program compress-program to-command checkpoint-action rsync-path "
        "upload-pack receive-pack use-askpass startup-file preload".split(),
        RUNS,
    ),
    **dict.fromkeys(
        "output output-file outfile out-file output-document log-file logfile pack-destination".split(),
        WRITES,
    ),
}


def _indexed() -> dict[str, tuple[ArgumentRule, ...]]:
    index: dict[str, list[ArgumentRule]] = {}
    for row in ROWS:
        for name in row.of.split():
            index.setdefault(name, []).append(row)
    return {name: tuple(rows) for name, rows in index.items()}


_INDEX = _indexed()


@lru_cache(maxsize=256)
def side_effects(argv: tuple[str, ...]) -> tuple[Evidence, ...]:
    """Everything in the arguments that a wildcard allow rule does not cover, inner commands included."""
    items: list[Evidence] = []
    offset = 0
    for _ in range(_MAX_NESTING):
        inner = argv[offset:]
        wrapping, start = wrapper_start(inner)
        items += [_moved(item, offset) for item in wrapping or _own(inner)]
        if start is None:
            return tuple(items)
        offset += start
    items.append(whole(argv, len(argv) - 1, RUNS))
    return tuple(items)


def _own(argv: tuple[str, ...]) -> list[Evidence]:
    return unsurprising(program(argv[0]), argv, _all(argv))


def _all(argv: tuple[str, ...]) -> list[Evidence]:
    items = builtin_evidence(argv) or interpreter_evidence(argv)
    if items:
        return items + _of_module(argv)
    plain = unbundled(argv)
    if plain != argv:
        why = [item.why for item in _own(plain)]
        return [everything(argv, why[0])] if why else []
    name = program(argv[0])
    if name == "git":
        return git_evidence(argv)
    if name in ("sed", "gsed"):
        return sed_evidence(argv)
    if name in ("awk", "gawk", "mawk", "nawk", "original-awk"):
        return awk_evidence(argv)
    takes, _, glued = _TAKES.get(name, "").partition(":")
    scanned = scan(argv, takes, _TAKES_LONG.get(name, frozenset()), glued)
    for row in _INDEX.get(name, ()):
        items += evidence(row, scanned)
    items += _elsewhere(name, scanned)
    items += unknown_options(name, Scanned(argv, tuple(_unnoted(scanned, items)), scanned.operands))
    items += [item for option in scanned.options if (item := _generic(argv, option)) is not None]
    if name == "patch" and not items and not _TRIES.intersection(argv):
        items.append(everything(argv, PATCHES))
    return items


def _of_module(argv: tuple[str, ...]) -> list[Evidence]:
    """What a module of Python does more than its name says, as the program of that name would."""
    module = module_of(argv)
    offset = len(argv) - len(module)
    return [_moved(item, offset) for item in _own(module) if item.word] if module else []


def _generic(argv: tuple[str, ...], option: Option) -> Evidence | None:
    why = _GENERIC.get(option.name) if option.long else None
    return Evidence(option.word, option.size, why, argv[option.word]) if why else None


def _unnoted(scanned: Scanned, items: list[Evidence]) -> Iterator[Option]:
    """The options that no row has found."""
    noted = {(item.word, item.size) for item in items}
    return (option for option in scanned.options if (option.word, option.size) not in noted)


def _elsewhere(name: str, scanned: Scanned) -> list[Evidence]:
    """Options that make a program work in another directory; one in the workspace is none."""
    short, long = _DIRECTORIES.get(name, ("", ""))
    items = []
    for option in scanned.options:
        if option.name and long.startswith(option.name) if option.long else option.name == short:
            index = option.word + (
                option.word + 1 < len(scanned.argv) and option.size == len(scanned.argv[option.word])
            )
            joined = scanned.argv[option.word][option.size :].removeprefix("=")
            text = scanned.argv[index] if index != option.word else joined
            items.append(Evidence(index, len(scanned.argv[index]), ELSEWHERE, text))
    return items


def _moved(item: Evidence, offset: int) -> Evidence:
    return replace(item, word=item.word + offset)
