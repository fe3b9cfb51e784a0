"""One flag as data, and the kinds of values that flags take.

Plain classes: `--help` should not wait for the machinery behind Structs, and a named tuple costs a start as
much as six of these. Nor is argparse loaded: most runs do not need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

MAX_DIGITS: Final = 18
EITHER: Final = "either"
"""The action of a flag that has a `--no-` form."""

ONCE: Final = "once"
"""The action of a flag whose second value is an error: the first would be lost without a word."""


class WrongValue(ValueError):
    """A value that its flag does not take; in words that follow the flag's name."""


class Flag:
    """One flag: its names, and what argparse is told about it.

    `variable` says the same in the environment: above the flag where `variable_first`, else below it; it must
    be one of `among` where these are given.
    """

    __slots__ = ("among", "how", "names", "variable", "variable_first")

    def __init__(
        self,
        names: tuple[str, ...],
        how: Mapping[str, Any],
        variable: str = "",
        variable_first: bool = False,
        among: tuple[str, ...] = (),
    ) -> None:
        self.names: Final = names
        self.how: Final = how
        self.variable: Final = variable
        self.variable_first: Final = variable_first
        self.among: Final = among

    def told(self, how: Mapping[str, Any]) -> Flag:
        """The same flag, with `how` added to what argparse is told."""
        more = MappingProxyType({**self.how, **how})
        return Flag(self.names, more, self.variable, self.variable_first, self.among)

    @property
    def field(self) -> str:
        """The name of its value."""
        written = self.how.get("dest") or next(
            (name for name in self.names if name.startswith("--")), self.names[0]
        )
        return str(written).lstrip("-").replace("-", "_")

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling of it."""
        if self.how.get("action") != EITHER:
            return self.names
        return (*self.names, *(f"--no-{name.removeprefix('--')}" for name in self.names))

    @property
    def is_positional(self) -> bool:
        """Whether it is a positional argument."""
        return not self.names[0].startswith("-")

    @property
    def takes_value(self) -> bool:
        """Whether a value follows it."""
        return self.how.get("action") in (None, "append", ONCE)

    @property
    def is_switch(self) -> bool:
        """Whether it stands alone, without a value."""
        return self.how.get("action") == "store_true"


class Group:
    """A heading and its flags. `name` is the field of `Options` that holds what they say, if any does."""

    __slots__ = ("flags", "name", "title")

    def __init__(self, name: str, title: str, flags: tuple[Flag, ...]) -> None:
        self.name: Final = name
        self.title: Final = title
        self.flags: Final = flags


def flag(
    *names: str, variable: str = "", variable_first: bool = False, among: tuple[str, ...] = (), **how: Any
) -> Flag:
    """A row: `how` is what argparse is told."""
    return Flag(names, MappingProxyType(how), variable, variable_first, among)


def switch(*names: str, **how: Any) -> Flag:
    """A row for a flag without a value."""
    return flag(*names, action="store_true", **how)


def whole(text: str) -> int:
    """A whole number. Raises `WrongValue`."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        shown = text if len(text) <= 2 * MAX_DIGITS else f"{text[: 2 * MAX_DIGITS]}…"
        raise WrongValue(f"must be a whole number of at most {MAX_DIGITS} digits, not {shown!r}")
    return int(text)


def words(text: str) -> str:
    """Text that is not empty. Raises `WrongValue`."""
    if not text.strip():
        raise WrongValue("must not be empty")
    return text


def positive(text: str) -> int:
    """A whole number above 0. Raises `WrongValue`."""
    if (number := whole(text)) < 1:
        raise WrongValue("must be at least 1")
    return number


def temperature(text: str) -> float:
    """A number from 0.0 to 2.0. Raises `WrongValue`."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 2.0:
        raise WrongValue(f"must be between 0.0 and 2.0, not {text!r}")
    return number
