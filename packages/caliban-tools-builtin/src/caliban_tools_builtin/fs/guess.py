"""Whether a file may get characters in an encoding that was only guessed.

Every byte is a character of windows-1252, so text in any older encoding can be read as that, shown and kept.
To write a new character is another matter: in a file that is really Shift-JIS, GBK, EUC-KR or Cyrillic it
would be a byte of something else. So new characters beyond ASCII must stand in the file already, or the file
must look like western text throughout.
"""

from __future__ import annotations

import re

from caliban_common.lazy import lazy_pattern
from caliban_tools_builtin.errors import FileRefused
from caliban_tools_builtin.fs.text import TextFormat

_EAST_ASIAN = ("shift_jis", "euc_jp", "gb18030", "euc_kr", "big5")
_MAX_BYTES = 5_000_000
_WITH_NEXT = lazy_pattern(r"[^\x00-\x7f]+[^\r\n]?")
"""With what follows: in some encodings that is the other half of a character."""
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]+")
_LETTER = "[À-ÖØ-öø-ÿŠŒŽšœžŸ]"
_NONE_BEFORE, _NONE_AFTER = r"(?<![^\x00-\x7f])", r"(?![^\x00-\x7f])"
_WESTERN = re.compile(
    rf"(?<=[A-Za-z]){_LETTER}{{1,2}}(?=[A-Za-z])"  # accents within a word
    rf"|{_NONE_BEFORE}(?:(?<=[A-Za-z]){_LETTER}|{_LETTER}(?=[A-Za-z])|\b[àÀéèÉêôóÓ]\b){_NONE_AFTER}"
    rf"|(?<=[A-Za-z])’(?={_LETTER}?[a-z])|(?<=\s)[–—](?=\s)|(?<=\w)…(?=\s|$)"
    r"|(?:(?<=[\s\d])|^)[€£°§©®](?=[\s\d]|$)"
    r"|(?:(?<=[\s(])|^)[“«‘](?=[\sA-Za-z])|(?<=[\sA-Za-z.,!?])[”»](?=[\s.,;:)!?]|$)"
)


def check_added(old: str, new: str, form: TextFormat, shown: str) -> None:
    """Raise `FileRefused` where `new`, put into a file of text `old`, may be in another encoding."""
    if form.encoding != "windows-1252":
        return
    there = set(_WITH_NEXT.findall(old))
    added = [run for run in _WITH_NEXT.findall(new) if run not in there]
    if not added or _looks_western(old):
        return
    raise FileRefused(
        f"{shown} is not UTF-8 but was read as windows-1252, which is a guess: "
        f"{added[0][:20]!r} cannot be written into it",
        hint="use ASCII characters, or convert the file to UTF-8 first",
    )


def check_whole(before: bytes, after: bytes, old: str, form: TextFormat, shown: str) -> None:
    """Raise `FileRefused` where a change tears characters of an East Asian encoding apart."""
    if form.encoding != "windows-1252" or len(before) > _MAX_BYTES or _looks_western(old):
        return
    fitting = [name for name in _EAST_ASIAN if _decodes(before, name)]
    if fitting and not any(_decodes(after, name) for name in fitting):
        raise FileRefused(
            f"{shown} seems to be {fitting[0]} text, which this change would damage",
            hint="replace whole lines, or convert the file to UTF-8 first",
        )


def _looks_western(text: str) -> bool:
    """Whether most of what is not ASCII stands as in western text: accents in words, marks beside blanks."""
    western = len(_WESTERN.findall(text))
    return western > 0 and western * 4 >= 3 * len(_BEYOND_ASCII.findall(text))


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
