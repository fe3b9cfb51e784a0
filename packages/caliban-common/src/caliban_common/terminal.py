"""Text as a terminal may show it: whatever would steer the terminal, or hide text, becomes a visible escape.

Escape sequences begin with one of these characters, so none survives. Line feeds and tabs stay, and a
carriage return before a line feed; joiners stay, for scripts and emoji need them.
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


def visible(text: str) -> str:
    """`text` with what steers terminals as `\\x1b` or `\\u202e`; inside JSON text it stays JSON."""
    return re.sub(_STEERING, _escaped, text)  # compiled by the first text for a terminal


class TerminalText:
    """One text on its way to a terminal in pieces: a carriage return waits for what follows it."""

    def __init__(self) -> None:
        self._waits = False

    def feed(self, piece: str) -> str:
        """What to show of `piece`."""
        text = "\r" + piece if self._waits else piece
        self._waits = text.endswith("\r")
        return visible(text[:-1] if self._waits else text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x80:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
