"""Keys that terminals tell as numbers: `CSI u` of kitty's protocol, and xterm's modifyOtherKeys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban_common.lazy import lazy_pattern

KITTY: Final = lazy_pattern(r"\x1b\[(\d+)(?::(\d*))?(?::\d*)?(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u")
OTHER_KEY: Final = lazy_pattern(r"\x1b\[27;(\d+);(\d+)~")
FUNCTION_KEY: Final = lazy_pattern(r"\x1b\[(\d+);(\d+)(?::(\d+))?([A-DFHPQS~])")

SHIFT, ALT, CTRL, SUPER, HYPER, META = 1, 2, 4, 8, 16, 32
LOCKS: Final = 64 | 128
RELEASED: Final = "3"

NAMED: Final[Mapping[int, str]] = MappingProxyType(
    {
        8: "backspace",
        9: "tab",
        13: "enter",
        27: "escape",
        127: "backspace",
        57414: "enter",
        57417: "left",
        57418: "right",
        57419: "up",
        57420: "down",
        57421: "pageup",
        57422: "pagedown",
        57423: "home",
        57424: "end",
        57425: "insert",
        57426: "delete",
    }
)
KEYPAD: Final[Mapping[int, str]] = MappingProxyType(
    {
        **{57399 + digit: str(digit) for digit in range(10)},
        **dict(zip(range(57409, 57414), "./*-+", strict=True)),
        57415: "=",
        57416: ",",
    }
)
PRIVATE: Final = range(57344, 63744)
"""Code points that kitty gives to keys which have no character."""


def extended_key(sequence: str) -> str | None:
    """The name of the key that `sequence` tells, empty for none of use; `None` for any other sequence."""
    if match := OTHER_KEY.fullmatch(sequence):
        return key_name(int(match[2]), int(match[1]) - 1)
    if match := KITTY.fullmatch(sequence):
        modifiers = int(match[3] or 1) - 1
        if match[4] == RELEASED:
            return ""
        code = int(match[1])
        if modifiers & SHIFT and match[2]:
            code = int(match[2])
        return key_name(code, modifiers)
    return None


def without_locks(sequence: str) -> str | None:
    """The sequence of an arrow or another key of function as all terminals send it; `None` for a release."""
    match = FUNCTION_KEY.fullmatch(sequence)
    if match is None or match[1] == "27":
        return sequence
    if match[3] == RELEASED:
        return None
    modifiers = max(int(match[2]) - 1, 0) & ~LOCKS
    number = "" if match[1] == "1" and match[4] != "~" else match[1]
    if not modifiers:
        return f"\x1bO{match[4]}" if match[4] in "PQS" else f"\x1b[{number}{match[4]}"
    return f"\x1b[{match[1]};{modifiers + 1}{match[4]}"


def key_name(code: int, modifiers: int) -> str:
    """The name of the key with this code point and these modifiers; empty for what means nothing to us."""
    if modifiers & (SUPER | HYPER | META) or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return ""
    alt = "a-" if modifiers & ALT else ""
    named = NAMED.get(code)
    if named is not None:
        return _named(named, modifiers)
    character = KEYPAD.get(code) or ("" if code in PRIVATE or code < 32 else chr(code))
    if not character or re.match("[\x7f-\x9f]", character):
        return ""
    if not modifiers & CTRL:
        upper = character.upper()
        return alt + (upper if modifiers & SHIFT and len(upper) == 1 else character)
    if character == " ":
        return f"{alt}c-space"
    if modifiers & SHIFT and character.isalpha():
        return ""
    character = character.lower()
    if character == "[":
        return "escape"
    return f"{alt}{CONTROLS.get(character, f'c-{character}')}" if character in CTRL_KEYS else ""


CONTROLS: Final[Mapping[str, str]] = MappingProxyType(
    {"i": "tab", "m": "enter", "h": "backspace", "/": "c-_", "?": "backspace", "@": "c-space"}
)
"""Keys that are one with others wherever terminals send characters: a person means the same by them."""

CTRL_KEYS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789\\]^_/?@")


def _named(name: str, modifiers: int) -> str:
    alt = "a-" if modifiers & ALT else ""
    match name:
        case "enter":
            return "c-enter" if modifiers & CTRL else "s-enter" if modifiers & SHIFT else f"{alt}enter"
        case "tab":
            return "" if modifiers & CTRL else "s-tab" if modifiers & SHIFT else f"{alt}tab"
        case "escape":
            return "escape"
        case "backspace":
            return "a-backspace" if modifiers & (CTRL | ALT) else "backspace"
    return f"{'c-' if modifiers & CTRL else ''}{'s-' if modifiers & SHIFT else ''}{name}"
