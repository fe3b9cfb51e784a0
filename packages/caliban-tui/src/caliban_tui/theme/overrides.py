"""Themes as Claude Code writes them: a base, and `overrides` of tokens, some of which are roles here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.errors import ThemeError
from caliban_tui.theme.colour import INDEX, colour

TOKENS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "claude": ("working", "{}"),
        "text": ("reply", "{}"),
        "inactive": ("dim", "{}"),
        "subtle": ("rule", "{}"),
        "suggestion": ("match", "bold {}"),
        "permission": ("info", "{}"),
        "planMode": ("mode", "{}"),
        "promptBorder": ("prompt", "bold {}"),
        "bashBorder": ("tool", "{}"),
        "merged": ("agent", "{}"),
        "ide": ("link", "underline {}"),
        "success": ("success", "{}"),
        "error": ("error", "{}"),
        "warning": ("warning", "{}"),
        "diffAdded": ("added", "on {}"),
        "diffRemoved": ("removed", "on {}"),
        "diffAddedWord": ("added_part", "on {}"),
        "diffRemovedWord": ("removed_part", "on {}"),
    }
)
"""A token, the role that it is here, and the words that its colour is put into. Others have no role."""
BASES: Final[Mapping[str, str]] = MappingProxyType({"dark-ansi": "terminal", "light-ansi": "terminal"})
_RGB: Final = lazy_pattern(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_INDEXED: Final = lazy_pattern(r"ansi256\(\s*(\d{1,3})\s*\)")
_NAMED: Final = lazy_pattern(r"ansi:([a-z]+)(Bright)?")


def roles_of(overrides: object, place: str) -> dict[str, str]:
    """The roles that `overrides` of the theme `place` are. Raises `ThemeError`."""
    if not isinstance(overrides, dict):
        raise ThemeError(f"{place}: overrides has to be a table")
    roles = {}
    for token, value in overrides.items():
        if token in TOKENS:
            role, words = TOKENS[token]
            roles[role] = words.format(_colour(value, token, place))
    return roles


def _colour(value: Any, token: str, place: str) -> str:
    """A colour as it is written here."""
    if isinstance(value, str):
        match = _RGB.fullmatch(value)
        if match is not None and all(int(part) <= 255 for part in match.groups()):
            return "#{:02x}{:02x}{:02x}".format(*map(int, match.groups()))
        if (match := _INDEXED.fullmatch(value)) is not None and int(match[1]) <= 255:
            return match[1]
        if (match := _NAMED.fullmatch(value)) is not None:
            name = f"bright-{match[1]}" if match[2] else match[1]
            if name in INDEX:
                return name
        if value.startswith("#") and colour(value) is not None:
            return value
    raise ThemeError(
        f"{place}: {token} is {value!r}; expected are #rrggbb, rgb(r,g,b), ansi256(n) or ansi:name"
    )
