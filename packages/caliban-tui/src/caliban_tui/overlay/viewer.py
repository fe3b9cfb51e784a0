"""The transcript viewer: every block of the history as the model sees it, to scroll and to search in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.codec import dumps
from caliban_common.message import (
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from caliban_tui.line import ScreenLine, StyledText, plain, text_of
from caliban_tui.overlay.overlay import (
    CLOSING,
    MAX_SEARCH,
    Close,
    Dump,
    EditText,
    OverlayStep,
    Stay,
    framed,
    key_name,
    page_of,
)
from caliban_tui.question.textfield import TextField, field_segments, pasted_row
from caliban_tui.question.visible import broken, visible
from caliban_tui.screen import ScreenSize

HELP: Final = (
    ("↑ ↓ j k", "a line"),
    ("PgUp PgDn space b", "a page"),
    ("g G home end", "to the beginning, to the end"),
    ("/", "search; enter keeps it, esc drops it"),
    ("n N", "the next place, the one before"),
    ("[", "write what is on the screen into the terminal's own scrollback"),
    ("v", "all of it in your editor"),
    ("q esc ctrl+o", "close"),
)


class ViewerPlace(NamedTuple):
    """A row: the line of the transcript, and which of the rows that it takes."""

    line: int = 0
    row: int = 0


class ViewerOverlay(Struct, frozen=True, kw_only=True):
    """See `Overlay`. `content` are lines of one style and any width, `top` is the first row that is seen.

    Only what is seen is wrapped: a transcript of any length is as quick as a short one. `searches` says that
    letters are being searched for, `helps` that the keys are shown.
    """

    title: str
    content: tuple[ScreenLine, ...]
    top: ViewerPlace = ViewerPlace()
    search: TextField = TextField()
    searches: bool = False
    helps: bool = False
    note: str = ""

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """See `Overlay`."""
        if self.helps:
            body = tuple(plain(f"{keys:18} {words}") for keys, words in HELP)
            return framed(self.title, body, "any key goes back", size)
        rows = tuple(self._marked(row) for _, row in self._from(self.top, size.columns, page_of(size)))
        if self.searches:
            return (*framed(self.title, rows, "", size)[: size.rows - 1], self._search_line())[: size.rows]
        done = 100 * min(self.top.line + page_of(size), len(self.content)) // max(len(self.content), 1)
        return framed(self.title, rows, f"{self.note or '? keys · / search · q closes'} · {done} %", size)

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """See `Overlay`."""
        name = key_name(name)
        if self.helps:
            return Stay(replace(self, helps=False))
        if self.searches:
            return self._searching(name, size)
        if name in CLOSING or name in ("q", "c-o"):
            return Close()
        match name:
            case "/":
                return Stay(replace(self, searches=True, search=TextField(), note=""))
            case "n" | "N":
                return Stay(self._found(forward=name == "n", size=size, again=True))
            case "[":
                rows = tuple(row for _, row in self._from(self.top, size.columns, page_of(size)))
                return Dump(rows, replace(self, note="written to the scrollback"))
            case "v":
                return EditText("\n".join(map(text_of, self.content)) + "\n", self)
            case "?":
                return Stay(replace(self, helps=True))
        top = self._scrolled(name, size)
        return Stay(self if top is None else replace(self, top=top, note=""))

    def paste(self, text: str, size: ScreenSize) -> Stay | None:
        """See `Overlay`."""
        if not self.searches:
            return None
        row = pasted_row(text, max(MAX_SEARCH - len(self.search.text), 0))
        return Stay(self._searched(self.search.typed(row), size))

    def at_end(self, size: ScreenSize) -> ViewerOverlay:
        """The same with its last page on the screen."""
        return replace(self, top=self._last(size))

    def _scrolled(self, name: str, size: ScreenSize) -> ViewerPlace | None:
        page = page_of(size)
        steps = {
            "up": -1,
            "k": -1,
            "down": 1,
            "j": 1,
            "pageup": -page,
            "b": -page,
            "pagedown": page,
            " ": page,
        }
        if name in ("g", "home"):
            return ViewerPlace()
        if name in ("G", "end"):
            return self._last(size)
        if name not in steps:
            return None
        step = steps[name]
        if step > 0:
            ahead = [place for place, _ in self._from(self.top, size.columns, step + 1)]
            return min(ahead[-1] if ahead else self.top, self._last(size))
        return self._back(self.top, -step, size.columns)

    def _back(self, place: ViewerPlace, rows: int, columns: int) -> ViewerPlace:
        """The place `rows` rows before another."""
        line, row = place
        row -= rows
        while row < 0 and line > 0:
            line -= 1
            row += len(_wrapped(self.content[line], columns))
        return ViewerPlace(line, max(row, 0))

    def _last(self, size: ScreenSize) -> ViewerPlace:
        """The top of the last page."""
        if not self.content:
            return ViewerPlace()
        return self._back(ViewerPlace(len(self.content), 0), page_of(size), size.columns)

    def _from(self, top: ViewerPlace, columns: int, count: int) -> Iterator[tuple[ViewerPlace, ScreenLine]]:
        """Up to `count` rows from `top` on."""
        for line in range(top.line, len(self.content)):
            wrapped = _wrapped(self.content[line], columns)
            first = min(top.row, len(wrapped) - 1) if line == top.line else 0
            for row in range(first, len(wrapped)):
                if count <= 0:
                    return
                yield ViewerPlace(line, row), wrapped[row]
                count -= 1

    def _searching(self, name: str, size: ScreenSize) -> OverlayStep:
        if name in CLOSING:
            return Stay(replace(self, searches=False, search=TextField()))
        if name == "enter":
            return Stay(replace(self, searches=False))
        typed = self.search.key(name)
        return Stay(self if typed is None else self._searched(typed, size))

    def _searched(self, search: TextField, size: ScreenSize) -> ViewerOverlay:
        return replace(self, search=search)._found(forward=True, size=size, again=False)

    def _found(self, *, forward: bool, size: ScreenSize, again: bool) -> ViewerOverlay:
        """The same at the next place of what is searched for, from the first row on; around the end."""
        wanted = self.search.text.casefold()
        if not wanted:
            return replace(self, note="" if not again else "/ searches")
        count = len(self.content)
        offsets = range(1 if again else 0, count + 1)
        for offset in offsets:
            line = (self.top.line + (offset if forward else -offset)) % count
            text = self.content[line]
            if text and wanted in text[0].text.casefold():
                last = self._last(size)
                return replace(self, top=min(ViewerPlace(line, 0), max(last, ViewerPlace())), note="")
        return replace(self, note=f"{visible(self.search.text)!r} is nowhere")

    def _search_line(self) -> ScreenLine:
        note = f"   {self.note}" if self.note else ""
        return (StyledText("/", "prompt"), *field_segments(self.search), StyledText(note, "warning"))

    def _marked(self, row: ScreenLine) -> ScreenLine:
        """A row with what is searched for shown in reverse."""
        wanted = self.search.text.casefold()
        text = text_of(row)
        folded = text.casefold()
        if not wanted or wanted not in folded or len(folded) != len(text):
            return row
        parts: list[StyledText] = []
        start = 0
        style = row[0].style if row else ""
        while (place := folded.find(wanted, start)) >= 0:
            end = place + len(wanted)
            parts += [StyledText(text[start:place], style), StyledText(text[place:end], "selected")]
            start = end
        return (*parts, StyledText(text[start:], style))


def viewer(messages: Sequence[Message], size: ScreenSize) -> ViewerOverlay:
    """The viewer of a history, at its end."""
    content = tuple(history_lines(messages)) or (plain("nothing was said yet", "dim"),)
    return ViewerOverlay(title=f"Transcript · {len(messages)} messages", content=content).at_end(size)


def history_lines(messages: Sequence[Message]) -> Iterator[ScreenLine]:
    """Every block as the model sees it, whole, in lines of any width."""
    for message in messages:
        yield plain(f"── {message.role}", "heading")
        for block in message.content:
            yield from _block(block)
        yield ()


def _block(block: object) -> Iterator[ScreenLine]:
    match block:
        case TextBlock():
            yield from _lines(block.text)
        case ThinkingBlock():
            yield plain("thinking:", "bold")
            yield from _lines(block.text, "dim")
        case RedactedThinkingBlock():
            yield plain("thinking that the provider keeps to itself", "dim")
        case ToolUseBlock():
            yield plain(f"call {visible(block.name)} ({visible(block.id)}):", "tool")
            for name, value in block.input.items():
                text = value if isinstance(value, str) else dumps(value).decode()
                yield from _lines(f"{name}: {text}", "code")
        case ToolResultBlock():
            failed = ", an error" if block.is_error else ""
            yield plain(f"result ({visible(block.tool_use_id)}{failed}):", "error" if failed else "tool")
            for part in block.content:
                yield from _block(part)
        case ImageBlock() | DocumentBlock():
            yield plain(f"[{_media(block)}]", "dim")
        case OpaqueBlock():
            yield plain(f"[a block of {visible(block.family)}]", "dim")
        case _:
            yield plain(f"[{type(block).__name__}]", "dim")


def _media(block: ImageBlock | DocumentBlock) -> str:
    kind = "image" if isinstance(block, ImageBlock) else "document"
    source = block.source
    if isinstance(source, UrlSource):
        return f"{kind} {visible(source.url)}"
    return f"{kind} {visible(source.media_type)}, {len(source.data) * 3 // 4:,} bytes"


def _lines(text: str, style: str = "") -> Iterator[ScreenLine]:
    for line in visible(text, tab="    ").split("\n"):
        yield plain(line, style)


def _wrapped(line: ScreenLine, columns: int) -> tuple[ScreenLine, ...]:
    style = line[0].style if line else ""
    return tuple(plain(piece, style) for piece in broken(text_of(line), columns))
