"""The line editor: prompt-toolkit's buffer and editing modes below our table of keys. It draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from caliban_tui.errors import TerminalGone
from caliban_tui.history import PromptRecall
from caliban_tui.keys.bound import BoundKeys
from caliban_tui.keys.filter import KeyFilter
from caliban_tui.keys.stroke import PASTE, KeyStroke
from caliban_tui.keys.table import KEYS, Action, KeyContext, KeyRow
from caliban_tui.pastes import PastedTexts
from caliban_tui.ui import DraftView

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.buffer import Buffer

    from caliban_tui.keys.source import StrokeProcessor, TerminalInput

ESCAPE_S: Final = 0.05
"""A sequence that has not gone on for so long is over: an Escape is one."""

CHORD_S: Final = 0.3


class EditorOptions(Struct, frozen=True, kw_only=True):
    """How a person writes. `rows` are the keys; `unread` is what was read of the terminal before."""

    read_fd: int = 0
    unread: bytes = b""
    vim: bool = False
    rows: tuple[KeyRow, ...] = KEYS


class LineEditor:
    """The draft of one terminal, and its keys.

    `actions` do what the table says and the editor cannot: rows for anything else are not bound. `draw` is
    called when something has changed. `intercept` is asked first for every key by its name (`KeyStroke`):
    true means that an overlay or a question has taken it; during a call with `paste`, `pasted` is what was
    pasted. `answer` is given each answer and report of the terminal.
    """

    def __init__(
        self,
        actions: Mapping[Action, Callable[[], None]],
        *,
        draw: Callable[[], None],
        intercept: Callable[[str], bool] = lambda name: False,
        answer: Callable[[bytes], None] = lambda data: None,
        options: EditorOptions | None = None,
    ) -> None:
        options = EditorOptions() if options is None else options
        self.pasted: str = ""
        self._draw = draw
        self._intercept = intercept
        self._pastes = PastedTexts()
        self._recall = PromptRecall()
        self._acts: dict[Action, Callable[[], bool | None]] = {**actions, **self._own_actions(actions)}
        self.keys: BoundKeys = BoundKeys(options.rows, known=self._acts)
        self._chord: tuple[str, ...] = ()
        self._before = ("", 0)
        self._filter = KeyFilter(answer)
        self._input, self._app = self._application(options)
        self.use_vim(options.vim)

    @property
    def text(self) -> str:
        """The draft as it is drawn: long pastes are placeholders."""
        return self._buffer.text

    @property
    def whole(self) -> str:
        """The draft with its pastes."""
        return self._pastes.whole(self._buffer.text)

    @property
    def cursor(self) -> int:
        """Where in `text` the next character goes."""
        return self._buffer.cursor_position

    def set_text(self, text: str, cursor: int | None = None) -> None:
        """Put `text` in the draft's place, with the cursor at its end; it can be undone."""
        from prompt_toolkit.document import Document

        self._buffer.save_to_undo_stack()
        self._buffer.document = Document(text, len(text) if cursor is None else min(cursor, len(text)))

    def insert(self, text: str) -> None:
        """Type `text` at the cursor; a long one becomes a placeholder."""
        self._buffer.save_to_undo_stack()
        self._buffer.insert_text(self._pastes.shown(text))

    def take(self) -> str:
        """The whole draft, which is empty then and remembered."""
        text = self.whole
        self._recall.add(text)
        self._before = ("", 0)
        self._buffer.reset()
        return text

    def clear(self) -> None:
        """Empty the draft; it is remembered."""
        self.take()

    def draft(self) -> DraftView:
        """What is to be drawn of it."""
        return DraftView(text=self.text, cursor=self.cursor)

    def use_vim(self, wanted: bool) -> None:
        """Edit as in vim, or as in emacs."""
        from prompt_toolkit.enums import EditingMode

        self._app.editing_mode = EditingMode.VI if wanted else EditingMode.EMACS

    async def run(self) -> None:
        """Read keys until `exit`. Raises `TerminalGone` where the terminal ends first."""
        try:
            await self._app.run_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:
            raise TerminalGone("the terminal was closed") from None

    def exit(self) -> None:
        """End `run`."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def stop_reading(self) -> AbstractContextManager[None]:
        """Leave the terminal's keys to somebody else for the length of the block."""
        return self._input.detach()

    @property
    def _buffer(self) -> Buffer:
        return self._app.current_buffer

    def _own_actions(self, given: Collection[Action]) -> dict[Action, Callable[[], bool | None]]:
        """What the editor does by itself, and what it does before it asks whoever else does it."""
        own: dict[Action, Callable[[], bool | None]] = {
            "newline": lambda: self._buffer.insert_text("\n"),
            "undo": self._undo,
        }
        return own

    def _undo(self) -> None:
        self._buffer.undo()

    def _application(self, options: EditorOptions) -> tuple[TerminalInput, Application[Any]]:
        from prompt_toolkit.application import Application
        from prompt_toolkit.layout import BufferControl, Layout, Window
        from prompt_toolkit.output import DummyOutput

        from caliban_tui.keys.draftbuffer import DraftBuffer
        from caliban_tui.keys.source import StrokeProcessor, TerminalInput
        from caliban_tui.live import LiveRenderer

        terminal = TerminalInput(options.read_fd, self._filter, unread=options.unread)
        draft = DraftBuffer(self._recall.step, changed=self._changed, moved=self._moved)
        app: Application[Any] = Application(
            layout=Layout(Window(BufferControl(draft))),
            input=terminal,
            output=DummyOutput(),
            max_render_postpone_time=0,
            erase_when_done=True,
        )
        app.ttimeoutlen, app.timeoutlen = ESCAPE_S, CHORD_S
        app.renderer = LiveRenderer(self._draw)
        app.key_processor = StrokeProcessor(app.key_processor._bindings, self._take)
        return terminal, app

    def _take(self, stroke: KeyStroke) -> bool:
        """Do what a key of ours means; false leaves it to prompt-toolkit."""
        self.pasted = stroke.text
        if self._intercept(stroke.name):
            return True
        if stroke.name == PASTE:
            self.insert(stroke.text)
            return True
        keys = (*self._chord, stroke.name)
        contexts = self._contexts()
        action = self.keys.action(contexts, keys)
        if action is not None:
            self._chord = ()
            return self._act(action) is not False
        if self.keys.begins(contexts, keys):
            self._chord = keys
            return True
        chord, self._chord = self._chord, ()
        for name in chord:
            self._processor.press(KeyStroke(name))
        return False

    def _act(self, action: Action) -> bool | None:
        if action == "send" and self._continues():
            return True
        if action == "interrupt" and self._is_vim_busy():
            return False
        return self._acts[action]()

    def _contexts(self) -> tuple[KeyContext, ...]:
        return ("draft",) if self._buffer.text else ("empty", "draft")

    def _continues(self) -> bool:
        """Whether a backslash before the cursor makes a new line of Enter, and make it."""
        before = self._buffer.document.text_before_cursor
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return False
        self._buffer.delete_before_cursor()
        self._buffer.insert_text("\n")
        return True

    def _is_vim_busy(self) -> bool:
        """Whether Escape means something to vim: to leave a mode, a selection, or a command half typed."""
        from prompt_toolkit.enums import EditingMode
        from prompt_toolkit.key_binding.vi_state import InputMode

        if self._app.editing_mode != EditingMode.VI:
            return self._buffer.selection_state is not None
        state = self._app.vi_state
        return (
            state.input_mode != InputMode.NAVIGATION
            or state.operator_func is not None
            or self._processor.arg is not None
            or bool(self._processor.key_buffer)
            or self._buffer.selection_state is not None
        )

    @property
    def _processor(self) -> StrokeProcessor:
        from caliban_tui.keys.source import StrokeProcessor

        assert isinstance(self._app.key_processor, StrokeProcessor)
        return self._app.key_processor

    def _changed(self) -> None:
        text, cursor = self._buffer.text, self._buffer.cursor_position
        mended = self._pastes.mended(self._before[0], text, cursor)
        self._before = (text, cursor)
        if mended is not None:
            from prompt_toolkit.document import Document

            self._before = mended
            self._buffer.document = Document(*mended)

    def _moved(self) -> None:
        place = self._buffer.cursor_position
        outside = self._pastes.outside(self._buffer.text, place, self._before[1])
        self._before = (self._before[0], outside)
        if outside != place:
            self._buffer.cursor_position = outside
