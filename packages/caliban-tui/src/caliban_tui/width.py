"""How many cells text takes: graphemes, not code points."""

from __future__ import annotations

from collections.abc import Iterator

from caliban_tui.line import ScreenLine, StyledText


def cells(text: str) -> int:
    """The cells that `text`, which has no control characters, takes."""
    if text.isascii():
        return len(text)
    from wcwidth import width

    return width(text)


def line_cells(line: ScreenLine) -> int:
    """The cells of a whole line."""
    return sum(cells(segment.text) for segment in line)


def graphemes(text: str) -> Iterator[str]:
    """What a person calls characters."""
    if text.isascii():
        return iter(text)
    from wcwidth import iter_graphemes

    return iter(iter_graphemes(text))


def cut(line: ScreenLine, columns: int, *, end: str = "…") -> ScreenLine:
    """As much of `line` as `columns` hold, with `end` in the place of the rest."""
    if line_cells(line) <= columns:
        return line
    room = columns - cells(end)
    kept: list[StyledText] = []
    for segment in line:
        width = cells(segment.text)
        if width <= room:
            kept.append(segment)
            room -= width
            continue
        text = ""
        for grapheme in graphemes(segment.text):
            width = cells(grapheme)
            if width > room:
                break
            text += grapheme
            room -= width
        kept.append(segment._replace(text=text + (end if columns >= cells(end) else "")))
        break
    return tuple(kept)


def wrap(text: str, columns: int) -> tuple[str, ...]:
    """`text`, one paragraph, broken at blanks into lines of at most `columns`; longer words are cut."""
    columns = max(columns, 1)
    lines: list[str] = []
    line, width = "", 0
    for word in text.split(" "):
        size = cells(word)
        if line and width + 1 + size > columns:
            lines.append(line)
            line, width = "", 0
        if line or width:
            line, width = f"{line} {word}", width + 1 + size
        else:
            line, width = word, size
        while width > columns:
            head = ""
            used = 0
            for grapheme in graphemes(line):
                step = cells(grapheme)
                if used + step > columns and head:
                    break
                head, used = head + grapheme, used + step
            lines.append(head)
            line = line[len(head) :]
            width = cells(line)
    lines.append(line)
    return tuple(lines)
