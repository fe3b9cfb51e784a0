"""Some lines of a file that is too large to be held: one pass, bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from caliban_common.text import whole_characters


class Window(Struct, frozen=True, kw_only=True):
    """The lines asked for, each cut at the bound, and how many lines the pass saw."""

    lines: tuple[bytes, ...]
    total: int


def window(chunks: Iterable[bytes], *, first: int, last: int, max_line_bytes: int) -> Window:
    """Lines `first`..`last` (from 1) of the bytes in `chunks`, without their line feeds.

    What is cut at `max_line_bytes` loses the character there: half of one would make it no UTF-8.
    """
    kept: list[bytes] = []
    number, current, seen_any, closed = 1, bytearray(), False, True
    for chunk in chunks:
        seen_any, closed = True, chunk.endswith(b"\n")
        feeds = chunk.count(b"\n")
        if number > last or number + feeds < first:
            number += feeds
            continue
        head, *rest = chunk.split(b"\n")
        for index, piece in enumerate((head, *rest)):
            if index:
                if first <= number <= last:
                    kept.append(bytes(current))
                number += 1
                current.clear()
            if first <= number <= last:
                current += piece[: max_line_bytes - len(current)]
    if not closed and first <= number <= last:
        kept.append(bytes(current))
    lines = (whole_characters(line) if len(line) == max_line_bytes else line for line in kept)
    return Window(lines=tuple(lines), total=number - 1 if closed and seen_any else number if seen_any else 0)
