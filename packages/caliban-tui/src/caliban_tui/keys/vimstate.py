"""The state of vi keys, with an operator that has nothing to work on. Importing this loads prompt-toolkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.key_binding.bindings.vi import TextObject, TextObjectType
from prompt_toolkit.key_binding.vi_state import InputMode, ViState

ViOperator: TypeAlias = Callable[[KeyPressEvent, TextObject], None]


class GuardedViState(ViState):
    """See `ViState`. Over nothing (`d0` at the beginning, `dtx` without an x) an operator does nothing.

    prompt-toolkit would take the character before it, and put the text in twice. `is_changing` says whether
    the operator is `c`, which begins to insert then.
    """

    def __init__(self, is_changing: Callable[[], bool]) -> None:
        self._is_changing = is_changing
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
        buffer = event.current_buffer
        start, end = target.operator_range(buffer.document)
        if start < end or target.type == TextObjectType.LINEWISE:
            if self._operator is not None:
                self._operator(event, target)
        elif self._is_changing():
            buffer.cursor_position += max(start, 0)
            self.input_mode = InputMode.INSERT
