"""Edits of files: what the matcher finds, against a plain search that compares line by line."""

from __future__ import annotations

import random
from collections.abc import Iterator

from caliban_tools_builtin.fs.match import BLANKS, Matches, apply, find
from fuzzkit.main import Miss
from fuzzkit.shrink import shrink

_ROUND = 2000
_LINES = (
    "a",
    "b",
    "  a",
    "\ta",
    "a ",
    "",
    " ",
    "  b",
    "b\t",
    "é",
    "    a",
    "x a",
    "a\u2028b",
    "\fa",
    "\x0bb",
)
_ENDS = ("\n", "\n", "\n", "\r\n", "\r")


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Small files of few different lines, so that old text is often there, and nearly there."""
    while True:
        misses = []
        for _ in range(_ROUND):
            text, old, new = _text(pick, 8), _text(pick, 3), _text(pick, 2)
            if pick.random() < 0.5 and text:
                start = pick.randrange(len(text))
                old = text[start : start + pick.randrange(1, 8)]
            why = _wrong(text, old, new)
            if why:
                small = shrink(text, lambda shorter, o=old, n=new: bool(_wrong(shorter, o, n)))  # type: ignore[misc]
                misses.append(Miss(small, f"{why}: old {old!r}, new {new!r}"))
        yield _ROUND, misses


def _text(pick: random.Random, most: int) -> str:
    end = pick.choice(_ENDS)
    mixed = pick.random() < 0.2
    text = ""
    for _ in range(pick.randrange(most + 1)):
        text += pick.choice(_LINES) + (pick.choice(_ENDS) if mixed else end)
    return text if pick.random() < 0.6 else text.rstrip("\r\n")


def _wrong(text: str, old: str, new: str) -> str:
    match = find(text, old, new)
    if not old:
        return "" if match is None else "nothing was looked for, and found"
    if match is None:
        return "an exact text was not found" if old in text else _missed(text, old)
    if not _ordered(text, match):
        return "the spans overlap or reach beyond the text"
    if old in text:
        plain = "\n" not in new and "\r" not in new
        if match.tier != "exact":
            return "an exact match did not win"
        return (
            ""
            if not plain or apply(text, match.spans) == text.replace(old, new)
            else "another text was replaced"
        )
    for span in match.spans:
        if _bare(text[span.start : span.end]) != _bare(old):
            return f"a span is not the old text but for blanks: {text[span.start : span.end]!r}"
    return ""


def _ordered(text: str, match: Matches) -> bool:
    at = 0
    for span in match.spans:
        if not at <= span.start < span.end <= len(text):
            return False
        at = span.end
    return True


def _bare(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[-1].strip(BLANKS):
        lines.pop()
    return [line.strip(BLANKS) for line in lines]


def _missed(text: str, old: str) -> str:
    """Whether old text with the same indentation, and other blanks at line ends, stands in the file."""
    if "\r" in text or "\r" in old or not old.strip():
        return ""
    lines = [line.rstrip(BLANKS) for line in text.removesuffix("\n").split("\n")]
    wanted = [line.rstrip(BLANKS) for line in old.removesuffix("\n").split("\n")]
    if not any(wanted):
        return ""
    for first in range(len(lines) - len(wanted) + 1):
        if lines[first : first + len(wanted)] == wanted:
            return "a text that differs in blanks at line ends was not found"
    return ""
