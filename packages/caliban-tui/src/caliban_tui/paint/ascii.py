"""Text for a terminal or a locale without Unicode: marks that look alike, in as many cells."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban_tui.line import ScreenLine
from caliban_tui.width import cells, graphemes

_ALIKE: Final = (
    ("*", "●•◦∙◆■▪★✱✶✻✽"),
    ("o", "○◯◇□▫☐"),
    ("x", "✗✘✕×⊘⊗☒☓☑"),
    ("+", "✓✔☑┌┐└┘├┤┬┴┼╭╮╯╰╔╗╚╝╠╣╦╩╬"),
    ("|", "│┃║▏▌▎▍▋▊▉▕┆┊"),
    ("-", "─━═┄┈·–—‒‐‑−⋯"),
    ("~", "…"),
    (">", "→▶▸❯›⏵»⇒⟩▷"),
    ("<", "←◀◂❮‹«⇐⟨◁"),
    ("^", "↑▲▴⇑△"),
    ("v", "↓▼▾⇓▽⌄"),
    ("#", "█▓▒░▀▄▐"),
    ("'", "‘’′"),
    ('"', "“”„″"),
    ("\\", "⎿"),
    (" ", "\u00a0\u2002\u2003\u2009\u202f"),
    ("/", "⠸⠴⠇"),
    ("?", "¿"),
    ("!", "⚠"),
)
ALIKE: Final[Mapping[str, str]] = MappingProxyType(
    {char: mark for mark, chars in _ALIKE for char in chars}
    | dict(zip("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\|/-\\|/", strict=True))
)


def as_sent(line: ScreenLine, *, unicode: bool) -> ScreenLine:
    """`line` as a terminal gets it, to be measured: what was a wide character is two, which may be parted."""
    if unicode:
        return line
    return tuple(segment._replace(text=ascii_text(segment.text)) for segment in line)


def ascii_text(text: str) -> str:
    """`text` in ASCII, as wide as before; what has no mark that looks alike is a `?`.

    >>> ascii_text("● ran → naïve 漢…")
    '* ran > na?ve ??~'
    """
    if text.isascii():
        return text
    shown = []
    for grapheme in graphemes(text):
        width = cells(grapheme)
        if grapheme.isascii():
            shown.append(grapheme)
        elif grapheme in ALIKE:
            shown.append(ALIKE[grapheme].ljust(width))
        else:
            shown.append("?" * width)
    return "".join(shown)
