"""What is written within a region of lines, and where the cursor is after it."""

from __future__ import annotations

from caliban_tui.line import ScreenLine
from caliban_tui.paint.ascii import as_sent
from caliban_tui.paint.sgr import encode_line
from caliban_tui.render.images import GRAPHICS
from caliban_tui.theme.theme import Theme
from caliban_tui.width import is_certain, last_column, line_cells


class Pen:
    """Output for a screen of `columns`, from a cursor in `row` of the region; `text` is what was written.

    Moves are relative, so that nobody needs to know where on the screen the region is. After text whose width
    is a matter of opinion, and behind the last column, the column counts as unknown.
    """

    def __init__(self, row: int, columns: int, theme: Theme) -> None:
        self.row: int = row
        self._column: int | None = None
        self._columns = columns
        self._theme = theme
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def send(self, sequence: str) -> None:
        """A sequence that leaves the cursor where it is."""
        self._parts.append(sequence)

    def to(self, row: int, column: int) -> None:
        """Go there; both are on the screen."""
        if row != self.row:
            self._parts.append(f"\x1b[{self.row - row}A" if row < self.row else f"\x1b[{row - self.row}B")
            self.row = row
        if column != self._column:
            if self._column != 0:
                self._parts.append("\r")
            if column:
                self._parts.append(f"\x1b[{column}C")
            self._column = column

    def below(self, row: int, rows: int = 1) -> None:
        """To the beginning of the row that is `rows` below `row`; the screen makes room for it."""
        if row != self.row:
            self.to(row, 0)
        self._parts.append("\r\n" * rows)
        self.row += rows
        self._column = 0

    def end_line(self) -> None:
        """To the beginning of the next row, without counting it."""
        self._parts.append("\r\n")
        self._column = 0

    def insert(self, rows: int) -> None:
        """Push this row and all below it down."""
        self._parts.append(f"\x1b[{rows if rows > 1 else ''}L")
        self._column = None

    def delete(self, rows: int) -> None:
        """Take out so many rows; those below come up."""
        self._parts.append(f"\x1b[{rows if rows > 1 else ''}M")
        self._column = None

    def put(self, line: ScreenLine, *, erases: bool = True) -> None:
        """Write a line, or the end of one, which fits; with `erases` nothing stays to the right of it.

        What is erased behind the last column is the last character: where a terminal may take a line for
        wider than it is, the row is emptied before.
        """
        certain = all(is_certain(segment.text) for segment in line)
        column = (self._column or 0) + line_cells(line)
        is_full = column >= self._columns
        if erases and not certain:
            self._parts.append("\x1b[K")
        self._parts.append(encode_line(line, self._theme))
        if erases and certain and not is_full:
            self._parts.append("\x1b[K")
        self._column = column if certain and not is_full else None

    def pour(self, line: ScreenLine) -> None:
        """Write a line of any width and end it: the terminal wraps it, for its copies to be whole."""
        line = as_sent(line, unicode=self._theme.unicode)
        certain = all(is_certain(segment.text) for segment in line)
        is_drawn = any(segment.style == GRAPHICS for segment in line)
        wraps = line_cells(line) > self._columns
        if not certain or (wraps and (is_drawn or not all(segment.text.isascii() for segment in line))):
            # How far it goes is the terminal's opinion; a wide character leaves a cell at the edge as it was.
            self._parts.append("\x1b[J")
        elif is_drawn:
            self._parts.append("\x1b[K")  # erased later, the picture would go
        self._parts.append(encode_line(line, self._theme))
        if certain and not is_drawn and last_column(line, self._columns) < self._columns:
            self._parts.append("\x1b[K")
        self.end_line()
