"""The painter for screen readers and for terminals that know nothing: lines, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from caliban_tui.clean import in_line
from caliban_tui.line import text_of
from caliban_tui.paint.ascii import ascii_text
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.look import TranscriptLook
from caliban_tui.screen import ScreenFrame, ScreenSize
from caliban_tui.theme.theme import Theme
from caliban_tui.transcript.blocks import TranscriptBlock
from caliban_tui.width import cells, fit, is_certain

WHO: Final[Mapping[str, str]] = MappingProxyType(
    {
        "prompt": "prompt",
        "reply": "assistant",
        "reasoning": "thinking",
        "call": "tool",
        "todos": "tasks",
        "task": "tool",
        "notice": "notice",
        "answer": "command",
        "shell": "shell",
        "summary": "notice",
        "end": "done",
    }
)
"""What is said before a block of each tag."""


class LinearPainter:
    """See `Painter`. It sends no escape sequence at all: text, line ends and, for the draft, backspaces.

    Finished blocks and what is `spoken` of a frame are plain lines; each begins with who speaks. The row of
    the caret is the last line: it is edited in place, and nothing else that changes is shown.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme: Theme = theme
        self.is_synchronised: bool = False
        self._draft = ""
        self._column = 0
        self._spoken: frozenset[str] = frozenset()

    def enter(self) -> bytes:
        """See `Painter`."""
        return b""

    def paint(self, frame: ScreenFrame, finished: Sequence[TranscriptBlock], size: ScreenSize) -> bytes:
        """See `Painter`."""
        look = replace(frame.look, images="")
        lines = [line for block in finished for line in self._announced(block, size.columns, look)]
        spoken = [self._plain(text_of(line)) for line in frame.spoken]
        lines += [line for line in dict.fromkeys(spoken) if line.strip() and line not in self._spoken]
        self._spoken = frozenset(spoken)
        out = ""
        if lines:
            out += self._wiped() + "".join(f"{line}\r\n" for line in lines)
            self._draft, self._column = "", 0
        return (out + self._edited(frame, size)).encode()

    def redraw(self, size: ScreenSize) -> bytes:
        """See `Painter`."""
        was_drawn = bool(self._draft)
        self._draft, self._column = "", 0
        return b"\r\n" if was_drawn else b""

    def leave(self) -> bytes:
        """See `Painter`."""
        wiped = self._wiped()
        self._draft, self._column, self._spoken = "", 0, frozenset()
        return wiped.encode()

    def _announced(self, block: TranscriptBlock, columns: int, look: TranscriptLook) -> Iterator[str]:
        lines = [self._plain(text_of(line)).rstrip() for line in block_lines(block, columns, look)]
        who = WHO.get(str(type(block).__struct_config__.tag), "note")
        spoken = [line for line in lines if line.strip()]
        if spoken:
            begins = f"{who}: {spoken[0].removeprefix('> ')}"
            # A line that was broken to fit takes nothing before it: a terminal would break it within a word.
            is_whole = cells(begins) <= columns or cells(spoken[0]) > columns
            yield from (begins, *spoken[1:]) if is_whole else (f"{who}:", *spoken)

    def _edited(self, frame: ScreenFrame, size: ScreenSize) -> str:
        """From the draft that is drawn to the one that is to be, and the cursor in it."""
        if frame.caret is None or not frame.lines:
            wanted, column = "", 0
        else:
            row = min(max(frame.caret.row, 0), len(frame.lines) - 1)
            # The last column stays free: a cursor behind it is on a row of its own for some terminals.
            wanted = self._plain(text_of(fit(frame.lines[row], max(size.columns - 1, 1)))).rstrip()
            column = min(max(frame.caret.column, 0), max(size.columns - 1, 0))
        wanted += " " * (column - cells(wanted))
        out = ""
        if wanted != self._draft:
            same = self._shared(wanted)
            blank = max(cells(self._draft) - cells(wanted), 0)
            out = self._to(cells(self._draft[:same])) + wanted[same:] + " " * blank + "\b" * blank
            self._draft, self._column = wanted, cells(wanted)
        return out + self._to(column)

    def _shared(self, wanted: str) -> int:
        """How many characters from the beginning may stay; what may be joined to the next one may not."""
        if wanted.startswith(self._draft) and is_certain(wanted):
            return len(self._draft)
        if not (self._draft.isascii() and wanted.isascii()):
            return 0
        pairs = enumerate(zip(self._draft, wanted, strict=False))
        return next(
            (place for place, (one, other) in pairs if one != other), min(len(wanted), len(self._draft))
        )

    def _to(self, column: int) -> str:
        """Move within the draft: back by backspaces, on by what stands there."""
        if column == self._column:
            return ""
        if column == 0:
            out = "\r"
        elif column < self._column:
            out = "\b" * (self._column - column)
        else:
            out = self._between(self._column, column)
        self._column = column
        return out

    def _between(self, start: int, end: int) -> str:
        if self._draft.isascii():
            return self._draft[start:end]
        kept: list[str] = []
        used = 0
        for char in self._draft:
            if start <= used < end or (used == end and kept and cells(char) == 0):
                kept.append(char)
            used += cells(char)
        return "".join(kept)

    def _wiped(self) -> str:
        width = cells(self._draft)
        return f"\r{' ' * width}\r" if width else ""

    def _plain(self, text: str) -> str:
        text = in_line(text)
        return text if self.theme.unicode else ascii_text(text)
