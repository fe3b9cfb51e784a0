"""Words, quotes and brackets as what vim moves by and works on. Importing this loads prompt-toolkit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters.app import vi_navigation_mode, vi_selection_mode, vi_waiting_for_text_object_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.vi import TextObject, TextObjectType
from prompt_toolkit.selection import SelectionType

from caliban_tui.keys.vimpairs import bracketed, quoted
from caliban_tui.keys.vimwords import BLANK, VimSpan, WordCursor, character_class

QUOTES: Final = "\"'`"
BRACKETS: Final = MappingProxyType({"()b": "()", "{}B": "{}", "[]": "[]", "<>": "<>"})
"""What an object is called after, with the brackets that it is in."""

Motion: TypeAlias = Callable[[WordCursor, int], bool]


def add_words(keys: KeyBindings, operator: Callable[[], str]) -> None:
    """Add motions by words, and words as objects; `operator` is the key of the operator that waits."""
    for name, big in (("w", False), ("W", True)):
        _add_forward(keys, name, big, operator)
        _add_span(keys, ("i", name), partial(_word, big, False))
        _add_span(keys, ("a", name), partial(_word, big, True))
    for big in (False, True):
        back, end = ("B", "E") if big else ("b", "e")
        _add_motion(keys, (back,), big, WordCursor.last_start)
        _add_motion(keys, (end,), big, WordCursor.next_end, takes_end=True)
        _add_motion(keys, ("g", end), big, WordCursor.last_end, takes_end=True)


def add_pairs(keys: KeyBindings) -> None:
    """Add texts in quotes and in brackets as objects, also those behind the cursor."""
    for name, inner in (("i", True), ("a", False)):
        for quote in QUOTES:
            _add_span(keys, (name, quote), partial(_quoted, quote, inner))
        for signs, brackets in BRACKETS.items():
            for sign in signs:
                _add_span(keys, (name, sign), partial(_bracketed, brackets, inner))


def _add_forward(keys: KeyBindings, name: str, big: bool, operator: Callable[[], str]) -> None:
    @keys.add(name, filter=vi_waiting_for_text_object_mode)
    def _(event: KeyPressEvent) -> None:
        buffer, count = event.current_buffer, count_of(event)
        cursor = WordCursor(buffer.text, buffer.cursor_position, big=big)
        is_end = operator() == "c" and character_class(buffer.document.current_char or " ") != BLANK
        if is_end:  # `cw` leaves the blanks behind a word
            _go_by(cursor, count, lambda cursor, count: cursor.next_end(count, stays=True))
        else:
            cursor.next_start(count, stops=True)
        offset = cursor.place - buffer.cursor_position
        do_operator(event, TextObject(offset, type=_kind(is_end)))

    _add_moves(keys, (name,), big, lambda cursor, count: cursor.next_start(count, stops=False))


def _add_motion(
    keys: KeyBindings, names: tuple[str, ...], big: bool, motion: Motion, *, takes_end: bool = False
) -> None:
    @keys.add(*names, filter=vi_waiting_for_text_object_mode)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        cursor = WordCursor(buffer.text, buffer.cursor_position, big=big)
        is_done = _go_by(cursor, count_of(event), motion)
        offset = cursor.place - buffer.cursor_position
        is_nothing = not (is_done or offset or motion is WordCursor.next_end)  # `e` takes what is here then
        do_operator(event, None if is_nothing else TextObject(offset, type=_kind(takes_end)))

    _add_moves(keys, names, big, motion)


def _add_moves(keys: KeyBindings, names: tuple[str, ...], big: bool, motion: Motion) -> None:
    @keys.add(*names, filter=~vi_waiting_for_text_object_mode & (vi_navigation_mode | vi_selection_mode))
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        cursor = WordCursor(buffer.text, buffer.cursor_position, big=big)
        _go_by(cursor, event.arg, motion)
        buffer.cursor_position = cursor.place
        buffer.preferred_column = None


def _add_span(
    keys: KeyBindings, names: tuple[str, str], find: Callable[[Buffer, int], VimSpan | None]
) -> None:
    @keys.add(*names, filter=vi_waiting_for_text_object_mode)
    def _(event: KeyPressEvent) -> None:
        span = find(event.current_buffer, count_of(event))
        if span is None:
            do_operator(event, None)
            return
        place = event.current_buffer.cursor_position
        kind = TextObjectType.LINEWISE if span.is_lines else _kind(span.has_end)
        do_operator(event, TextObject(span.start - place, span.end - place, kind))

    @keys.add(*names, filter=~vi_waiting_for_text_object_mode & vi_selection_mode)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        selection, span = buffer.selection_state, find(buffer, event.arg)
        if selection is None or span is None:
            return
        selection.type = SelectionType.CHARACTERS
        if selection.original_cursor_position >= buffer.cursor_position:
            selection.original_cursor_position = span.start
        with_break = span.end < len(buffer.text) and "\n" in buffer.text[span.start : span.end + 1]
        takes_end = span.has_end or (with_break and buffer.text[span.end] == "\n")
        buffer.cursor_position = max(span.end - (not takes_end), span.start)


def _word(big: bool, with_blanks: bool, buffer: Buffer, count: int) -> VimSpan | None:
    cursor = WordCursor(buffer.text, buffer.cursor_position, big=big)
    span = cursor.around(count, with_blanks=with_blanks)
    if span is None:
        buffer.cursor_position = cursor.place  # vim's cursor stays as far as it came
    return span


def _quoted(quote: str, inner: bool, buffer: Buffer, count: int) -> VimSpan | None:
    return quoted(buffer.text, buffer.cursor_position, quote, inner=inner, with_quotes=count > 1)


def _bracketed(brackets: str, inner: bool, buffer: Buffer, count: int) -> VimSpan | None:
    return bracketed(buffer.text, buffer.cursor_position, brackets, count, inner=inner)


def _go_by(cursor: WordCursor, count: int, motion: Motion) -> bool:
    """Do `motion`; behind the last character of a line nothing stands then. Whether it could be done."""
    is_done = motion(cursor, count)
    text, place = cursor.text, cursor.place
    is_end = place >= len(text) or text[place] == "\n"
    if is_end and place and text[place - 1] != "\n":
        cursor.place -= 1
    return is_done


def _kind(has_end: bool) -> TextObjectType:
    return TextObjectType.INCLUSIVE if has_end else TextObjectType.EXCLUSIVE


def count_of(event: KeyPressEvent) -> int:
    """The count before the operator by that behind it."""
    return int((event.app.vi_state.operator_arg or 1) * (event.arg or 1))


def do_operator(event: KeyPressEvent, target: TextObject | None) -> None:
    """Do what waits with `target`; with nothing, it waits no more."""
    state: Any = event.app.vi_state
    if target is not None and state.operator_func is not None:
        state.operator_func(event, target)
    state.operator_func = state.operator_arg = None
