"""A reply split into blocks while it streams: what is closed never changes, however the text was cut.

Only whole lines are looked at, so the blocks depend on the text alone. A line above `LINE_CHARS` is broken,
an open block above `BLOCK_CHARS` is given up in parts: each delta costs the same in a reply of any size.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_tui.markdown.references import LinkReference, referring, with_reference
from caliban_tui.transcript.blocks import ReplyBlock

LINE_CHARS: Final = 8_192
BLOCK_CHARS: Final = 16_384
TABLE_CHARS: Final = 65_536
FENCE_LINES: Final = 16
"""An open fence of as many lines gives up its older half, at a place where no string or comment is open."""
FENCE_LINES_AT_MOST: Final = 64
PROSE_LINES: Final = 16
"""Likewise of a paragraph or a quotation, each line of which is drawn as a line."""

BlockKind: TypeAlias = Literal["", "prose", "item", "quote", "table", "fence", "indented"]

FENCE: Final = lazy_pattern(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
HEADING: Final = lazy_pattern(r" {0,3}#{1,6}(?:[ \t]|$)")
RULE: Final = lazy_pattern(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
UNDERLINE: Final = lazy_pattern(r" {0,3}(?:=+|-+)[ \t]*$")
ITEM: Final = lazy_pattern(r"( {0,3})([-+*]|(\d{1,9})[.)])([ \t]+|$)")
DELIMITERS: Final = lazy_pattern(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
STARTS: Final = frozenset(" \t#>`~-+*_=|:0123456789")
"""What a line begins with that may be more than prose."""


class OpenPart(Struct, frozen=True, kw_only=True):
    """The block at the open end of a reply: `text` are its whole lines, each with its line end.

    `is_joined` says that it stands directly below the one before. `mark` is the fence, or the sign of a list;
    `offset` is how far the text of an item is indented, `inner` the fence that is open within it.
    """

    kind: BlockKind = ""
    text: str = ""
    is_first: bool = True
    is_joined: bool = False
    mark: str = ""
    offset: int = 0
    ordinal: int = 0
    inner: str = ""
    has_gap: bool = False
    opening: str = ""
    quotes: str = ""
    settled: tuple[int, ...] = ()
    lines: int = 0
    is_rest: bool = False


class OpenReply(Struct, frozen=True, kw_only=True):
    """The open end of a reply: the line that has come in part, and the block that it may belong to.

    `references` are the addresses that were given names so far.
    """

    line: str = ""
    block: OpenPart = OpenPart()
    references: tuple[LinkReference, ...] = ()

    @property
    def text(self) -> str:
        """What is open, as Markdown."""
        return self.block.text + self.line


def fed(reply: OpenReply, text: str) -> tuple[OpenReply, tuple[ReplyBlock, ...]]:
    """The open end after `text` came, and the blocks that it closed."""
    line = reply.line + text
    if "\n" not in text and len(line) <= LINE_CHARS:
        return OpenReply(line=line, block=reply.block, references=reply.references), ()
    *lines, line = line.split("\n")
    block, references = reply.block, reply.references
    done: list[ReplyBlock] = []
    for whole in lines:
        count = len(done)
        while len(whole) > LINE_CHARS:
            block = _cut(_taken(block, whole[:LINE_CHARS], done), done)
            whole = whole[LINE_CHARS:]
        _refer(done, count, references)  # not by a name that the rest of the line gives
        count = len(done)
        if "]:" in whole and block.kind in ("", "prose"):
            references = with_reference(references, whole)
        block = _taken(block, whole, done)
        _refer(done, count, references)
    count = len(done)
    while len(line) > LINE_CHARS:
        block = _cut(_taken(block, line[:LINE_CHARS], done), done)
        line = line[LINE_CHARS:]
    _refer(done, count, references)
    return OpenReply(line=line, block=block, references=references), tuple(done)


def _refer(done: list[ReplyBlock], start: int, references: tuple[LinkReference, ...]) -> None:
    """Let the blocks from `start` on know the names that they may mean."""
    if references and len(done) > start:
        done[start:] = [referring(block, references) for block in done[start:]]


def closed(reply: OpenReply) -> tuple[ReplyBlock, ...]:
    """The blocks of a reply that has ended: all that is left of it."""
    done: list[ReplyBlock] = []
    references = reply.references
    if reply.line and reply.block.kind in ("", "prose"):
        references = with_reference(references, reply.line)
    block = _taken(reply.block, reply.line, done) if reply.line else reply.block
    _close(block, done)
    return tuple(referring(each, references) for each in done)


def _taken(block: OpenPart, line: str, done: list[ReplyBlock]) -> OpenPart:
    """The open block after a whole line."""
    line = line.removesuffix("\r")
    match block.kind:
        case "fence":
            return _in_fence(block, line, done)
        case "":
            return _begun(block, line, done)
        case "item":
            block = _in_item(block, line, done)
        case "indented":
            if not line.strip() or line.startswith(("    ", "\t")):
                block = _more(block, line, gap=not line.strip())
            else:
                block = _begun(_close(block, done), line, done)
        case _:
            block = _in_prose(block, line, done)
    limit = TABLE_CHARS if block.kind == "table" else BLOCK_CHARS
    if len(block.text) > limit:
        return _cut(block, done)
    if block.kind in ("prose", "quote") and block.text.count("\n") >= PROSE_LINES:
        end = _line_start(block.text, PROSE_LINES // 2)
        done.append(_finished(replace(block, text=block.text[:end])))
        return replace(block, text=block.text[end:], is_first=False, is_joined=True)
    return block


def _begun(block: OpenPart, line: str, done: list[ReplyBlock]) -> OpenPart:
    """A block that begins with `line`; nothing is open."""
    if not line or line.isspace():
        return replace(block, is_joined=False, has_gap=True) if block.is_joined else block
    if line[0] not in STARTS:
        return replace(block, kind="prose", text=f"{line}\n")
    if line.startswith(("    ", "\t")):
        return replace(block, kind="indented", text=f"{line}\n")
    fence = FENCE.match(line)
    if fence is not None:
        return replace(block, kind="fence", text=f"{line}\n", mark=fence[1], opening=line, lines=0, quotes="")
    if HEADING.match(line) or RULE.match(line):
        return _close(replace(block, kind="prose", text=f"{line}\n"), done)
    item = ITEM.match(line)
    if item is not None:
        return _item(replace(block, text=""), item, line)
    if line.lstrip(" ").startswith(">"):
        return replace(block, kind="quote", text=f"{line}\n")
    return replace(block, kind="prose", text=f"{line}\n")


def _in_prose(block: OpenPart, line: str, done: list[ReplyBlock]) -> OpenPart:
    """In a paragraph, a quote or a table."""
    if not line or line.isspace():
        return replace(_close(block, done), is_joined=False)
    if line[0] not in STARTS:
        return _more(block, line)
    if block.kind == "quote" and line.lstrip(" ").startswith(">"):
        return _more(block, line)
    if block.kind == "prose":
        if UNDERLINE.match(line):
            return _close(_more(block, line), done)
        if DELIMITERS.match(line) and cell_count(line) == cell_count(_last_line(block.text)):
            return _table(block, line, done)
    if _interrupts(line):
        return _begun(_close(block, done), line, done)
    return _more(block, line)


def _in_item(block: OpenPart, line: str, done: list[ReplyBlock]) -> OpenPart:
    """In an item of a list, which goes on with what is indented and with lines of its last paragraph."""
    if not line or line.isspace():
        return _more(block, line, gap=True)
    indent = len(line) - len(line.lstrip(" "))
    if indent >= block.offset or line[0] == "\t":
        fence = FENCE.match(line[block.offset :])
        inner = block.inner
        if fence is not None and (not inner or _closes(line[block.offset :], inner)):
            inner = "" if inner else fence[1]
        return replace(_more(block, line), inner=inner)
    item = None if RULE.match(line) else ITEM.match(line)
    if item is not None:
        return _item(_close(block, done), item, line, before=block)
    if block.has_gap or block.inner or _interrupts(line):
        return _begun(replace(_close(block, done), is_joined=not block.has_gap), line, done)
    return _more(block, line)


def _item(block: OpenPart, match: re.Match[str], line: str, *, before: OpenPart | None = None) -> OpenPart:
    """An item that begins; behind one of the same list it has the next number."""
    mark = match[2][-1]
    goes_on = before is not None and before.mark == mark
    number = int(match[3]) if match[3] else 0
    spaces = len(match[4].expandtabs(4))
    offset = len(match[1]) + len(match[2]) + (spaces if 1 <= spaces <= 4 and match.end() < len(line) else 1)
    joined = not before.has_gap if before is not None else block.is_joined
    fence = FENCE.match(line[match.end() :])
    return replace(
        block,
        kind="item",
        text=f"{line}\n",
        mark=mark,
        ordinal=before.ordinal + 1 if goes_on and before is not None and match[3] else number,
        offset=offset,
        inner=fence[1] if fence is not None else "",
        has_gap=False,
        is_joined=joined,
    )


def _table(block: OpenPart, line: str, done: list[ReplyBlock]) -> OpenPart:
    """A table, whose header is the last line of the paragraph so far."""
    header = _last_line(block.text)
    above = block.text[: -len(header) - 1]
    if above:
        block = _close(replace(block, text=above), done)
    opening = f"{header}\n{line}\n"
    return replace(block, kind="table", text=opening, opening=opening)


def _in_fence(block: OpenPart, line: str, done: list[ReplyBlock]) -> OpenPart:
    if _closes(line, block.mark):
        return _close(_more(block, line), done)
    quotes = _quotes(block.quotes, line)
    block = replace(_more(block, line), lines=block.lines + 1, quotes=quotes)
    if not quotes:
        block = replace(block, settled=(*block.settled[-FENCE_LINES:], len(block.text)))
    if block.lines < FENCE_LINES and len(block.text) <= BLOCK_CHARS:
        return block
    return _relieved(block, done)


def _relieved(block: OpenPart, done: list[ReplyBlock]) -> OpenPart:
    """A long fence without its older half."""
    at_most = _line_start(block.text, FENCE_LINES // 2)
    ends = [end for end in block.settled if end <= at_most]
    if ends:
        end = ends[-1]
    elif block.lines >= FENCE_LINES_AT_MOST or len(block.text) > BLOCK_CHARS:
        end = at_most or len(block.text)
    else:
        return block
    done.append(_finished(replace(block, text=block.text[:end])))
    rest = block.text[end:]
    settled = tuple(place - end for place in block.settled if place > end)
    return replace(
        block,
        text=rest,
        lines=rest.count("\n"),
        settled=settled,
        is_first=False,
        is_joined=True,
        is_rest=True,
    )


def _line_start(text: str, count: int) -> int:
    """Where the last `count` lines of `text` begin."""
    place = len(text)
    for _ in range(count + 1):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _quotes(opened: str, line: str) -> str:
    """What of a long string or comment is open after `line`, as far as signs tell in any language."""
    for sign, end in (('"""', '"""'), ("'''", "'''"), ("/*", "*/")):
        if opened and opened != sign:
            continue
        if sign not in line and (not opened or end not in line):
            continue
        if sign == end:
            opened = sign if (line.count(sign) + bool(opened)) % 2 else ""
        else:
            opened = sign if line.rfind(sign) > line.rfind(end) or (opened and end not in line) else ""
    return opened


def _cut(block: OpenPart, done: list[ReplyBlock]) -> OpenPart:
    """Give up what is open of a block that goes on."""
    if block.kind in ("", "fence"):
        return block
    opening = block.opening if block.kind == "table" else ""
    rest = replace(_close(block, done), is_joined=True)
    return replace(rest, kind="table", text=opening, opening=opening, is_rest=True) if opening else rest


def _close(block: OpenPart, done: list[ReplyBlock]) -> OpenPart:
    """Nothing is open, directly below what was."""
    if not block.text.strip() or (block.kind == "table" and block.is_rest and block.text == block.opening):
        return OpenPart(is_first=block.is_first, is_joined=block.is_joined)
    done.append(_finished(block))
    return OpenPart(is_first=False, is_joined=True)


def _finished(block: OpenPart) -> ReplyBlock:
    return ReplyBlock(
        markdown=block.text.rstrip("\n") if block.kind != "fence" else block.text[:-1],
        is_first=block.is_first,
        is_joined=block.is_joined,
        ordinal=block.ordinal if block.kind == "item" else 0,
        fence=block.opening if block.is_rest and block.kind == "fence" else "",
    )


def _more(block: OpenPart, line: str, *, gap: bool = False) -> OpenPart:
    return replace(block, text=f"{block.text}{line}\n", has_gap=gap)


def _closes(line: str, fence: str) -> bool:
    """Whether `line` is the end of a fence that was opened with `fence`."""
    text = line.strip(" ")
    return text.startswith(fence) and not text.strip(fence[0]) and len(line) - len(line.lstrip(" ")) < 4


def _interrupts(line: str) -> bool:
    """Whether `line` begins something in the middle of a paragraph."""
    if line.startswith(("    ", "\t")):
        return False
    item = ITEM.match(line)
    if item is not None and item.end() < len(line) and item[3] in (None, "1"):
        return True
    begins = FENCE.match(line) or HEADING.match(line) or RULE.match(line)
    return begins is not None or line.lstrip(" ").startswith(">")


def _last_line(text: str) -> str:
    return text[text.rfind("\n", 0, -1) + 1 : -1]


def cell_count(line: str) -> int:
    """How many cells a row of a table has; 0 for a line that is none."""
    text = line.strip()
    if "|" not in text and not text.startswith(":"):
        return 0
    text = text.removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return text.count("|") - text.count("\\|") + 1
