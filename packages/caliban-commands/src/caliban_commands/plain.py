"""An answer as plain text, for faces without pictures and for programs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from caliban_commands.answer import (
    AnswerPart,
    ChoiceRow,
    CommandAnswer,
    ShownChange,
    ShownChoice,
    ShownTable,
    ShownText,
)


def plain_text(answer: CommandAnswer) -> str:
    """The parts in order, a blank line between two; a choice as the lines that one would type."""
    return "\n\n".join(filter(None, ("\n".join(_lines(part)).rstrip() for part in answer.parts)))


def cells(text: str) -> int:
    """How many cells of a terminal `text` takes, near enough for columns."""
    if text.isascii():
        return len(text)
    marks = ("Mn", "Me", "Cf")
    return sum(
        0 if unicodedata.category(letter) in marks else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def _lines(part: AnswerPart) -> Iterator[str]:
    match part:
        case ShownText():
            yield part.markdown
        case ShownTable():
            yield from _table(part)
        case ShownChoice():
            yield part.title
            width = max((cells(row.line) for row in part.rows), default=0)
            yield from (_choice(row, width) for row in part.rows)
        case ShownChange():
            yield from _change(part)


def _change(part: ShownChange) -> Iterator[str]:
    """As a unified diff has it."""
    if part.note:
        yield f"# {part.path}: {part.note}"
    if not (part.change.hunks or part.change.left_out):
        return
    yield "--- " + ("/dev/null" if part.is_new else f"a/{part.path}")
    yield "+++ " + ("/dev/null" if part.is_gone else f"b/{part.path}")
    for hunk in part.change.hunks:
        old = sum(not line.startswith("+") for line in hunk.lines)
        new = sum(not line.startswith("-") for line in hunk.lines)
        yield f"@@ -{hunk.old_start if old else 0},{old} +{hunk.new_start if new else 0},{new} @@"
        yield from hunk.lines
    if part.change.left_out:
        yield f"# {part.path}: {part.change.left_out:,} more lines"


def _choice(row: ChoiceRow, width: int) -> str:
    mark = "*" if row.is_current else " "
    words = "  ".join(filter(None, (row.label, row.detail)))
    return f"{mark} {row.line}{' ' * (width - cells(row.line))}  {words}".rstrip()


def _table(table: ShownTable) -> Iterator[str]:
    """Columns as wide as their widest cell; the last one ends where its words do."""
    if table.title:
        yield table.title
    if table.rows:
        rows = (table.columns, *table.rows) if any(table.columns) else table.rows
        widths = [max(cells(row[place]) for row in rows) for place in range(len(table.columns))]
        for row in rows:
            padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(padded).rstrip()
    yield from table.notes
