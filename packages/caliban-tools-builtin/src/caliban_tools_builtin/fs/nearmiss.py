"""What to tell a model whose old text is not in the file: where the closest text is, and how it differs."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from caliban_tools_builtin.fs.match import BLANKS, TextLine, split_lines
from caliban_tools_builtin.fs.text import with_feeds

MAX_LINES = 20_000
SHOWN_LINES = 40
"""Lines shown of either side."""
_SHOWN_CHARS = 500
_COMPARED_CHARS = 200
_LEAST_SHARE = 0.3


class NearMiss(Struct, frozen=True, kw_only=True):
    """The closest text: its first line (from 1), the two sides as a diff, and the reason if it is known."""

    line: int
    diff: str
    reason: str = ""


def nearest(text: str, old: str) -> NearMiss | None:
    """The text most like `old`; `None` when nothing is like it or the file has more than `MAX_LINES`."""
    text = with_feeds(text)
    lines = split_lines(text) if text.count("\n") <= MAX_LINES else []
    wanted = [line.removesuffix("\r") for line in old.removesuffix("\n").split("\n")]
    if not lines or not any(line.strip(BLANKS) for line in wanted):
        return None
    stripped = [line.text.strip(BLANKS) for line in lines]
    anchor = _anchor(stripped, [line.strip(BLANKS) for line in wanted])
    if anchor is None:
        return None
    first = min(max(anchor, 0), len(lines) - 1)
    window = lines[first : first + len(wanted)]
    diff = _diff(wanted[:SHOWN_LINES], [line.text for line in window][:SHOWN_LINES])
    return NearMiss(line=first + 1, diff=diff, reason=_indent_reason(window, wanted))


def _anchor(lines: list[str], wanted: list[str]) -> int | None:
    """The line of the file at which `wanted` would begin."""
    from difflib import SequenceMatcher

    same = SequenceMatcher(None, lines, wanted, autojunk=False)
    if len(lines) * len(wanted) > 2_000_000:
        same = SequenceMatcher(None, lines, wanted)  # frequent lines are left out: no quadratic search
    block = same.find_longest_match()
    if block.size and any(lines[block.a : block.a + block.size]):
        return block.a - block.b
    key = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    alike = _most_alike(lines, wanted[key])
    return None if alike is None else alike - key


def _most_alike(lines: list[str], wanted: str) -> int | None:
    """The line that shares most pairs of characters with `wanted`; linear, however long the lines are."""
    pairs = _pairs(wanted)
    best, best_share = None, _LEAST_SHARE
    for index, line in enumerate(lines):
        if not line:
            continue
        here = _pairs(line)
        share = 2 * len(pairs & here) / (len(pairs) + len(here) or 1)
        if share > best_share:
            best, best_share = index, share
    return best


def _pairs(line: str) -> set[tuple[str, str]]:
    line = line[:_COMPARED_CHARS]
    return set(pairwise(line))


def _diff(wanted: list[str], window: list[str]) -> str:
    from difflib import SequenceMatcher

    wanted, window = [line[:_SHOWN_CHARS] for line in wanted], [line[:_SHOWN_CHARS] for line in window]
    rows: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, wanted, window, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += (f"  {line}" for line in wanted[a:b])
        else:
            rows += (f"- {line}" for line in wanted[a:b])
            rows += (f"+ {line}" for line in window[c:d])
    return "\n".join(rows)


def _indent_reason(window: list[TextLine], wanted: list[str]) -> str:
    """Tabs against blanks: the one difference that a diff hides."""
    for line, want in zip(window, wanted, strict=False):
        if line.text.strip(BLANKS) != want.strip(BLANKS):
            continue
        has = "\t" in _indent(line.text)
        if has != ("\t" in _indent(want)):
            return f"the file uses {_name(has)} for indentation, old_string uses {_name(not has)}"
    return ""


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def _name(tabs: bool) -> str:
    return "tabs" if tabs else "spaces"
