"""Calling a person who looks elsewhere, and the title of the window."""

from __future__ import annotations

from caliban_common.text import one_line
from caliban_tui.clean import neutral
from caliban_tui.options import NotifyBy

MAX_CHARS = 120
BELL = b"\a"


def call(text: str, by: NotifyBy) -> bytes:
    """What is sent for a person to hear of `text`, or to see it on the desktop."""
    shown = _shown(text)
    note = f"\x1b]9;{shown}\x1b\\".encode() if by in ("both", "osc9") and shown else b""
    return note + (BELL if by in ("both", "bell") else b"")


def title(text: str) -> bytes:
    """What names the window; the name from before is kept by the terminal until `title_back`."""
    return f"\x1b[22;2t\x1b]2;{_shown(text)}\x1b\\".encode()


TITLE_BACK = b"\x1b[23;2t"
"""Gives the window the name that it had."""


def _shown(text: str) -> str:
    """Words that end no sequence, and that no terminal takes for a command (OSC 9;4 is progress)."""
    shown = one_line(neutral(text), max_chars=MAX_CHARS)
    return f" {shown}" if shown[:1].isdigit() else shown
