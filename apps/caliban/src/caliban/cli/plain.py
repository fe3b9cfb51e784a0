"""The arguments of most runs, read without argparse: to load that and to make its parser takes a start 5 ms.

What is not plain (an error, help, `--`, letters that stand together, a value with a dash before it) is read
by argparse, from the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from caliban.cli.flag import EITHER, ONCE, Flag, Group, WrongValue

ABOUT: Final = frozenset(("-h", "--help", "-V", "--version"))
ACTIONS: Final = (None, "append", "store_true", EITHER, ONCE)


def plain_values(arguments: Sequence[str], groups: Sequence[Group]) -> Mapping[str, Any] | None:
    """What argparse makes of `arguments`: a value for each field. `None` where only argparse may say."""
    rows = [row for group in groups for row in group.flags]
    if not all(map(_is_plain, rows)):
        return None
    named = {name: row for row in rows for name in row.spellings}
    words = [row for row in rows if row.is_positional]
    values = {row.field: _default(row) for row in rows}
    left = list(reversed(arguments))
    while left:
        argument = left.pop()
        if not _is_flag(argument):
            if not words or not _take(words.pop(0), argument, values):
                return None
            continue
        name, equals, text = argument.partition("=")
        row = named.get(name)
        if row is None or name in ABOUT or (equals and not _is_whole(name, row, text)):
            return None
        if not row.takes_value:
            values[row.field] = name in row.names
        elif equals or (left and not _is_flag(left[-1])):
            if not _take(row, text if equals else left.pop(), values):
                return None
        elif row.how.get("nargs") == "?" and (not left or left[-1] != "--"):
            values[row.field] = row.how.get("const")
        else:
            return None
    return values


def _is_plain(row: Flag) -> bool:
    """Whether this module understands everything in the row."""
    how = row.how
    nargs = ("?",) if row.is_positional else (None, "?")
    return how.get("action") in ACTIONS and how.get("nargs") in nargs and not how.get("required")


def _is_flag(argument: str) -> bool:
    return argument.startswith("-") and argument != "-"


def _is_whole(name: str, row: Flag, text: str) -> bool:
    """Whether `name=text` is a long flag with its value."""
    return name.startswith("--") and row.takes_value and text not in ("", "--")


def _default(row: Flag) -> Any:
    return row.how.get("default", False if row.is_switch else None)


def _take(row: Flag, text: str, values: dict[str, Any]) -> bool:
    """Store the value of `text`; false where the row does not take it."""
    how = row.how
    if how.get("action") == ONCE and isinstance(values[row.field], str):
        return False
    try:
        value = how["type"](text) if "type" in how else text
    except WrongValue:  # argparse asks again, and says what is wrong
        return False
    if "choices" in how and value not in how["choices"]:
        return False
    values[row.field] = [*(values[row.field] or ()), value] if how.get("action") == "append" else value
    return True
