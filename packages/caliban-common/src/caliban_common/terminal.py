"""Text as a terminal may show it: whatever would steer the terminal, or hide text, becomes a visible escape.

Escape sequences begin with one of these characters, so none survives. Line feeds and tabs stay, and a
carriage return before a line feed; joiners stay, for scripts and emoji need them. Of the marks that are piled
on one character a few stay: no script has more.
"""

from __future__ import annotations

import re
from typing import Final

_STEERING: Final = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 without tab, LF and CR; DEL; C1
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible
    "\U000e0000-\U000e0fff]"  # tags and variation selectors that nothing shows
    r"|\r(?!\n)"
)
MAX_MARKS: Final = 16
_MARK: Final = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc\u0e31-\u0e3a\u0e47-\u0e4e"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_PILED: Final = f"({_MARK}{{{MAX_MARKS}}}){_MARK}+"


def visible(text: str) -> str:
    """`text` with what steers terminals as `\\x1b` or `\\u202e`; inside JSON text it stays JSON."""
    text = re.sub(_STEERING, _escaped, text)  # compiled by the first text for a terminal
    return text if text.isascii() else re.sub(_PILED, r"\1", text)


class TerminalText:
    """One text on its way to a terminal in pieces: a carriage return waits for what follows it."""

    def __init__(self) -> None:
        self._waits = False
        self._marks = ""

    def feed(self, piece: str) -> str:
        """What to show of `piece`."""
        text = "\r" + piece if self._waits else piece
        self._waits = text.endswith("\r")
        shown = visible(text[:-1] if self._waits else text)
        if shown.isascii():
            self._marks = "" if shown else self._marks
            return shown
        before = self._marks
        whole = re.sub(_PILED, r"\1", before + shown)
        ends = re.search(f"{_MARK}*$", whole)
        self._marks = ends[0] if ends is not None else ""
        return whole[len(before) :]


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x80:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
