"""Lines as text for a terminal, in the colours of a theme."""

from __future__ import annotations

from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.clean import in_line
from caliban_tui.images import GRAPHICS
from caliban_tui.line import ScreenLine
from caliban_tui.paint.ascii import ascii_text
from caliban_tui.theme import Theme

_ADDRESS: Final = lazy_pattern("[!-~]{1,2000}")


def encode_line(line: ScreenLine, theme: Theme) -> str:
    """A line with its colours; plain text at its end. Whatever it holds, nothing else in it is obeyed."""
    parts: list[str] = []
    for segment in line:
        if segment.style == GRAPHICS:
            parts.append(segment.link)
            continue
        text = in_line(segment.text)
        if not text:
            continue
        if not theme.unicode:
            text = ascii_text(text)
        parameters = theme.sgr(segment.style)
        if parameters:
            text = f"\x1b[{parameters}m{text}\x1b[m"
        if segment.link and theme.links and _ADDRESS.fullmatch(segment.link):
            text = f"\x1b]8;;{segment.link}\x1b\\{text}\x1b]8;;\x1b\\"
        parts.append(text)
    return "".join(parts)
