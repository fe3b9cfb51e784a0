"""What stands in the place of the live region for a while: a list, a text, a transcript to read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_commands.answer import AnswerPart, CommandEffect
from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, plain, text_of
from caliban_tui.question.visible import broken
from caliban_tui.render.blocks import block_lines
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.blocks import AnswerBlock
from caliban_tui.width import cells, cut, line_cells, wrap


class Overlay(Protocol):
    """Something to read or to choose from, as a value: a key makes another one of it.

    `size` is the room that it has, in cells, at least 1 row; `lines` gives at most as many rows, each cut to
    the columns. Key names are prompt-toolkit's, such as `pageup` and `c-c`, or the character itself.
    """

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        ...

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """It as it is drawn."""
        ...

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """What a key does; every key is the overlay's while it is open."""
        ...

    def paste(self, text: str, size: ScreenSize) -> OverlayStep | None:
        """Put `text` where something is typed; `None` where nothing is. It is never taken for keys."""
        ...


class Stay(NamedTuple):
    """Go on with `overlay`."""

    overlay: Overlay


class Close(NamedTuple):
    """Take it away."""


class Choose(NamedTuple):
    """Take it away and run the slash command `line`."""

    line: str


class Dump(NamedTuple):
    """Write `lines` to the scrollback, and go on with `overlay`."""

    lines: tuple[ScreenLine, ...]
    overlay: Overlay


class EditText(NamedTuple):
    """Open `text` in the person's editor as a file that ends in `suffix`, and go on with `overlay`."""

    text: str
    overlay: Overlay
    suffix: str = ".md"


class Do(NamedTuple):
    """Take it away and do what a slash command could want, too."""

    effect: CommandEffect


class Tell(NamedTuple):
    """Take it away and say `words`; with `reopens` the session was changed beneath, and is opened again."""

    words: str
    reopens: bool = False


class Work(NamedTuple):
    """Go on with `overlay` until `run` gives the next step; a `CalibanError` that it raises is shown.

    Keys wait for that, unless it is `beside`: what takes long, and gives the same list with other rows.
    """

    overlay: Overlay
    run: Callable[[], Awaitable[OverlayStep]]
    beside: bool = False


OverlayStep: TypeAlias = "Stay | Close | Choose | Do | Tell | Dump | EditText | Work"

MAX_SEARCH: Final = 1000
"""So many characters are searched for at most; what is pasted behind them is left out."""

CLOSING: Final = frozenset(["escape", "c-c", "c-g"])
"""What closes every overlay, whatever else its letters mean."""

NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"c-m": "enter", "c-i": "tab", "c-h": "backspace", "c-[": "escape", "c-p": "up", "c-n": "down"}
)


def key_name(name: str) -> str:
    """The one name of a key that prompt-toolkit has two for."""
    return NAMES.get(name, name)


def scrolled(top: int, name: str, page: int, count: int) -> int | None:
    """The first of `count` rows on a page of `page` rows after a key that scrolls; `None`: it is none."""
    last = max(count - page, 0)
    step = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -page, "b": -page, "pagedown": page, " ": page}
    if name in ("home", "g"):
        return 0
    if name in ("end", "G"):
        return last
    return None if name not in step else min(max(min(top, last) + step[name], 0), last)


def framed(title: str, body: tuple[ScreenLine, ...], footer: str, size: ScreenSize) -> tuple[ScreenLine, ...]:
    """A heading, as much of `body` as there is room for, and the keys in a last line."""
    rows = (plain(title, "heading"), *body[: page_of(size)], plain(footer, "dim"))
    return tuple(cut(row, size.columns) for row in rows[: size.rows])


def page_of(size: ScreenSize) -> int:
    """How many rows stand between heading and keys."""
    return max(size.rows - 2, 1)


def place_of(top: int, page: int, count: int) -> str:
    """Where one is in a list that is longer than a page, as ` · 1-20 of 90`."""
    return f" · {top + 1}-{min(top + page, count)} of {count}" if count > page else ""


class TextOverlay(Struct, frozen=True, kw_only=True):
    """A text to scroll in. See `Overlay`."""

    title: str
    text: str
    top: int = 0

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """See `Overlay`."""
        rows, page = self._rows(size.columns), page_of(size)
        top = min(self.top, max(len(rows) - page, 0))
        footer = f"↑↓ PgUp PgDn · q closes{place_of(top, page, len(rows))}"
        return framed(self.title, rows[top : top + page], footer, size)

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """See `Overlay`."""
        name = key_name(name)
        if name in CLOSING or name in ("q", "enter"):
            return Close()
        top = scrolled(self.top, name, page_of(size), len(self._rows(size.columns)))
        return Stay(self if top is None else replace(self, top=top))

    def paste(self, text: str, size: ScreenSize) -> None:
        """See `Overlay`. Nothing is typed here."""

    def _rows(self, columns: int) -> tuple[ScreenLine, ...]:
        """The text broken at words; blanks within it stay, for they make columns."""
        lines = neutral(self.text).split("\n")
        return tuple(plain(row) for line in lines for row in _in_columns(line, columns))


def _in_columns(line: str, columns: int) -> tuple[str, ...]:
    """A line broken at words: what stands behind a gap goes on there, or below where that is too narrow."""
    head, gap, _ = line.partition("  ")
    rest = line[len(head) :].lstrip(" ")
    if cells(line) <= columns or not (head.strip() and gap and rest):
        return wrap(line, columns)
    indent = cells(line) - cells(rest)
    if indent * 2 > columns:
        return (*wrap(head, columns), *(f"  {row}" for row in wrap(rest, columns - 2)))
    first, *more = wrap(rest, columns - indent)
    return (line[: len(line) - len(rest)] + first, *(" " * indent + row for row in more))


class PartsOverlay(Struct, frozen=True, kw_only=True):
    """What a command answered, to scroll in. See `Overlay`."""

    title: str
    parts: tuple[AnswerPart, ...]
    top: int = 0

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """See `Overlay`."""
        rows, page = self._body(size.columns), page_of(size)
        top = min(self.top, max(len(rows) - page, 0))
        footer = f"↑↓ PgUp PgDn · q closes{place_of(top, page, len(rows))}"
        return framed(self.title, rows[top : top + page], footer, size)

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """See `Overlay`."""
        name = key_name(name)
        if name in CLOSING or name in ("q", "enter"):
            return Close()
        top = scrolled(self.top, name, page_of(size), len(self._body(size.columns)))
        return Stay(self if top is None else replace(self, top=top))

    def paste(self, text: str, size: ScreenSize) -> None:
        """See `Overlay`. Nothing is typed here."""

    def _body(self, columns: int) -> tuple[ScreenLine, ...]:
        lines = block_lines(AnswerBlock(line="", parts=self.parts), columns)
        return tuple(row for line in lines for row in _folded(line, columns))


def _folded(line: ScreenLine, columns: int) -> tuple[ScreenLine, ...]:
    """A line that is wider than the screen, broken where that ends."""
    if line_cells(line) <= columns:
        return (line,)
    style = line[0].style
    return tuple(plain(piece, style) for piece in broken(text_of(line), columns))
