"""Text to be judged by a person: nothing in it is hidden, nothing looks like something else."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from caliban_tui.width import cells, graphemes

CONTROL: Final = "[\x00-\x09\x0b-\x1f\x7f]"

SCRIPTS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts with letters that look like Latin ones."""

TWINS: Final = frozenset("аеорсухіјѕԁԛԝһӏАВЕКМНОРСТХІЈЅԌԚԜοναικρτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Letters of them that nobody tells from a Latin one; a word of nothing else is no word to be trusted."""


def visible(text: str, *, tab: str = "\\t") -> str:
    """`text` with control, bidi, invisible and look-alike characters written out, as `<U+202E>`.

    Newlines stay, and a tab is written as `tab`.
    """
    if not text.isascii():
        return "\n".join(_of_line(line, tab) for line in text.split("\n"))
    if text.isprintable() or not re.search(CONTROL, text):
        return text
    return re.sub(CONTROL, lambda match: tab if match[0] == "\t" else f"\\x{ord(match[0]):02x}", text)


def _of_line(line: str, tab: str) -> str:
    if line.isascii():
        return visible(line, tab=tab)
    mixed = _mixed(line)
    return "".join(tab if char == "\t" else _shown(char, place in mixed) for place, char in enumerate(line))


def broken(text: str, columns: int) -> tuple[str, ...]:
    """`text`, without control characters, in pieces of at most `columns` cells: nothing of it is left out."""
    columns = max(columns, 2)
    pieces = []
    for line in text.split("\n"):
        if line.isascii():
            pieces += [line[at : at + columns] for at in range(0, len(line) or 1, columns)]
            continue
        piece, used = "", 0
        for grapheme in graphemes(line):
            width = cells(grapheme)
            if used + width > columns:
                pieces.append(piece)
                piece, used = "", 0
            piece, used = piece + grapheme, used + width
        pieces.append(piece)
    return tuple(pieces)


def _shown(char: str, looks_like: bool) -> str:
    if ord(char) < 0xA0:
        return char if char.isprintable() else f"\\x{ord(char):02x}"
    if unicodedata.category(char)[0] in "CZ" or char in "\u034f\u115f\u1160\u2800\u3164\uffa0\u17b4\u17b5":
        return f"<U+{ord(char):04X}>"
    if unicodedata.category(char) == "Mn" and ("\ufe00" <= char <= "\ufe0f" or char >= "\U000e0100"):
        return f"<U+{ord(char):04X}>"
    folds = unicodedata.normalize("NFKC", char)
    if looks_like or (folds != char and folds.isascii()):
        return f"{char}<U+{ord(char):04X}>"
    return char


def _mixed(text: str) -> frozenset[int]:
    """Where a letter of another script stands in a word that reads as one of Latin letters."""
    places: set[int] = set()
    start = 0
    for end in range(len(text) + 1):
        if end < len(text) and not text[end].isspace():
            continue
        word = text[start:end]
        letters = [char for char in word if char.isalpha()]
        if not word.isascii() and (any(map(str.isascii, letters)) or all(char in TWINS for char in letters)):
            places.update(start + place for place, char in enumerate(word) if _script(char) in SCRIPTS)
        start = end + 1
    return frozenset(places)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
