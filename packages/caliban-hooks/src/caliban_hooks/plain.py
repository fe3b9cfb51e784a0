"""A hook's output without control characters: it cannot move a cursor, hide or reorder text."""

from __future__ import annotations

import re
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_common.text import clean

_CONTROLS: Final = lazy_pattern(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursors
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, clipboards
    r"|\x1b."
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]",
    re.DOTALL,
)


def plain(text: str, *, max_chars: int) -> str:
    """`text` without control characters but for tabs and line feeds, at most `max_chars` of it."""
    return _CONTROLS.sub("", clean(text[: 2 * max_chars]))[:max_chars]
