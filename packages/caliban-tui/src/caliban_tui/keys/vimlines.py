"""Whole lines in vim mode: deleted, changed, joined, put, walked. Importing this loads prompt-toolkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import ClipboardData
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.filters.app import vi_navigation_mode, vi_selection_mode, vi_waiting_for_text_object_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.vi import TextObject, TextObjectType
from prompt_toolkit.selection import PasteMode, SelectionType

from caliban_tui.keys.linebounds import after_indent, line_end, line_start
from caliban_tui.keys.vimobjects import count_of, do_operator
from caliban_tui.keys.vimstate import OperatorRange, operate

AT_END: Final = 1 << 30
"""The column of a cursor that stays at the end of its line, however long the next one is."""


@Condition
def may_begin() -> bool:
    """Whether a command may begin here: no operator waits, and nothing is selected."""
    app = get_app()
    return app.vi_state.operator_func is None and app.current_buffer.selection_state is None


@Condition
def has_lines() -> bool:
    """Whether whole lines are selected."""
    selection = get_app().current_buffer.selection_state
    return selection is not None and selection.type == SelectionType.LINES


def add_lines(keys: KeyBindings) -> None:
    """Add what is done with lines."""
    begins = vi_navigation_mode & may_begin
    for names, key in ((("d", "d"), "d"), (("c", "c"), "c"), (("S",), "c")):

        @keys.add(*names, filter=begins)
        def _(event: KeyPressEvent, key: str = key) -> None:
            buffer = event.current_buffer
            end = _lines_below(buffer, event.arg - 1)
            if end is not None:
                operate(event, key, OperatorRange(buffer.cursor_position, end, is_lines=True))

    for name, key in (("d", "d"), ("x", "d"), ("c", "c"), ("s", "c")):

        @keys.add(name, filter=vi_selection_mode & has_lines)
        def _(event: KeyPressEvent, key: str = key) -> None:
            selection = event.current_buffer.selection_state
            if selection is not None:
                one, other = selection.original_cursor_position, event.current_buffer.cursor_position
                event.current_buffer.exit_selection()
                operate(event, key, OperatorRange(min(one, other), max(one, other), is_lines=True))

    @keys.add("J", filter=begins)
    def _(event: KeyPressEvent) -> None:
        _join(event.current_buffer, max(event.arg, 2))

    for name, mode in (("p", PasteMode.VI_AFTER), ("P", PasteMode.VI_BEFORE)):

        @keys.add(name, filter=begins)
        def _(event: KeyPressEvent, mode: PasteMode = mode) -> None:
            _put(event.current_buffer, event.app.clipboard.get_data(), event.arg, mode)

    _add_ways(keys)


def _add_ways(keys: KeyBindings) -> None:
    def object_of(key: str, target: Callable[[Buffer, int], int | None]) -> None:
        @keys.add(key, filter=vi_waiting_for_text_object_mode)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            place = target(buffer, count_of(event))
            offset = 0 if place is None else place - buffer.cursor_position
            do_operator(event, None if place is None else TextObject(offset, type=TextObjectType.LINEWISE))

    object_of("j", _lines_below)
    object_of("k", _lines_above)

    @keys.add("j", filter=vi_navigation_mode & may_begin)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not buffer.document.on_last_line:
            buffer.cursor_down(event.arg)
        else:
            _recall(buffer, lambda: buffer.history_forward(event.arg))

    @keys.add("k", filter=vi_navigation_mode & may_begin)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.cursor_position_row:
            buffer.cursor_up(event.arg)
        else:
            _recall(buffer, lambda: buffer.history_backward(event.arg))

    @keys.add("$", filter=~vi_waiting_for_text_object_mode & (vi_navigation_mode | vi_selection_mode))
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        below = _lines_below(buffer, event.arg - 1)
        buffer.cursor_position = line_end(buffer.text, buffer.cursor_position if below is None else below)
        buffer.preferred_column = AT_END


def _put(buffer: Buffer, data: ClipboardData, count: int, mode: PasteMode) -> None:
    """Put; the cursor is at the end of what was put within a line, else at its beginning."""
    is_lines = data.type == SelectionType.LINES
    if not data.text and not is_lines:
        return
    is_behind = mode == PasteMode.VI_AFTER and bool(buffer.document.current_line)
    start = buffer.cursor_position + is_behind
    buffer.paste_clipboard_data(data, count=count, paste_mode=mode)
    if is_lines:
        buffer.cursor_position = after_indent(buffer.text, line_start(buffer.text, buffer.cursor_position))
    elif "\n" in data.text:
        buffer.cursor_position = start


def _recall(buffer: Buffer, go: Callable[[], None]) -> None:
    """Go to another entry of the history, to the beginning of its line; without one the cursor stays."""
    before = buffer.text
    go()
    if buffer.text != before:
        buffer.cursor_position = line_start(buffer.text, buffer.cursor_position)


def _lines_below(buffer: Buffer, count: int) -> int | None:
    """A place `count` lines on, or on the last one; `None` where this is the last one."""
    document = buffer.document
    row = document.cursor_position_row
    if not count:
        return document.cursor_position
    if row == document.line_count - 1:
        return None
    return document.translate_row_col_to_index(
        min(row + count, document.line_count - 1), document.cursor_position_col
    )


def _lines_above(buffer: Buffer, count: int) -> int | None:
    document = buffer.document
    if not document.cursor_position_row:
        return None
    column = buffer.preferred_column
    return document.cursor_position + document.get_cursor_up_position(count, preferred_column=column)


def _join(buffer: Buffer, count: int) -> None:
    """Join `count` lines: a blank between them unless there is one, or nothing follows, or a bracket."""
    text = buffer.text
    first = line_start(text, buffer.cursor_position)
    lines = text[first:].split("\n")
    if len(lines) < 2:
        buffer.cursor_position = first if count > 2 else buffer.cursor_position
        return
    joined, place = lines[0], 0
    for line in lines[1:count]:
        rest = line.lstrip(" \t")
        gap = " " if joined and rest and rest[0] != ")" and joined[-1] not in " \t" else ""
        place = len(joined)
        joined += gap + rest
    behind = "".join(f"\n{line}" for line in lines[count:])
    buffer.document = Document(text[:first] + joined + behind, first + min(place, max(len(joined) - 1, 0)))
