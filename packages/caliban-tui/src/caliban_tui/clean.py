"""Text of models, tools and files without anything that a terminal would obey."""

from __future__ import annotations

import re
from typing import Final

SEQUENCE: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def neutral(text: str, *, tab: str = "    ") -> str:
    """`text` without escape sequences and control characters, bidi overrides among them; newlines stay."""
    if text.isascii() and text.isprintable():
        return text
    text = SEQUENCE.sub("", text.replace("\r\n", "\n")).replace("\t", tab)
    return CONTROL.sub("", text)
