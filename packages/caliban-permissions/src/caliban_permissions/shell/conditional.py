"""`[[ … ]]` where `[ … ]` says the same: it is read, and printed, as that.

Inside `[[` nothing is split or looked up as a pattern of files, so words of which that would show are left to
doubt, and with them what only `[[` has: patterns, `=~`, `&&`, arithmetic, `-v`.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Sequence

from caliban_permissions.shell.line import Segment, Word

OPENER, CLOSER = "[[", "]]"
_UNARY = frozenset("-e -f -d -r -w -x -s -L -h -S -p -b -c -u -g -k -n -z -O -G".split())
_BINARY = frozenset("= == != -nt -ot -ef".split())


def as_test(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """The words from `[[` to `]]` as those of `[`; `None` where that could mean something else."""
    inner = list(words[1:-1])
    if inner and inner[0].raw == "!":
        del inner[0]
    match [word.raw for word in inner]:
        case [operator, _] if operator in _UNARY:
            operands = inner[1:]
        case [_, operator, _] if operator in _BINARY:
            operands = [inner[0], inner[2]]
        case _:
            return None
    if not all(map(_is_one_word, operands)):
        return None
    return (_bare(words[0], "["), *words[1:-1], _bare(words[-1], "]"))


def _is_one_word(word: Word) -> bool:
    """Whether it is the same one word outside of `[[`, and no operator there."""
    if word.glob is not None or word.segments is None or "{" in word.raw:
        return False
    if word.text in _BINARY | _UNARY or word.text in ("", "!", "(", ")", "-a", "-o", "-t", "-v", "-R", "-N"):
        return False
    return all(segment.kind == "text" or segment.quoted for segment in word.segments)


def _bare(word: Word, text: str) -> Word:
    return Word(text, text, word.start, word.end, segments=(Segment("text", text),))
