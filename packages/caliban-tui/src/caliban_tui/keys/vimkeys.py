"""Commands of vim that prompt-toolkit has not, or has otherwise. Importing this loads prompt-toolkit.

Marks, paragraphs, quotes with their blanks, `cw`, counts of `~`, `G` and `gg`, `p` over a selection, numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.filters.app import vi_navigation_mode, vi_selection_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.vi import (
    TextObject,
    TextObjectType,
    create_text_object_decorator,
)
from prompt_toolkit.keys import Keys
from prompt_toolkit.selection import PasteMode, SelectionType

from caliban_common.lazy import lazy_pattern
from caliban_tui.keys.linebounds import line_end, line_start
from caliban_tui.keys.vimlines import add_lines, may_begin
from caliban_tui.keys.vimobjects import add_pairs, add_words
from caliban_tui.keys.vimstate import OperatorRange, operate

NUMBER: Final = lazy_pattern(r"-?\d+")


@Condition
def is_at_nothing() -> bool:
    """Whether the cursor's line is empty."""
    return not get_app().current_buffer.document.current_line


def vim_keys(operator: Callable[[], str]) -> KeyBindings:
    """The bindings; marks belong to them. `operator` is the key of the operator that waits."""
    keys = KeyBindings()
    _add_marks(keys)
    _add_objects(keys)
    add_words(keys, operator)
    add_pairs(keys)
    add_lines(keys)
    _add_changes(keys)
    _add_blocks(keys)
    return keys


def _add_marks(keys: KeyBindings) -> None:
    marks: dict[str, int] = {}
    text_object = create_text_object_decorator(keys)

    @keys.add("m", Keys.Any, filter=vi_navigation_mode & may_begin)
    def _(event: KeyPressEvent) -> None:
        marks[event.key_sequence[1].data] = event.current_buffer.cursor_position

    @text_object("`", Keys.Any, no_selection_handler=False)
    def _(event: KeyPressEvent) -> TextObject:
        buffer = event.current_buffer
        place = min(marks.get(event.key_sequence[1].data, buffer.cursor_position), len(buffer.text))
        return TextObject(place - buffer.cursor_position)

    @text_object("'", Keys.Any, no_selection_handler=False)
    def _(event: KeyPressEvent) -> TextObject:
        buffer = event.current_buffer
        place = min(marks.get(event.key_sequence[1].data, buffer.cursor_position), len(buffer.text))
        start = line_start(buffer.text, place)
        return TextObject(start - buffer.cursor_position, type=TextObjectType.LINEWISE)


def _add_objects(keys: KeyBindings) -> None:
    text_object = create_text_object_decorator(keys)

    @text_object("i", "p", no_move_handler=True)
    def _(event: KeyPressEvent) -> TextObject:
        return _paragraph(event.current_buffer, event.arg, with_blanks=False)

    @text_object("a", "p", no_move_handler=True)
    def _(event: KeyPressEvent) -> TextObject:
        return _paragraph(event.current_buffer, event.arg, with_blanks=True)

    @text_object("G")
    def _(event: KeyPressEvent) -> TextObject:
        document = event.current_buffer.document
        has_count = event._arg is not None and event.app.vi_state.operator_func is None
        row = min(event.arg, document.line_count) - 1 if has_count else document.line_count - 1
        place = document.translate_row_col_to_index(row, 0)
        return TextObject(place - document.cursor_position, type=TextObjectType.LINEWISE)


def _add_blocks(keys: KeyBindings) -> None:
    @Condition
    def is_block() -> bool:
        selection = get_app().current_buffer.selection_state
        return selection is not None and selection.type == SelectionType.BLOCK

    @keys.add("d", filter=vi_selection_mode & is_block)
    def _(event: KeyPressEvent) -> None:
        event.app.clipboard.set_data(event.current_buffer.cut_selection())

    @keys.add("y", filter=vi_selection_mode & is_block)
    def _(event: KeyPressEvent) -> None:
        event.app.clipboard.set_data(event.current_buffer.copy_selection())

    @keys.add("r", Keys.Any, filter=vi_selection_mode)
    def _(event: KeyPressEvent) -> None:
        buffer, put = event.current_buffer, event.key_sequence[1].data
        text = list(buffer.text)
        ranges = list(buffer.document.selection_ranges())
        for start, end in ranges:
            for place in range(start, min(end, len(text))):
                text[place] = text[place] if text[place] == "\n" else put
        buffer.exit_selection()
        if len(put) == 1 and put.isprintable():
            buffer.document = Document("".join(text), ranges[0][0] if ranges else buffer.cursor_position)


def _paragraph(buffer: Buffer, count: int, *, with_blanks: bool) -> TextObject:
    """Lines around the cursor that are all blank, or all not; `with_blanks` also the blank ones behind."""
    document = buffer.document
    lines, row = document.lines, document.cursor_position_row
    first = last = row

    def is_blank(number: int) -> bool:
        return not lines[number].strip()

    while first > 0 and is_blank(first - 1) == is_blank(row):
        first -= 1
    last = first - 1
    for number in range(count * (2 if with_blanks else 1)):
        if last + 1 >= len(lines):
            if with_blanks and number % 2 and first > 0 and is_blank(first - 1):
                while first > 0 and is_blank(first - 1):
                    first -= 1
            break
        kind = is_blank(last + 1)
        while last + 1 < len(lines) and is_blank(last + 1) == kind:
            last += 1
    start = document.translate_row_col_to_index(first, 0) - document.cursor_position
    end = document.translate_row_col_to_index(last, len(lines[last])) - document.cursor_position
    return TextObject(start, end, TextObjectType.LINEWISE)


def _add_changes(keys: KeyBindings) -> None:
    begins = vi_navigation_mode & may_begin

    @keys.add("~", filter=begins)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        count = min(event.arg, len(buffer.document.current_line_after_cursor))
        place = buffer.cursor_position
        changed = buffer.text[place : place + count].swapcase()
        buffer.document = Document(
            buffer.text[:place] + changed + buffer.text[place + count :], place + len(changed)
        )

    @keys.add("r", Keys.Any, filter=begins & is_at_nothing)
    def _(event: KeyPressEvent) -> None:
        """Nothing is there to replace."""

    @keys.add("s", filter=begins)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        end = min(buffer.cursor_position + event.arg, line_end(buffer.text, buffer.cursor_position))
        operate(event, "c", OperatorRange(buffer.cursor_position, end))

    @keys.add("p", filter=vi_selection_mode)
    @keys.add("P", filter=vi_selection_mode)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        data = event.app.clipboard.get_data()
        buffer.cut_selection()
        is_end = buffer.document.is_cursor_at_the_end_of_line and data.type != SelectionType.LINES
        buffer.paste_clipboard_data(data, paste_mode=PasteMode.VI_BEFORE)
        if is_end and buffer.cursor_position < len(buffer.text):
            buffer.cursor_position = max(buffer.cursor_position, 0)

    @keys.add("c-a", filter=begins)
    def _(event: KeyPressEvent) -> None:
        _add_to_number(event.current_buffer, event.arg)

    @keys.add("c-x", filter=begins)
    def _(event: KeyPressEvent) -> None:
        _add_to_number(event.current_buffer, -event.arg)


def _add_to_number(buffer: Buffer, number: int) -> None:
    """Add to the number under the cursor, or the next one in its line."""
    start = line_start(buffer.text, buffer.cursor_position)
    line = buffer.text[start : line_end(buffer.text, start)]
    column = buffer.cursor_position - start
    match = next((match for match in NUMBER.finditer(line) if match.end() > column), None)
    if match is None or len(match[0]) > 100:
        return
    text = str(int(match[0]) + number)
    whole = buffer.text[: start + match.start()] + text + buffer.text[start + match.end() :]
    buffer.document = Document(whole, start + match.start() + len(text) - 1)
