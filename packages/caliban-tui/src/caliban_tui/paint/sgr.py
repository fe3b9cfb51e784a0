"""Lines as bytes, in the colours of a theme."""

from __future__ import annotations

from caliban_tui.images import GRAPHICS
from caliban_tui.line import ScreenLine
from caliban_tui.theme import Theme


def encode_line(line: ScreenLine, theme: Theme) -> str:
    """A line with its colours; plain text at its end."""
    parts: list[str] = []
    for segment in line:
        if segment.style == GRAPHICS:
            parts.append(segment.link)
            continue
        parameters = theme.sgr(segment.style)
        text = f"\x1b[{parameters}m{segment.text}\x1b[m" if parameters else segment.text
        if segment.link:
            text = f"\x1b]8;;{segment.link}\x1b\\{text}\x1b]8;;\x1b\\"
        parts.append(text)
    return "".join(parts)
