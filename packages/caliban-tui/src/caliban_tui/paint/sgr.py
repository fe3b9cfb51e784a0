"""Lines as text for a terminal, in the colours of a theme."""

from __future__ import annotations

from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.clean import in_line
from caliban_tui.line import ScreenLine
from caliban_tui.paint.ascii import ascii_text
from caliban_tui.render.images import GRAPHICS
from caliban_tui.theme.theme import Theme

_INK: Final = lazy_pattern("(?:(?:[0123]|3[0-7]|9[0-7]|38;5;[0-9]+|38;2;[0-9]+;[0-9]+;[0-9]+)(?:;|$))+")
_ADDRESS: Final = lazy_pattern("[!-~]{1,2000}")


def encode_line(line: ScreenLine, theme: Theme) -> str:
    """A line with its colours; plain text at its end. Whatever it holds, nothing else in it is obeyed.

    Words of one style are sent as one, the blanks between them included where nothing shows on a blank.
    """
    parts: list[str] = []
    active = ""
    for segment in line:
        if segment.style == GRAPHICS:
            parts.append(segment.link)
            continue
        text = in_line(segment.text)
        if not text:
            continue
        if not theme.unicode:
            text = ascii_text(text)
        wanted = theme.sgr(segment.style)
        if wanted != active and not (text.isspace() and not wanted and _is_ink(active)):
            parts.append(f"\x1b[{'0;' if active and wanted else ''}{wanted}m")
            active = wanted
        if segment.link and theme.links and _ADDRESS.fullmatch(segment.link):
            text = f"\x1b]8;;{segment.link}\x1b\\{text}\x1b]8;;\x1b\\"
        parts.append(text)
    if active:
        parts.append("\x1b[m")
    return "".join(parts)


def _is_ink(parameters: str) -> bool:
    """Whether a blank looks the same with it: no underline, reverse or background."""
    return _INK.fullmatch(parameters) is not None
