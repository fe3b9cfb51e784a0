"""The line editor: prompt-toolkit's buffer and editing modes below our table of keys. It draws nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from caliban_common.errors import CalibanError
from caliban_tui.chores import DraftText, edit_draft, insert_pasted, paste_clipboard
from caliban_tui.draft.history import PromptHistory
from caliban_tui.draft.menu import MenuView
from caliban_tui.draft.pastes import PastedTexts
from caliban_tui.draft.ports import EditorOptions, EditorPorts, TerminalPrograms
from caliban_tui.draft.recall import PromptRecall
from caliban_tui.draft.search import HistorySearch
from caliban_tui.draft.suggest import DraftMenu, accepted
from caliban_tui.errors import TerminalGone
from caliban_tui.keys.bound import BoundKeys
from caliban_tui.keys.filter import KeyFilter
from caliban_tui.keys.stroke import PASTE, KeyStroke
from caliban_tui.keys.table import Action, KeyContext, KeyRow
from caliban_tui.ui import DraftView

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from prompt_toolkit.application import Application
    from prompt_toolkit.buffer import Buffer

    from caliban_tui.keys.source import TerminalInput

TYPED_KEYS: Final = frozenset(("backspace", "space", "delete", "c-w"))
"""Keys beside characters behind which a menu may open."""


class LineEditor:
    """The draft of one terminal, and its keys.

    `actions` do what the table says and the editor cannot: rows for anything else are not bound. `draw` is
    called when something has changed. `intercept` is asked first for every key by its name (`KeyStroke`):
    true means that an overlay or a question has taken it; during a call `stroke` is the key, with what was
    pasted.
    """

    def __init__(
        self,
        actions: Mapping[Action, Callable[[], None]],
        *,
        draw: Callable[[], None],
        intercept: Callable[[str], bool] = lambda name: False,
        ports: EditorPorts | None = None,
        options: EditorOptions | None = None,
    ) -> None:
        options = EditorOptions() if options is None else options
        self.stroke: KeyStroke = KeyStroke("")
        self._ports = EditorPorts() if ports is None else ports
        self._draw = draw
        self._intercept = intercept
        self._pastes = PastedTexts()
        self._recall = PromptRecall(self._pastes)
        self._menu = DraftMenu(self._ports.suggesters)
        self._search: HistorySearch | None = None
        self._tasks: TaskGroup | None = None
        self._later: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._given = dict(actions)
        self._acts: dict[Action, Callable[[], bool | None]] = {**actions, **self._own_actions()}
        self._chord: tuple[str, ...] = ()
        self._was = ("", 0)
        self._is_typed = False
        self._input, self._app = self._made(options)
        self.use_keys(options.rows)
        self.use_vim(options.vim)

    @property
    def history(self) -> PromptHistory:
        """What was typed before."""
        return self._recall.history

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
        """The whole draft, which is empty then and remembered: what sends it, and what clears it.

        So are drafts in whose place one of the history was put.
        """
        text = self.whole
        for line in (*(left for left in self._recall.left() if left != text), text):
            entry = self.history.add(line)
            if entry is not None:
                self.spawn(partial(self.history.keep, entry))
        self._recall.stop()
        self._menu.drop()
        self._buffer.reset()
        self._vim.reset()
        return text

    def draft(self) -> DraftView:
        """What is to be drawn of it."""
        if self._search is not None:
            return self._search.draft()
        return DraftView(text=self.text, cursor=self.cursor, mark=self._vim.mark, mode=self._vim.mode)

    def menu(self) -> MenuView | None:
        """What is to be drawn below it."""
        return self._menu.view() if self._search is None else self._search.view()

    def more_suggested(self) -> None:
        """A suggester knows more than it did."""
        self._menu.update(self.text, self.cursor, opens=self._is_typed)
        self._draw()

    def use_history(self, history: PromptHistory) -> None:
        """Walk and search another history; what was typed before goes into it."""

        async def load() -> None:
            owed = await self._recall.read(history)
            if owed:
                self._buffer.history_backward(owed)
            self._searched(HistorySearch.refresh)

        self.spawn(load)

    def use_keys(self, rows: tuple[KeyRow, ...]) -> None:
        """Take another table of keys."""
        self.keys: BoundKeys = BoundKeys(rows, known=self._acts)

    def use_vim(self, wanted: bool) -> None:
        """Edit as in vim, or as in emacs."""
        from prompt_toolkit.enums import EditingMode

        self._app.editing_mode = EditingMode.VI if wanted else EditingMode.EMACS

    def begin_with(self, typed: bytes) -> None:
        """Take `typed`, which somebody has read of the terminal, for the first keys of `run`."""
        self._input.unread = typed

    async def run(self) -> None:
        """Read keys until `exit`. Raises `TerminalGone` where the terminal ends first."""
        is_gone = False
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for job in (*self._ports.jobs, *self._later):
                tasks.start_soon(job)
            self._later.clear()
            try:
                await self._app.run_async(handle_sigint=False, set_exception_handler=False)
            except EOFError:
                is_gone = True
            finally:
                self._tasks = None
            tasks.cancel_scope.cancel()
        if is_gone:
            raise TerminalGone("the terminal was closed")

    def exit(self) -> None:
        """End `run`."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def press(self, stroke: KeyStroke) -> None:
        """Do what a key does, whoever has kept it until now."""
        if self._app.context is not None:
            self._app.context.copy().run(self._keys.stroke, stroke)

    def stop_reading(self) -> AbstractContextManager[None]:
        """Leave the terminal's keys to somebody else for the length of the block."""
        return self._input.detach()

    def spawn(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do something beside the keys; what fails is said."""

        async def work() -> None:
            try:
                await job()
            except CalibanError as error:
                self._ports.say(error.message)
            self._draw()

        if self._tasks is not None:
            self._tasks.start_soon(work)
        else:
            self._later.append(work)

    @property
    def _buffer(self) -> Buffer:
        return self._app.current_buffer

    def _own_actions(self) -> dict[Action, Callable[[], bool | None]]:
        """What the editor does by itself, and what it does before it asks whoever else does it."""
        return {
            "send": self._send,
            "newline": lambda: self._buffer.insert_text("\n"),
            "complete": self._complete,
            "interrupt": self._interrupt,
            "undo": lambda: self._buffer.undo(),  # noqa: PLW0108 - the buffer is made later
            "search_history": self._begin_search,
            "menu_up": lambda: self._menu.move(-1),
            "menu_down": lambda: self._menu.move(1),
            "menu_accept": self._accept,
            "menu_run": self._accept_and_send,
            "menu_close": self._menu.close,
            "search_older": lambda: self._searched(lambda search: search.move(1)),
            "search_newer": lambda: self._searched(lambda search: search.move(-1)),
            "search_wider": self._widen,
            "search_accept": self._end_search,
            "search_cancel": lambda: self._end_search(takes=False),
            "edit": lambda: self._with_programs(edit_draft),
            "paste": self._paste,
        }

    def _made(self, options: EditorOptions) -> tuple[TerminalInput, Application[Any]]:
        from caliban_tui.keys.draftbuffer import DraftBuffer, line_application
        from caliban_tui.keys.source import TerminalInput
        from caliban_tui.keys.vimchange import VimChanges
        from caliban_tui.live import LiveRenderer

        terminal = TerminalInput(options.read_fd, KeyFilter(self._ports.answer))
        draft = DraftBuffer(self._recall.step, self._pastes, changed=self._recall.follow)
        app, self._keys = line_application(
            terminal, draft, self._take, self._taken, lambda: self._vim.operator
        )
        app.renderer = LiveRenderer(self._draw)
        self._vim = VimChanges(app, self._keys.press)
        return terminal, app

    def _take(self, stroke: KeyStroke) -> bool:
        """Do what a key of ours means; false leaves it to prompt-toolkit."""
        self.stroke = stroke
        self._was = (self.text, self.cursor)
        if self._intercept(stroke.name):
            return True
        if self._search is not None and self._search_takes(self._search, stroke):
            return True
        if stroke.name == PASTE:
            self._vim.take(stroke)
            insert_pasted(self, self._ports, stroke.text)
            return True
        keys = (*self._chord, stroke.name)
        contexts = self._contexts()
        action = self.keys.action(contexts, keys)
        if action is not None:
            self._chord = ()
            if action == "newline":
                self._vim.take(stroke)
            return self._acts[action]() is not False or self._vim.take(stroke)
        if self.keys.begins(contexts, keys) and self._vim.is_typing:
            self._chord = keys
            return True
        chord, self._chord = self._chord, ()
        for name in chord:
            self._keys.press(KeyStroke(name))
        return self._vim.take(stroke)

    def _taken(self, stroke: KeyStroke) -> None:
        """A key has done what it does: the menu follows the draft."""
        self._vim.taken()
        text, cursor = now = (self.text, self.cursor)
        if now == self._was or self._search is not None:
            return
        if text == self._was[0]:
            self._menu.update(text, cursor, opens=False)
        elif (stroke.is_character or stroke.name in TYPED_KEYS or self._menu.is_open) and self._vim.is_typing:
            self._is_typed = True
            self._menu.update(text, cursor)
        else:
            self._is_typed = False
            self._menu.drop()

    def _contexts(self) -> tuple[KeyContext, ...]:
        if self._search is not None:
            return ("search",)
        draft: tuple[KeyContext, ...] = ("draft",) if self._buffer.text else ("empty", "draft")
        return ("menu", *draft) if self._menu.is_open else draft

    def _send(self) -> None:
        """Send, unless a backslash before the cursor makes a new line of Enter."""
        before = self._buffer.document.text_before_cursor
        if (len(before) - len(before.rstrip("\\"))) % 2:
            self._buffer.delete_before_cursor()
            self._buffer.insert_text("\n")
        elif "send" in self._given:
            self._given["send"]()

    def _complete(self) -> None:
        if not self._menu.reopen(self.text, self.cursor) and "complete" in self._given:
            self._given["complete"]()

    def _interrupt(self) -> bool | None:
        if self._vim.is_busy:
            return False
        if "interrupt" in self._given:
            self._given["interrupt"]()
        return None

    def _accept(self) -> None:
        chosen = self._menu.chosen()
        if chosen is None:
            return
        self.set_text(*accepted(self.text, *chosen))
        self._menu.drop()
        self._menu.update(self.text, self.cursor)

    def _accept_and_send(self) -> None:
        match self._menu.enter(self.text):
            case "take":
                self._accept()
            case "send":
                self._accept()
                self._menu.drop()
                self.set_text(self.text.rstrip())
                self._send()
            case "nothing":
                self._menu.drop()
                self._send()

    def _begin_search(self) -> bool | None:
        if not self._vim.is_typing:
            return False
        self._menu.drop()
        self._search = HistorySearch(self._recall.entries)
        return None

    def _searched(self, change: Callable[[HistorySearch], None]) -> None:
        if self._search is not None:
            change(self._search)

    def _search_takes(self, search: HistorySearch, stroke: KeyStroke) -> bool:
        """Whether the key is one for the query; one that means nothing here takes what is chosen first."""
        if search.takes(stroke):
            return True
        if self.keys.action(("search",), (stroke.name,)) is None:
            self._end_search()
        return False

    def _end_search(self, *, takes: bool = True) -> None:
        search, self._search = self._search, None
        if takes and search is not None and search.chosen is not None:
            self._recall.leave(self.text)
            self.set_text(self._recall.shown(search.chosen))

    def _widen(self) -> None:
        search = self._search
        if search is None or self.history.is_loaded(search.widen()):
            return
        search.is_loading = True

        async def load() -> None:
            try:
                await self.history.widen()
            finally:
                search.is_loading = False
            search.refresh()

        self.spawn(load)

    def _paste(self) -> bool | None:
        if not self._vim.is_typing:
            return False
        return self._with_programs(paste_clipboard)

    def _with_programs(
        self, chore: Callable[[DraftText, EditorPorts, TerminalPrograms], Awaitable[None]]
    ) -> bool | None:
        async def work() -> None:
            programs = self._ports.programs()
            if programs is None:
                self._ports.say("other programs can be started once all is open; press it again then")
            else:
                await chore(self, self._ports, programs)

        self.spawn(work)
        return None
