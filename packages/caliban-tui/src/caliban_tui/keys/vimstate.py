"""The state of vi keys, with operators that take what vim's take. Importing this loads prompt-toolkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.clipboard import ClipboardData
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.key_binding.bindings.vi import TextObject, TextObjectType
from prompt_toolkit.key_binding.vi_state import InputMode, ViState
from prompt_toolkit.selection import SelectionType

from caliban_tui.keys.linebounds import after_indent, is_in_indent, line_end, line_start

ViOperator: TypeAlias = Callable[[KeyPressEvent, TextObject], None]


class OperatorRange(NamedTuple):
    """What an operator takes: from and up to which character, or the whole lines that these are on."""

    start: int
    end: int
    is_lines: bool = False


class GuardedViState(ViState):
    """See `ViState`. `operator` is the key of the operator that waits; `c`, `d` and `y` are done here.

    Over nothing (`d0` at the beginning, `dtx` without an x) an operator does nothing: prompt-toolkit would
    take the character before it, and put the text in twice.
    """

    def __init__(self, operator: Callable[[], str]) -> None:
        self._key = operator
        self._operator: ViOperator | None = None
        super().__init__()

    @property
    def operator_func(self) -> ViOperator | None:
        """What waits for a text object."""
        return self._guarded if self._operator is not None else None

    @operator_func.setter
    def operator_func(self, operator: ViOperator | None) -> None:
        self._operator = operator

    def _guarded(self, event: KeyPressEvent, target: TextObject) -> None:
        buffer, key = event.current_buffer, self._key()
        taken = operator_range(buffer.document, target, key)
        if key in ("c", "d", "y"):
            operate(event, key, taken)
        elif self._operator is not None and (taken.start < taken.end or taken.is_lines):
            self._operator(event, _target(buffer, taken))
            if key == "g":
                buffer.cursor_position = taken.start


def operator_range(document: Document, target: TextObject, key: str) -> OperatorRange:
    """What `target` is for the operator `key`.

    A motion that ends where a line begins ends with the line before, and takes whole lines where it begins
    in an indent; what `d` takes of several lines is whole lines, too, if nothing is left of these.
    """
    text, place = document.text, document.cursor_position
    start, end = (place + offset for offset in target.sorted())
    if target.type == TextObjectType.LINEWISE:
        return OperatorRange(start, end, is_lines=True)
    if target.type == TextObjectType.INCLUSIVE:
        end += text[end : end + 1] not in ("", "\n")
    elif start < end and "\n" in text[start:end] and text[end - 1] == "\n":
        end -= 1
        if is_in_indent(text, start):
            return OperatorRange(start, end, is_lines=True)
    if key == "d" and "\n" in text[start:end] and is_in_indent(text, start):
        behind = text[end : line_end(text, end)]
        if not behind.strip():
            return OperatorRange(start, end, is_lines=True)
    return OperatorRange(start, end)


def operate(event: KeyPressEvent, key: str, taken: OperatorRange) -> None:
    """Change, delete or yank; what it took can be put."""
    buffer = event.current_buffer
    text, start, end = buffer.text, taken.start, taken.end
    if taken.is_lines:
        start, end = line_start(text, start), line_end(text, max(end, start))
    kind = SelectionType.LINES if taken.is_lines else SelectionType.CHARACTERS
    if start < end or taken.is_lines:
        event.app.clipboard.set_data(ClipboardData(text[start:end], kind))
    if key == "y":
        buffer.cursor_position = taken.start
        return
    if taken.is_lines and key == "d":
        _delete_lines(buffer, start, end)
    elif start < end:
        buffer.document = Document(text[:start] + text[end:], start)
    elif not taken.is_lines:
        buffer.cursor_position = start
    if key == "c":
        event.app.vi_state.input_mode = InputMode.INSERT


def _delete_lines(buffer: Buffer, start: int, end: int) -> None:
    """The cursor goes to the first character that is no blank, of the line that is there then."""
    text = buffer.text
    if end < len(text):
        text = text[:start] + text[end + 1 :]
    else:
        text = text[: max(start - 1, 0)]
        start = line_start(text, len(text))
    buffer.document = Document(text, after_indent(text, start))


def _target(buffer: Buffer, taken: OperatorRange) -> TextObject:
    start, end = taken.start - buffer.cursor_position, taken.end - buffer.cursor_position
    if taken.is_lines:
        return TextObject(start, end, TextObjectType.LINEWISE)
    return TextObject(start, end - 1, TextObjectType.INCLUSIVE)
