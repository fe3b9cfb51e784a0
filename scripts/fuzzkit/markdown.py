"""Replies in Markdown, cut anywhere: the same blocks, every word on the screen, no end without one."""

from __future__ import annotations

import random
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from caliban_tui.clean import in_line
from caliban_tui.line import ScreenLine, text_of
from caliban_tui.markdown.draw import markdown_lines
from caliban_tui.markdown.splitter import BLOCK_CHARS, LINE_CHARS, TABLE_CHARS, OpenReply, closed, fed
from caliban_tui.render.live import open_lines
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.blocks import ReplyBlock
from caliban_tui.transcript.view import ConversationView
from caliban_tui.width import cells, line_cells
from fuzzkit import hostile
from fuzzkit.main import Miss
from fuzzkit.shrink import shrink

_ROUND = 100
_CALLS_A_CHARACTER = 60
"""So many calls of functions a character may cost, whatever came before it."""

_STARTS = (
    "# ",
    "## ",
    "> ",
    ">",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "7) ",
    "    ",
    "\t",
    "  ",
    "   - ",
    "> - ",
    "- > ",
    "```",
    "~~~",
    "````",
)
_LINES = (
    "***",
    "---",
    "===",
    "| - | - |",
    "|:-:|",
    "-|-",
    "--|--|--",
    "```python",
    "```",
    "~~~ x",
    "> ```",
    "- ```",
    "",
    "",
    " ",
)
_INLINE = (
    *(
        "*",
        "**",
        "_",
        "__",
        "***",
        "`",
        "``",
        "~~",
        "~",
        "|",
        "|",
        "\\|",
        "[",
        "]",
        "(",
        ")",
        "](",
        "![",
        "<",
        ">",
        "!",
        "#",
    ),
    *(
        "\\",
        "\\\\",
        "&amp;",
        "&#1;",
        "&#x202e;",
        "&nbsp;",
        "http://a.b/",
        "<http://a.b>",
        "mailto:",
        '"',
        "'",
        "/*",
        '"""',
        ":",
        "- ",
        "1. ",
    ),
    *("<b>", "</b>", "<!--", "-->", "[x]", "[ ]", "[^1]", "[a]: ", "…", "  ", " ", " ", " "),
)
_ENDS = ("\n", "\n", "\n", "\n\n", "\r\n", "  \n", "\\\n", "\r", "\n\n\n")
_WORD = re.compile(r"q\d+z")
_LOST = re.compile(r"(?m)^[ \t>]*(?:(?:[-+*]|\d+[.)])[ \t>]*)*(?:`{3,}|~{3,}).*$")
"""The line that opens a fence: what it says of the language is not shown."""


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Replies of pieces of Markdown with words that are known again, and with hostile text."""
    while True:
        misses = []
        for number in range(_ROUND):
            if number % 25 == 24:
                text, law = _nested(pick), _too_dear
            else:
                text, law = (_reply(pick), _wrong)
            seed = pick.randrange(1 << 30)
            why = law(text, seed)
            if why:
                misses.append(Miss(_small(text, law, seed, why), why))
        yield _ROUND, misses


def _small(text: str, law: Callable[[str, int], str], seed: int, why: str) -> str:
    kind = why.partition(":")[0]
    return shrink(text, lambda shorter: law(shorter, seed).startswith(kind))


def _reply(pick: random.Random) -> str:
    parts: list[str] = []
    words = 0
    for _ in range(pick.randrange(1, 14)):
        if pick.random() < 0.3:
            parts += [pick.choice(_LINES), pick.choice(_ENDS)]
            continue
        while pick.random() < 0.4:
            parts.append(pick.choice(_STARTS))
        for _ in range(pick.randrange(6)):
            kind = pick.random()
            if kind < 0.45:
                words += 1
                parts.append(f"q{words}z" * (60 if pick.random() < 0.005 else 1))
            elif kind < 0.9:
                parts.append(pick.choice(_INLINE))
            else:
                parts.append(hostile.piece(pick))
        parts.append(pick.choice(_ENDS))
    text = "".join(parts)
    if pick.random() < 0.02:
        text = text * pick.choice((10, 100, 400))
    return text


def _nested(pick: random.Random) -> str:
    piece = "".join(pick.choice((*_STARTS, *_INLINE, "a", "\n")) for _ in range(pick.randrange(1, 4)))
    middle = "".join(pick.choice((*_INLINE, "a", "\n")) for _ in range(pick.randrange(3)))
    size = pick.choice((500, 2_000, 6_000))
    return (
        (piece * (size // len(piece) + 1))[:size]
        + middle
        + (piece[::-1] * (size // len(piece)) if pick.random() < 0.3 else "")
    )


def blocks_of(pieces: Sequence[str]) -> list[ReplyBlock]:
    """The blocks of a reply that comes in pieces."""
    reply, blocks = OpenReply(), []
    for piece in pieces:
        reply, done = fed(reply, piece)
        blocks += done
        if (
            len(reply.line) > LINE_CHARS
            or len(reply.block.text) > max(TABLE_CHARS, BLOCK_CHARS) + LINE_CHARS + 1
        ):
            raise AssertionError(
                f"too much stays open: {len(reply.line)} and {len(reply.block.text)} characters"
            )
    return [*blocks, *closed(reply)]


def _wrong(text: str, seed: int) -> str:
    pick = random.Random(seed)
    try:
        whole = blocks_of([text])
        cut = blocks_of(_pieces(pick, text))
        if cut != whole:
            number = next(
                (n for n, (one, other) in enumerate(zip(cut, whole, strict=False)) if one != other), -1
            )
            return f"chunks: in other pieces block {number} is {cut[number]} and not {whole[number]}"
        columns = pick.choice((1, 3, 8, 20, 40, 80, 80, 200))
        lines = [line for block in whole for line in _drawn(block, columns)]
        for line in lines:
            if in_line(text_of(line)) != text_of(line):
                return f"unclean: {text_of(line)!r}"
        lost = _lost(text, lines)
        if lost:
            return f"lost: {lost} at {columns} columns: {[text_of(line) for line in lines]}"[:800]
        return _open(pick, text, columns)
    except Exception:
        return f"raised: {traceback.format_exc(limit=-3)}"


def _drawn(block: ReplyBlock, columns: int, hard: bool = False) -> list[ScreenLine]:
    return markdown_lines(block.markdown, columns, ordinal=block.ordinal, fence=block.fence, hard=hard)


def _open(pick: random.Random, text: str, columns: int) -> str:
    """The live region while it comes: no line is too wide."""
    reply = fed(OpenReply(), text[: pick.randrange(len(text) + 1)])[0]
    size = ScreenSize(max(columns, 4), pick.choice((4, 24)))
    for line in open_lines(ConversationView(reply=reply, is_working=True), size, 1.0):
        if line_cells(line) > size.columns and any(cells(char) < 3 for char in text_of(line)):
            return f"wide: {line_cells(line)} cells in {size.columns} columns: {text_of(line)!r}"
    return ""


def _lost(text: str, lines: Sequence[ScreenLine]) -> list[str]:
    """Words of the source that are nowhere on the screen, however it broke them."""
    shown = "".join(text_of(line).replace(" ", "").replace("│", "") for line in lines)
    wanted = _WORD.findall(_LOST.sub("", _markless(text)))
    if "|" in text:  # the cells of a row may be broken side by side
        missing = Counter("".join(wanted)) - Counter(shown)
        return sorted(missing)[:5]
    return sorted({word for word in wanted if word not in shown})[:5]


def _markless(text: str) -> str:
    """Without what is no text: titles of links, and controls that may swallow a word."""
    if any(sign in text for sign in "\x1b\x90\x98\x9b\x9d\x9e\x9f\x08") or '"' in text or "'" in text:
        return ""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _pieces(pick: random.Random, text: str) -> list[str]:
    most = pick.choice((1, 3, 20, 200)) if len(text) < 3_000 else pick.choice((20, 200, 5_000))
    pieces, at = [], 0
    while at < len(text):
        step = pick.randrange(1, most + 1)
        pieces.append(text[at : at + step])
        at += step
    return pieces


def _too_dear(text: str, seed: int) -> str:
    """Something that goes on for ever, or that costs more the longer it is: calls are counted, not time."""
    limit = _CALLS_A_CHARACTER * len(text) + 20_000
    try:
        for piece in (1, 7):
            pieces = [text[at : at + piece] for at in range(0, len(text), piece)]
            if _calls(lambda pieces=pieces: blocks_of(pieces), limit):  # type: ignore[misc]
                return f"dear: splitting took more than {limit:,} calls"
        for block in blocks_of([text]):
            if _calls(lambda block=block: _drawn(block, 40), 20 * limit):  # type: ignore[misc]
                return f"dear: drawing took more than {20 * limit:,} calls"
    except Exception:
        return f"raised: {traceback.format_exc(limit=-3)}"
    return ""


class _TooMany(BaseException):
    """More calls than there may be."""


def _calls(work: Callable[[], object], limit: int) -> bool:
    """Whether it makes more calls than `limit`; it is ended then."""
    left = limit

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal left
        if event in ("call", "c_call"):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise _TooMany

    sys.setprofile(count)
    try:
        work()
    except _TooMany:
        return True
    finally:
        sys.setprofile(None)
    return False
