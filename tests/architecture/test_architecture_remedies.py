"""What the product tells people to do can be done: each flag, command, variable and setting exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import get_args

import house
import plan

from caliban.cli.commands import COMMANDS, every_command
from caliban.cli.environment import variables
from caliban.cli.groups import GROUPS, LATER_FLAGS
from caliban.cli.variables import INNER_VARIABLES, LATER_VARIABLES
from caliban.slash.table import BUILT_IN
from caliban_common.remedy import RemedyKind
from caliban_drive.remedies import REMEDIES
from caliban_settings import SCHEMA

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+[a-z]")
COMMAND = re.compile(r"(?<![\w/.-])caliban ([a-z]+)(?![\w.:])")
VARIABLE = re.compile(r"(?<![\w.])CALIBAN_[A-Z0-9_]+[A-Z0-9]")
SETTING = re.compile(r"`([a-z][a-zA-Z_]*(?:\.[a-zA-Z_*]+)*)`")

TABLES_OF_OTHERS = (
    "caliban.cli.foreign",
    "caliban.cli.variables",
    "caliban.cli.lookalike",
    "caliban.cli.groups",
)
"""Modules that list what does not exist here, so that it can be answered."""

ELSEWHERE = {
    "caliban_tools_builtin",  # flags of programs that tools run, and words for models
    "caliban_permissions",  # flags of the programs that it judges
    "caliban_process",  # flags of the shell
    "caliban_provider_local",
}
"""Packages whose literals speak of the flags of other programs."""

REMEDIES_OF_FACES = "caliban_drive.remedies"
"""The words that all faces of the command have for remedies."""

PARTS = frozenset(("pattern", "action", "expires_at", "enabled", "block"))
"""Members and values of settings."""

WORDS_AFTER = frozenset("logs is cannot does could says needs was never had asks runs calls".split())  # noqa: SIM905
"""Verbs behind the name of the product, in a sentence about it."""


@cache
def literals() -> tuple[tuple[house.Module, int, str], ...]:
    """Every text of the product that is no docstring, with the fixed parts of f-strings put together."""
    return tuple(_literals())


def _literals() -> Iterator[tuple[house.Module, int, str]]:
    for module in house.modules():
        if module.name in TABLES_OF_OTHERS or ".testing" in module.name:
            continue
        inner: set[int] = set()
        documents = {
            id(node.body[0].value)
            for node in house.nodes(module)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        documents |= {
            id(node.value)
            for node in house.nodes(module)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in house.nodes(module):
            if isinstance(node, ast.JoinedStr):
                inner |= {id(part) for part in node.values}
                parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
                yield module, node.lineno, "".join(str(part) for part in parts)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documents | inner
            ):
                yield module, node.lineno, node.value


def flags() -> frozenset[str]:
    """What may be written with two dashes."""
    rows = [row for group in GROUPS for row in group.flags]
    rows += [row for command in every_command() for row in command.flags]
    return frozenset(name for row in rows for name in row.spellings) | frozenset(LATER_FLAGS)


def settings() -> frozenset[str]:
    """The settings and the tables and last names that they have."""
    names: set[str] = set()
    for key in SCHEMA:
        parts = key.path.split(".")
        names |= {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
        names |= {*key.aliases, parts[-1]}
    return frozenset(names)


def test_every_flag_that_is_named_exists() -> None:
    known = flags() | {name for row in BUILT_IN for name in FLAG.findall(f" {row.arguments}")}
    house.expect_none(
        f"{house.where(module, line)}: {name}"
        for module, line, text in literals()
        if module.package not in ELSEWHERE and " " in text
        for name in FLAG.findall(text)
        if name not in known and not name.startswith(("--no-restrict", "--norc", "--noprofile"))
    )


def test_no_library_speaks_of_the_command_that_stands_on_it() -> None:
    known, commands = flags(), {command.name for command in COMMANDS}
    house.expect_none(
        (
            f"{house.where(module, line)}: {name}"
            for module, line, text in literals()
            if plan.FLOORS[module.package] < plan.FACES
            and module.name != REMEDIES_OF_FACES
            and not module.name.startswith(tuple(plan.OTHER_PROGRAMS))
            for name in (
                *(flag for flag in FLAG.findall(text) if flag in known),
                *(f"caliban {name}" for name in COMMAND.findall(text) if name in commands),
            )
        ),
        because="give the error a remedy (`with_remedy`), and caliban_drive.remedies the words for it",
    )


def test_every_remedy_has_words_and_every_one_of_them_is_named_somewhere() -> None:
    kinds = set(get_args(RemedyKind))
    named = {text for module, _, text in literals() if module.name != REMEDIES_OF_FACES}
    assert (set(REMEDIES), kinds - named) == (kinds, set())


def test_every_command_that_is_named_exists() -> None:
    known = {command.name for command in COMMANDS}
    house.expect_none(
        f"{house.where(module, line)}: caliban {name}"
        for module, line, text in literals()
        if module.package not in ELSEWHERE
        for name in COMMAND.findall(text)
        if name not in known and name not in WORDS_AFTER
    )


def test_every_variable_of_ours_that_is_named_is_read() -> None:
    known = {*variables(), *INNER_VARIABLES, *LATER_VARIABLES}
    house.expect_none(
        f"{house.where(module, line)}: {name}"
        for module, line, text in literals()
        for name in VARIABLE.findall(text)
        if name not in known and not any(other.startswith(f"{name}_") for other in known)
    )


def test_every_setting_that_is_named_in_a_message_of_the_app_exists() -> None:
    known = settings()
    house.expect_none(
        f"{house.where(module, line)}: {name}"
        for module, line, text in literals()
        if module.package in ("caliban", "caliban_settings") and " " in text
        for name in SETTING.findall(text)
        if name not in known and name not in PARTS
    )
