"""The buffer of the draft, and the application around it. Importing this loads prompt-toolkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import vi_mode
from prompt_toolkit.key_binding import ConditionalKeyBindings
from prompt_toolkit.layout import BufferControl, Layout, Window
from prompt_toolkit.output import DummyOutput

from caliban_tui.draft.pastes import PastedTexts
from caliban_tui.keys.source import StrokeProcessor, TerminalInput
from caliban_tui.keys.stroke import KeyStroke
from caliban_tui.keys.vimkeys import vim_keys
from caliban_tui.keys.vimstate import GuardedViState

ESCAPE_S: Final = 0.05
"""A sequence that has not gone on for so long is over: an Escape is one."""

CHORD_S: Final = 0.3


class DraftBuffer(Buffer):
    """A buffer of several lines whose way up from the first one leads to `recall`, and down from the last.

    `recall(steps, text)` gives the entry so many steps on, those back being negative, or `None` at the end;
    `text` is what stands here now. The cursor goes round the placeholders of `pastes`, and a deletion that
    takes a part of one takes it whole. `changed` hears of each other text.
    """

    def __init__(
        self,
        recall: Callable[[int, str], str | None],
        pastes: PastedTexts,
        *,
        changed: Callable[[str], None],
    ) -> None:
        self._recall = recall
        self._pastes = pastes
        self._told = changed
        self._before = ("", 0)
        super().__init__(
            multiline=True,
            on_text_changed=lambda _: self._mend(),
            on_cursor_position_changed=lambda _: self._move_out(),
        )

    def _mend(self) -> None:
        mended = self._pastes.mended(self._before[0], self.text, self.cursor_position)
        self._before = (self.text, self.cursor_position)
        if mended is None:
            self._told(self.text)
            return
        self._before = mended
        self.document = Document(*mended)

    def _move_out(self) -> None:
        outside = self._pastes.outside(self.text, self.cursor_position, self._before[1])
        self._before = (self._before[0], outside)
        if outside != self.cursor_position:
            self.cursor_position = outside

    def history_backward(self, count: int = 1) -> None:
        """Go to an older entry, the cursor at its end."""
        self._go(-count)

    def history_forward(self, count: int = 1) -> None:
        """Go to a newer one."""
        self._go(count)

    def _go(self, steps: int) -> None:
        text = self._recall(steps, self.text)
        if text is not None:
            self.save_to_undo_stack()
            self.document = Document(text, len(text))


def line_application(
    terminal: TerminalInput,
    draft: DraftBuffer,
    take: Callable[[KeyStroke], bool],
    taken: Callable[[KeyStroke], None],
    operator: Callable[[], str],
) -> tuple[Application[Any], StrokeProcessor]:
    """prompt-toolkit's application with one hidden window, and what gives the draft its keys."""
    app: Application[Any] = Application(
        layout=Layout(Window(BufferControl(draft))),
        key_bindings=ConditionalKeyBindings(vim_keys(operator), vi_mode),
        input=terminal,
        output=DummyOutput(),
        max_render_postpone_time=0,
        terminal_size_polling_interval=None,  # SIGWINCH tells, and an idle program sleeps
        erase_when_done=True,
    )
    app.vi_state = GuardedViState(operator)
    app.ttimeoutlen, app.timeoutlen = ESCAPE_S, CHORD_S
    app.key_processor = keys = StrokeProcessor(app.key_processor._bindings, take, taken)
    return app, keys
