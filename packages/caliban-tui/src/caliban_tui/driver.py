"""The driver: keys and events in, prompts and frames out, for one terminal and one conversation at a time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import anyio
from anyio.abc import TaskGroup

from caliban_commands.answer import (
    AnswerPart,
    ClearTranscript,
    CommandEffect,
    OpenView,
    ShownChoice,
    ShownText,
    ShowTerminal,
    SwitchSession,
    UseScreen,
)
from caliban_common.errors import CalibanError
from caliban_tui.appearance import Appearance
from caliban_tui.compose import overlay_room
from caliban_tui.draft.drafting import Drafting, DraftScreen
from caliban_tui.draft.ports import EditorOptions
from caliban_tui.effects import do_outside, outside_of, show_in_editor
from caliban_tui.errors import TerminalError, TerminalGone
from caliban_tui.keys.held import HeldKeys
from caliban_tui.keys.stops import StopKeys
from caliban_tui.keys.stroke import PASTE
from caliban_tui.keys.table import KeyRow
from caliban_tui.overlay.window import OverlayWindow
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.question.desk import ApprovalDesk
from caliban_tui.question.noteplace import ask_place
from caliban_tui.screen import ScreenSize
from caliban_tui.stage import OVER_S, Stage
from caliban_tui.status import StatusLine
from caliban_tui.talk import Talk
from caliban_tui.terminal.notify import call
from caliban_tui.terminal.suspend import suspend, watch_stops
from caliban_tui.terminal.tty import Tty
from caliban_tui.theme.theme import DARK
from caliban_tui.transcript.blocks import AnswerBlock, NoticeBlock, TranscriptBlock
from caliban_tui.ui import UiState
from caliban_tui.waiting import WaitingLine, WaitingLines

if TYPE_CHECKING:
    from caliban_drive.notice import Notice
    from caliban_drive.result import PromptResult
    from caliban_tui.host import NotePlace, TerminalHost

LEAVING: Final = ("escape", "c-c", "c-d")
"""Keys that wait for nothing while there is no conversation yet."""


class TerminalDriver:
    """The terminal interface over one terminal.

    `run` reads keys until the person leaves; `converse` holds one conversation and says what is wanted next.
    `desk` is the approver of its sessions, `report` takes notices. `is_shown` once it can be typed into,
    `left` once the person wants to leave, `is_gone` once the terminal is given back. `status` stands in the
    status line while there is no conversation. With `shows_faults` a fault of ours ends the program.
    """

    def __init__(self, tty: Tty, env: Mapping[str, str] | None = None) -> None:
        self.desk: ApprovalDesk = ApprovalDesk(self._question_changed)
        self.is_shown = anyio.Event()
        self.is_gone = anyio.Event()
        self.status: StatusLine = StatusLine(state="starting")
        self._farewell = ""
        self._is_over = anyio.Event()
        self.shows_faults = False
        self.lines: WaitingLines = WaitingLines()
        self.stage: Stage = Stage(tty, InlinePainter(DARK), self._ui, self.leave)
        self.talk: Talk | None = None
        self._tasks: TaskGroup | None = None
        self.left = anyio.Event()
        self._waits: anyio.Event | None = None
        self._has_focus = True
        self._asks = False
        self._hint = ""
        self._began_s = time.monotonic()
        self.window: OverlayWindow = OverlayWindow(self)
        self._drafting = Drafting(
            {
                "send": self._submit,
                "complete": partial(self._submit, steers=False),
                "interrupt": lambda: self._stops.escape(),  # noqa: PLW0108 - it is made later
                "clear_or_quit": lambda: self._stops.clear_or_quit(),  # noqa: PLW0108 - likewise
                "end_of_file": self.leave,
                "redraw": self.stage.redraw,
                "cycle_mode": self._cycle_mode,
                "suspend": suspend,
                "take_back": self._take_back,
                "viewer": partial(self._open_view, "transcript"),
                "page_up": partial(self._page, -1),
                "page_down": partial(self._page, 1),
                "background": partial(self._open_view, "tasks"),
                "todos": self.window.open_todos,
                "help": partial(self._open_view, "help"),
                "detail": lambda: self.appearance.next_detail(),  # noqa: PLW0108 - likewise
            },
            DraftScreen(
                draw=self.stage.paint,
                intercept=self._intercepts,
                answer=self._answered,
                say=self.say,
                given_over=self.stage.paused,
            ),
            EditorOptions(read_fd=tty.read_fd),
        )
        self._editor = self._drafting.editor
        self.held: HeldKeys = HeldKeys(self._editor)
        self._stops = StopKeys(self, self._editor, self.held, self.window)
        self.appearance: Appearance = Appearance(
            self.stage, self._editor, env or {}, say=self.say, complain=self.complain
        )

    @property
    def has_left(self) -> bool:
        """Whether the person wants to leave."""
        return self.left.is_set()

    async def run(self) -> None:
        """Show the screen and read keys until `leave`. Raises `TerminalGone`."""
        self.stage.open()
        self._editor.begin_with(self.stage.tty.typed)
        self.appearance.begin()
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                tasks.start_soon(self.stage.run)
                tasks.start_soon(watch_stops, self.stage)
                self.is_shown.set()
                with suppress(TerminalGone):
                    await self._editor.run()
                self.leave()
                with anyio.move_on_after(OVER_S if self.stage.is_open else 0):
                    await self._is_over.wait()  # what was at work has an end that is shown, too
                tasks.cancel_scope.cancel()
        finally:
            self.stage.close(self._farewell)
            self.is_gone.set()

    async def converse(self, host: TerminalHost, tasks: TaskGroup) -> SwitchSession | None:
        """Answer what is typed until another session is wanted; `None` where the person leaves.

        `tasks` holds what a conversation does beside its prompts.
        """
        if self.has_left:
            return None
        self.talk = Talk(host, self.stage, self.lines, self, tasks)
        self.desk.host = host.desk
        self._drafting.use(host, lambda: self.talk is not None and self.talk.is_at_work)
        self.stage.changed()
        try:
            return await self.talk.run()
        finally:
            self.talk = self.desk.host = None
            self._drafting.use(None)
            self.window.close()
            if not self.lines:
                self.held.came()

    def part(self, farewell: str) -> None:
        """The conversation is over; `farewell` is the last line where the person has left."""
        self._farewell = farewell
        if self.has_left:
            self._is_over.set()

    def report(self, notice: Notice) -> None:
        """A notice from below: into the transcript."""
        self.stage.show(NoticeBlock(level="warning", text=notice.message, hint=notice.hint or ""))

    def complain(self, error: CalibanError) -> None:
        """What went wrong outside of a conversation: into the transcript."""
        self.stage.show(NoticeBlock(level="error", text=error.message, hint=error.hint or ""))

    def welcome(self, markdown: str) -> None:
        """Words for a person who cannot begin yet."""
        self.show(AnswerBlock(line="", parts=(ShownText(markdown=markdown),)))

    async def wait_for_line(self) -> None:
        """Until something is typed and sent, or the person leaves; an empty line counts, and is taken."""
        self.held.came()
        self._waits = anyio.Event()
        await self._waits.wait()
        self._waits = None

    def type_ahead(self, line: str) -> None:
        """Take `line` as if it had been typed."""
        self.lines.put(WaitingLine(text=line))

    def leave(self) -> None:
        """End it: the prompt at work is interrupted, the screen closes."""
        self.left.set()
        if self.talk is None:
            self._is_over.set()
        self.lines.wake()
        if self._waits is not None:
            self._waits.set()
        if self.talk is not None:
            self.talk.stop()
        self._editor.exit()

    @property
    def host(self) -> TerminalHost | None:
        """See `WindowScreen`."""
        return None if self.talk is None else self.talk.host

    @property
    def keys(self) -> tuple[KeyRow, ...]:
        """See `WindowScreen`."""
        return self._editor.keys.rows

    @property
    def is_at_work(self) -> bool:
        """See `WindowScreen`."""
        return self.talk is not None and self.talk.is_at_work

    def room(self) -> ScreenSize:
        """See `WindowScreen`."""
        return overlay_room(self.stage.tty.size())

    def changed(self) -> None:
        """See `WindowScreen`."""
        self.stage.changed()

    def show(self, *blocks: TranscriptBlock) -> None:
        """See `WindowScreen`."""
        self.stage.show(*blocks)

    def start(self, work: Callable[[], Awaitable[None]], *, is_seen: bool = False) -> None:
        """See `WindowScreen`."""
        if self.talk is not None:
            self.talk.start(work, is_seen=is_seen)

    def closed(self) -> None:
        """See `WindowScreen`."""
        self.lines.wake()

    @property
    def is_choosing(self) -> bool:
        """See `TalkScreen`."""
        return self.window.is_asked

    def run_line(self, line: str) -> None:
        """See `WindowScreen`."""
        if self.talk is not None:
            self.talk.send_first(line)

    async def perform(self, effect: CommandEffect) -> None:
        """See `WindowScreen`."""
        if self.talk is None:
            return
        if isinstance(effect, SwitchSession) and self.talk.is_at_work:
            raise TerminalError("a prompt is at work: interrupt it before you go to another session")
        await self.talk.perform(effect)

    async def edit_text(self, text: str, suffix: str) -> None:
        """See `WindowScreen`."""
        await show_in_editor(text, outside_of(self.host, self._editor, self.stage))

    def choose(self, choice: ShownChoice) -> None:
        """See `TalkScreen`."""
        self.window.choose(choice, is_asked=not self.is_at_work)

    async def show_effect(self, effect: CommandEffect, parts: tuple[AnswerPart, ...]) -> None:
        """See `TalkScreen`."""
        match effect:
            case ShowTerminal():
                text = ShownText(markdown=self.appearance.setup())
                self.show(AnswerBlock(line="/terminal-setup", parts=(text,)))
            case OpenView():
                self.window.open(effect, parts, is_asked=not self.is_at_work)
            case ClearTranscript():
                self.stage.clear()
            case UseScreen():
                self.appearance.change(effect)
            case _:
                self.say(await do_outside(effect, outside_of(self.host, self._editor, self.stage)))

    async def choose_note_place(self, places: tuple[NotePlace, ...], note: str) -> NotePlace | None:
        """See `TalkScreen`."""
        return await ask_place(self.desk, places, note)

    def ended(self, result: PromptResult | None) -> None:
        """See `TalkScreen`."""
        has_failed = result is not None and result.is_error
        self._call("the prompt has failed" if has_failed else "the prompt is answered")

    def give_back(self, lines: tuple[WaitingLine, ...]) -> None:
        """See `TalkScreen`."""
        if not lines:
            return
        texts = [*(line.shown or line.text for line in lines), *filter(None, (self._editor.text,))]
        self._editor.set_text("\n".join(texts))
        self.stage.changed()

    def _call(self, words: str) -> None:
        if not self._has_focus:
            self.stage.send(call(words, self.appearance.options.notify))

    def _ui(self) -> UiState:
        host = None if self.talk is None else self.talk.host
        if host is not None and host.options is not self.appearance.options:
            self.appearance.use(host.options)
        return UiState(
            draft=self._editor.draft(),
            menu=self._editor.menu(),
            queued=(*(self.talk.steered if self.talk is not None else ()), *self.lines.texts),
            question=self.desk.open,
            status=host.status() if host is not None else self.status,
            hint=self._hint or self.held.hint,
            look=self.appearance.look,
            overlay=self.window.shown(),
            tick=0 if self.stage.is_still else int((time.monotonic() - self._began_s) / 0.25),
        )

    def say(self, words: str) -> None:
        """See `WindowScreen`."""
        self._hint = words
        self.stage.changed()

    def _question_changed(self) -> None:
        asks = self.desk.open is not None
        if asks and not self._asks:
            self._call("a question waits")
        self._asks = asks
        self.stage.changed()

    def _intercepts(self, name: str) -> bool:
        """Whether a key is the open question's; any other holds it off for a while."""
        if name != "escape":
            self._hint = ""
        self._stops.pressed(name)
        is_paste, text = name == PASTE, self._editor.stroke.text
        if self.desk.paste(text) if is_paste else self.desk.key(name, self.stage.scroll):
            return True
        if (self.talk is not None or name not in LEAVING) and self._stops.is_held(name):
            self.stage.changed()
            return True
        is_taken = self.window.paste(text) if is_paste else self.window.key(name)
        if not is_taken:
            self.held.typed()
        return is_taken

    def _answered(self, data: bytes) -> None:
        """The terminal says something of itself."""
        if data in (b"\x1b[I", b"\x1b[O"):
            self._has_focus = data == b"\x1b[I"
        else:
            self.appearance.answered(data)

    def _submit(self, *, steers: bool = True) -> None:
        if steers or self._editor.text.strip():
            shown = self._editor.text
            self._send(self._editor.take(), steers=steers, shown=shown)

    def go_back(self) -> None:
        """See `StopScreen`."""
        self._open_view("rewind")

    def _cycle_mode(self) -> None:
        if self.talk is not None:
            self._hint = self.talk.host.cycle_mode().warning
        else:
            self._hint = "nothing is open yet whose mode could change"

    def _open_view(self, view: Literal["transcript", "tasks", "help", "rewind"]) -> None:
        if self.talk is None:
            self.say("nothing is open yet")
        else:
            self.window.open(OpenView(view=view))

    def _page(self, pages: int) -> None:
        if not self.appearance.scroll(pages):
            self._open_view("transcript")

    def _take_back(self) -> None:
        self.give_back(self.lines.take_back())

    def _send(self, text: str, *, steers: bool, shown: str = "") -> None:
        if self._waits is not None:
            self._waits.set()
        self.appearance.follow()
        if self.talk is not None:
            self.talk.send(text, steers=steers, shown=shown)
        elif text.strip():
            if text.startswith("/") and not self.lines and self._waits is None:
                self.held.awaits(text)  # nobody knows yet what it opens
            self.lines.put(WaitingLine(text=text, shown=shown))
