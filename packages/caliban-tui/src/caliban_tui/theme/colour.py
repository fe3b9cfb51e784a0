"""Colours: how a person writes them, how a terminal of few colours shows them, how far apart two are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from caliban_common.lazy import lazy_pattern

ColourDepth: TypeAlias = Literal["none", "16", "256", "true"]
"""How many colours a terminal has."""

NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_HEX: Final = lazy_pattern("#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_LEVELS: Final = (0, 95, 135, 175, 215, 255)


class Rgb(NamedTuple):
    """Red, green and blue, each from 0 to 255."""

    red: int
    green: int
    blue: int

    @property
    def is_dark(self) -> bool:
        """Whether light text is read better on it."""
        return contrast(self, WHITE) > contrast(self, BLACK)


BLACK: Final = Rgb(0, 0, 0)
WHITE: Final = Rgb(255, 255, 255)
_XTERM: Final = (
    Rgb(0, 0, 0),
    Rgb(205, 0, 0),
    Rgb(0, 205, 0),
    Rgb(205, 205, 0),
    Rgb(0, 0, 238),
    Rgb(205, 0, 205),
    Rgb(0, 205, 205),
    Rgb(229, 229, 229),
    Rgb(127, 127, 127),
    Rgb(255, 0, 0),
    Rgb(0, 255, 0),
    Rgb(255, 255, 0),
    Rgb(92, 92, 255),
    Rgb(255, 0, 255),
    Rgb(0, 255, 255),
    Rgb(255, 255, 255),
)
INDEX: Final[Mapping[str, int]] = MappingProxyType(
    {name: number for number, name in enumerate(NAMES)}
    | {f"bright-{name}": number + 8 for number, name in enumerate(NAMES)}
    | {"grey": 8, "gray": 8}
)


def colour(text: str) -> Rgb | int | None:
    """What a person calls a colour: `#rrggbb`, `#rgb`, a name such as `bright-red`, an index of 0 to 255."""
    if _HEX.fullmatch(text):
        digits = text[1:] if len(text) == 7 else "".join(digit * 2 for digit in text[1:])
        return Rgb(*(int(digits[place : place + 2], 16) for place in (0, 2, 4)))
    if text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 255:
        return int(text)
    return INDEX.get(text)


def parameters(shown: Rgb | int, depth: ColourDepth, *, background: bool = False) -> str:
    """The SGR parameters that come nearest to a colour."""
    if depth == "none":
        return ""
    if isinstance(shown, Rgb):
        if depth == "true":
            return f"{48 if background else 38};2;{shown.red};{shown.green};{shown.blue}"
        shown = nearest(shown) if depth == "256" else nearest_of_16(shown)
    if depth == "16" and shown > 15:
        shown = nearest_of_16(of_index(shown))
    if shown > 15:
        return f"{48 if background else 38};5;{shown}"
    return str((40 if background else 30) + shown if shown < 8 else (100 if background else 90) + shown - 8)


def nearest(rgb: Rgb) -> int:
    """The index from 16 to 255 that is nearest: those below are a person's own."""
    return min(range(16, 256), key=lambda index: _distance(of_index(index), rgb))


def nearest_of_16(rgb: Rgb) -> int:
    """The nearest of the first 16, as xterm shows them."""
    return min(range(16), key=lambda index: _distance(_XTERM[index], rgb))


def of_index(index: int) -> Rgb:
    """What xterm shows for an index of 0 to 255."""
    if index < 16:
        return _XTERM[index]
    if index >= 232:
        return Rgb(*(8 + 10 * (index - 232),) * 3)
    index -= 16
    return Rgb(_LEVELS[index // 36], _LEVELS[index // 6 % 6], _LEVELS[index % 6])


def contrast(one: Rgb, other: Rgb) -> float:
    """How well one is read on the other, from 1 to 21 (WCAG 2.2, contrast ratio); text wants 4.5."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(rgb: Rgb) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in rgb)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _distance(one: Rgb, other: Rgb) -> int:
    """Weighed as the eye does, nearly."""
    red, green, blue = (a - b for a, b in zip(one, other, strict=True))
    return 2 * red * red + 4 * green * green + 3 * blue * blue
