"""The live region as a pure function of what is open and what a person does."""

from __future__ import annotations

from caliban_tui.line import ScreenLine, plain
from caliban_tui.openlines import open_lines
from caliban_tui.questionlines import question_view
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.status import status_line
from caliban_tui.ui import DraftView, UiState
from caliban_tui.view import ConversationView
from caliban_tui.width import cells, cut, graphemes

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def compose(view: ConversationView, ui: UiState, size: ScreenSize, now_s: float) -> ScreenFrame:
    """The frame: at most half the screen of what is open, then what a person writes, then the status."""
    lines: list[ScreenLine] = open_lines(view, size, now_s)
    if view.is_working:
        mark = SPINNER[ui.tick % len(SPINNER)]
        lines.append(cut(plain(f"{mark} {now_s - view.began_s:.0f} s · esc interrupts", "dim"), size.columns))
    asked = None
    if ui.question is not None:
        room = ScreenSize(size.columns, max(size.rows - len(lines) - 5, 3))
        asked = question_view(ui.question, room, now_s)
        asked_top = len(lines)
        lines += asked.lines
    lines += [cut(plain(f"… {text}", "dim"), size.columns) for text in ui.queued]
    drawn, caret = draft_lines(ui.draft, size.columns)
    lines.append(())
    top = len(lines)
    lines += drawn
    if ui.hint:
        lines.append(cut(plain(ui.hint, "dim"), size.columns))
    lines.append(status_line(ui.status, size.columns))
    caret = Caret(top + caret.row, caret.column)
    if asked is not None and asked.caret is not None:
        caret = Caret(asked_top + asked.caret.row, asked.caret.column)
    return ScreenFrame(lines=tuple(lines), caret=caret, look=ui.look)


def draft_lines(draft: DraftView, columns: int) -> tuple[list[ScreenLine], Caret]:
    """The draft, broken where the screen ends, and the caret in it."""
    indent = cells(draft.mark)
    lines: list[str] = [""]
    used = indent
    caret = Caret(0, indent)
    place = 0
    for grapheme in graphemes(draft.text):
        if place <= draft.cursor:
            caret = Caret(len(lines) - 1, used)
        place += len(grapheme)
        if grapheme == "\n":
            lines.append("")
            used = indent
            continue
        width = cells(grapheme)
        if used + width >= columns:
            lines.append("")
            used = indent
            if place - len(grapheme) <= draft.cursor:
                caret = Caret(len(lines) - 1, used)
        lines[-1] += grapheme
        used += width
    if draft.cursor >= len(draft.text):
        caret = Caret(len(lines) - 1, used)
    marks = [draft.mark] + [" " * indent] * (len(lines) - 1)
    return [plain(mark + line) for mark, line in zip(marks, lines, strict=True)], caret
