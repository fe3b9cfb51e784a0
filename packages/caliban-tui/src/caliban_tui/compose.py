"""The live region as a pure function of what is open and what a person does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from caliban_tui.draft.lines import draft_lines
from caliban_tui.draft.menu import menu_lines
from caliban_tui.line import ScreenLine, plain
from caliban_tui.markdown.words import flat
from caliban_tui.overlay.overlay import Overlay
from caliban_tui.question.draw import question_view
from caliban_tui.render.ends import compact
from caliban_tui.render.live import open_lines, spoken_lines
from caliban_tui.screen import UNSCROLLED, Caret, CursorShape, ScreenFrame, ScreenSize
from caliban_tui.status import status_line
from caliban_tui.transcript.view import ConversationView
from caliban_tui.ui import UiState
from caliban_tui.width import cut

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
LOW_ROWS: Final = 12
"""On a screen that is no higher a question stands in the place of all that is open above it."""

LOW_HEIGHT: Final = 8
"""So high is all of it then at most: what a lower screen has no room for is pushed out, and stays there."""

CURSORS: Final[Mapping[str, CursorShape]] = MappingProxyType(
    {"insert": "bar", "normal": "block", "visual": "block", "replace": "underline"}
)
"""Of the real cursor, by the mode of vim."""


def compose(view: ConversationView, ui: UiState, size: ScreenSize, now_s: float) -> ScreenFrame:
    """The frame: at most half the screen of what is open, then what a person writes, then the status."""
    if ui.overlay is not None:
        return _overlaid(ui.overlay, ui, size, now_s)
    is_low = size.rows <= LOW_ROWS and ui.question is not None
    lines: list[ScreenLine] = [] if is_low else open_lines(view, size, now_s)
    if view.is_working and not is_low:
        mark = SPINNER[ui.tick % len(SPINNER)]
        tokens = f" · {compact(view.output_tokens)} tokens" if view.output_tokens else ""
        words = f"{mark} {now_s - view.began_s:.0f} s{tokens} · esc interrupts"
        lines.append(cut(plain(words, "dim"), size.columns))
    drawn, caret = draft_lines(ui.draft, size.columns, max(size.rows // (4 if is_low else 2), 1))
    asked = None
    if ui.question is not None:
        below = 2 + len(drawn) + bool(ui.hint) if is_low else 5
        height = min(size.rows, LOW_HEIGHT) if is_low else size.rows
        room = ScreenSize(size.columns, max(height - len(lines) - below, 3))
        asked = question_view(ui.question, room, now_s)
        asked_top = len(lines)
        lines += asked.lines
    lines += [cut(plain(f"… {flat(text)}", "dim"), size.columns) for text in ui.queued]
    if not is_low or size.rows > len(lines) + len(drawn) + 1:
        lines.append(())
    top = len(lines)
    lines += drawn
    if ui.menu is not None:
        lines += menu_lines(ui.menu, size.columns, max(size.rows - len(lines) - 3, 3))
    if ui.hint:
        lines.append(cut(plain(flat(ui.hint), "dim"), size.columns))
    lines.append(status_line(replace(ui.status, editor=ui.draft.mode.upper()), size.columns))
    caret = Caret(top + caret.row, caret.column)
    cursor = CURSORS.get(ui.draft.mode, "")
    if asked is not None and asked.caret is not None:
        caret, cursor = Caret(asked_top + asked.caret.row, asked.caret.column), ""
    spoken = [*spoken_lines(view)]
    if asked is not None and not view.reply.text.strip():  # what led to it is told first, once it is closed
        spoken += asked.lines
    spoken += [plain(words) for words in _said(ui)]
    return ScreenFrame(
        lines=tuple(lines),
        caret=caret,
        cursor=cursor,
        scroll=UNSCROLLED if asked is None else asked.scroll,
        look=ui.look,
        spoken=tuple(spoken),
    )


def _said(ui: UiState) -> Iterator[str]:
    """What a person changed below the transcript, in words: for who is told, and does not look."""
    yield from (f"waits: {text}" for text in ui.queued)
    if ui.menu is not None and 0 <= ui.menu.selected < len(ui.menu.rows):
        yield f"chosen: {ui.menu.rows[ui.menu.selected].label}"
    if ui.hint:
        yield ui.hint
    yield f"vim: {ui.draft.mode}" if ui.draft.mode else ""
    yield f"mode: {ui.status.mode}" if ui.status.mode != "default" else ""


def _overlaid(overlay: Overlay, ui: UiState, size: ScreenSize, now_s: float) -> ScreenFrame:
    """An overlay, and below it the question that has come meanwhile."""
    asked: tuple[ScreenLine, ...] = ()
    caret, scroll = None, UNSCROLLED
    room = overlay_room(size)
    if ui.question is not None:
        view = question_view(ui.question, ScreenSize(size.columns, max(room.rows // 2, 3)), now_s)
        asked, caret, scroll = view.lines, view.caret, view.scroll
    hint = (cut(plain(flat(ui.hint), "dim"), size.columns),) if ui.hint else ()
    shown = overlay.lines(ScreenSize(size.columns, max(room.rows - len(asked) - len(hint), 1)))
    if caret is not None:
        caret = Caret(len(shown) + caret.row, caret.column)
    lines = (*shown, *asked, *hint)
    return ScreenFrame(lines=lines, caret=caret, scroll=scroll, look=ui.look, spoken=lines)


def overlay_room(size: ScreenSize) -> ScreenSize:
    """The cells that an overlay has: a row less than the screen, whose last one would push the first away."""
    return ScreenSize(size.columns, max(size.rows - 1, 1))
