"""Text of models, tools and files without anything that a terminal would obey.

The transcript strips: what is removed has no meaning for who reads. A question shows the same characters
escaped, by `caliban_common.terminal.visible`, for there a hidden one is what a person has to see.
"""

from __future__ import annotations

from typing import Final

from caliban_common.lazy import lazy_pattern

_SEQUENCE: Final = lazy_pattern(  # whole strings first
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x18\x1a\n\x80-\x9f]*+(?:\x07|\x1b\\\\|\x9c)"
    "|(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI; one that is cut loses its parameters too
    "|\x1b[ -/]*+[0-~]?"
)
"""A string that is never ended loses its beginning alone: it must not take what follows it from who reads."""

_HIDDEN: Final = (
    "\x80-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
"""C1, bidi and what is invisible, tags and variation selectors that nothing shows; joiners stay."""

CONTROL: Final = lazy_pattern(f"[\x00-\x09\x0b-\x1f\x7f{_HIDDEN}]")
_IN_LINE: Final = lazy_pattern(f"[\x00-\x1f\x7f{_HIDDEN}]")
_OVERSTRUCK: Final = lazy_pattern("(.)\x08\\1|_\x08(?=[^\x08])")
_BREAK: Final = lazy_pattern("\r++\n?|[\x0b\x0c\x85\u2028\u2029]")
LONE: Final = lazy_pattern("[\ud800-\udfff]")
_MARKS: Final = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc\u0e31-\u0e3a\u0e47-\u0e4e"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_PILED: Final = lazy_pattern(f"({_MARKS}{{16}}){_MARKS}++")


def neutral(text: str, *, tab: str = "    ") -> str:
    """`text` without escape sequences and control characters, bidi overrides among them; line feeds stay.

    Carriage returns, with a line feed or without, end a line: what they would overwrite stays to read.
    Of the marks that are piled on one character 16 stay; a lone surrogate becomes U+FFFD. Linear time.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub(r"\1", text)
    text = CONTROL.sub("", _BREAK.sub("\n", text.replace("\t", tab)))
    return text if text.isascii() else _PILED.sub(r"\1", LONE.sub("\ufffd", text))


def in_line(text: str) -> str:
    """What may stand within a line on its way to the terminal: nothing that it obeys, and no line feed."""
    if text.isascii() and text.isprintable():
        return text
    return LONE.sub("\ufffd", _IN_LINE.sub("", text))
