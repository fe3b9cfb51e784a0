"""Making a text smaller while it still shows what it showed."""

from __future__ import annotations

from collections.abc import Callable

_MAX_TRIES = 300


def shrink(text: str, shows: Callable[[str], bool]) -> str:
    """The shortest text that leaving out pieces, ever smaller ones, leads to."""
    tries, size = 0, max(len(text) // 2, 1)
    while size and tries < _MAX_TRIES:
        at = 0
        while at < len(text) and tries < _MAX_TRIES:
            shorter = text[:at] + text[at + size :]
            tries += 1
            if shorter and shows(shorter):
                text = shorter
            else:
                at += size
        size //= 2
    return text
