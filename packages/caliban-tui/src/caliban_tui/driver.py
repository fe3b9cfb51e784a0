"""The driver: keys and events in, prompts and frames out, for one terminal and one conversation at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec.structs import replace

from caliban_commands.answer import CommandAnswer, Quit, SubmitPrompt, SwitchSession
from caliban_common.errors import CalibanError
from caliban_common.message import user
from caliban_drive.notice import Notice
from caliban_tui.blocks import AnswerBlock, EndBlock, NoticeBlock, PromptBlock
from caliban_tui.desk import ApprovalDesk
from caliban_tui.fold import fold
from caliban_tui.keys.table import KEYS, Action
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.stage import Stage
from caliban_tui.theme import DARK
from caliban_tui.tty import Tty
from caliban_tui.ui import DraftView, UiState
from caliban_tui.view import ConversationView

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.key_binding.key_processor import KeyPress

    from caliban_tui.host import TerminalHost

AGAIN_S: Final = 1.0


class TerminalDriver:
    """The terminal interface over one terminal.

    `run` reads keys until the person leaves; `converse` holds one conversation and says what is wanted next.
    `desk` is the approver of its sessions, `report` takes notices, `interrupt` comes from a signal.
    """

    def __init__(self, tty: Tty) -> None:
        self._stage = Stage(tty, InlinePainter(DARK), self._ui, self.leave)
        self.desk: ApprovalDesk = ApprovalDesk(self._stage.changed)
        self._host: TerminalHost | None = None
        self._lines: deque[str] = deque()
        self._line_came = anyio.Event()
        self._next: SwitchSession | None = None
        self._left = False
        self._hint = ""
        self._pressed: tuple[str, float] = ("", 0.0)
        self._began_s = time.monotonic()
        self._actions: Mapping[Action, Callable[[Buffer], None]] = {
            "send": self._submit,
            "newline": lambda buffer: buffer.insert_text("\n"),
            "queue": self._queue,
            "interrupt": self._interrupt,
            "clear_or_quit": self._clear_or_quit,
            "end_of_file": self._end_of_file,
            "redraw": lambda buffer: self._stage.redraw(),
            "cycle_mode": self._cycle_mode,
            "suspend": self._suspend,
        }
        self._app: Application[Any] = self._application()

    @property
    def has_left(self) -> bool:
        """Whether the person wants to leave."""
        return self._left

    async def run(self) -> None:
        """Show the screen and read keys until `leave`. Raises `TerminalGone`."""
        self._stage.open()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._stage.run)
                try:
                    await self._app.run_async(handle_sigint=False, set_exception_handler=False)
                except EOFError:
                    pass
                self.leave()
                tasks.cancel_scope.cancel()
        finally:
            self._stage.close()

    async def converse(self, host: TerminalHost) -> SwitchSession | None:
        """Answer what is typed until another session is wanted; `None` where the person leaves."""
        self._host, self._next = host, None
        self.desk.host = host.desk
        self._stage.changed()
        try:
            while not self._left and self._next is None:
                await self._line_came.wait()
                self._line_came = anyio.Event()
                while self._lines and not self._left and self._next is None:
                    await self._take(self._lines.popleft(), host)
        finally:
            self._host = self.desk.host = None
        return self._next

    def report(self, notice: Notice) -> None:
        """A notice from below: into the transcript."""
        self._stage.show(NoticeBlock(level="warning", text=notice.message, hint=notice.hint or ""))

    def type_ahead(self, line: str) -> None:
        """Take `line` as if it had been typed."""
        self._lines.append(line)
        self._line_came.set()

    def leave(self) -> None:
        """End it: the prompt at work is interrupted, the screen closes."""
        self._left = True
        self._line_came.set()
        if self._host is not None:
            self._host.session.interrupt()
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    async def _take(self, line: str, host: TerminalHost) -> None:
        try:
            if line.startswith("!"):
                self._stage.show(await host.shell(line[1:].strip()))
                return
            called = host.commands.called(line) if line.startswith("/") else None
            if called is None:
                await self._prompt(line, host)
                return
            command, arguments = called
            answer = await host.commands.run(command, arguments, host, "idle")
            await self._answered(line, answer, host)
        except CalibanError as error:
            self._stage.show(NoticeBlock(level="error", text=error.message, hint=error.hint or ""))

    async def _answered(self, line: str, answer: CommandAnswer, host: TerminalHost) -> None:
        if answer.parts:
            self._stage.show(AnswerBlock(line=line, parts=answer.parts))
        match answer.effect:
            case None:
                return
            case Quit():
                self.leave()
            case SwitchSession():
                self._next = answer.effect
            case SubmitPrompt():
                await self._prompt(answer.effect.text, host)
            case _:
                words = f"the terminal interface has no {answer.effect.type} yet"
                self._stage.show(NoticeBlock(level="warning", text=words))

    async def _prompt(self, text: str, host: TerminalHost) -> None:
        message = await host.message(text)
        self._stage.show(PromptBlock(text=text))
        now = time.monotonic()
        self._stage.view = ConversationView(is_working=True, began_s=now)
        try:
            async with host.session.submit(message) as submission:
                async for event in submission.events:
                    view, blocks = fold(self._stage.view, event, time.monotonic(), host.describe)
                    self._stage.view = view
                    if blocks:
                        self._stage.show(*blocks)
                    self._stage.changed()
            result = submission.result
            words = "" if not result.is_error else (result.error or result.subtype)
            duration_s = time.monotonic() - now
            end = EndBlock(duration_s=duration_s, turns=result.turns, cost_usd=result.cost_usd, words=words)
            self._stage.show(end)
        finally:
            self._stage.view = ConversationView()
            self._stage.changed()
        for late in host.session.unread():
            self._lines.appendleft(late.text)

    def _ui(self) -> UiState:
        """The state of the keyboard, for a frame."""
        buffer = self._app.current_buffer
        host = self._host
        return UiState(
            draft=DraftView(text=buffer.text, cursor=buffer.cursor_position),
            queued=tuple(self._lines),
            question=self.desk.open,
            status=replace(host.status()) if host is not None else UiState().status,
            hint=self._hint,
            tick=int((time.monotonic() - self._began_s) / 0.25),
        )

    def _application(self) -> Application[Any]:
        from prompt_toolkit.application import Application
        from prompt_toolkit.buffer import Buffer
        from prompt_toolkit.input import create_input
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.layout import BufferControl, Layout, Window
        from prompt_toolkit.output import DummyOutput

        from caliban_tui.live import LiveRenderer

        bindings = KeyBindings()
        for row in KEYS:
            bindings.add(*row.keys)(self._bound(row.action))

        draft = Buffer(multiline=True, on_text_changed=lambda _: self._typed())
        app: Application[Any] = Application(
            layout=Layout(Window(BufferControl(draft))),
            key_bindings=bindings,
            input=create_input(),
            output=DummyOutput(),
            erase_when_done=True,
        )
        app.ttimeoutlen, app.timeoutlen = 0.05, 0.3
        app.renderer = LiveRenderer(self._stage.paint)
        app.key_processor.feed_multiple = partial(  # type: ignore[method-assign]
            self._unasked, app.key_processor.feed_multiple
        )
        return app

    def _unasked(
        self, feed: Callable[[list[KeyPress]], None], keys: list[KeyPress], first: bool = False
    ) -> None:
        """Give the line editor the keys that no question takes."""
        feed([press for press in keys if not self.desk.key(str(getattr(press.key, "value", press.key)))])
        self._stage.changed()

    def _typed(self) -> None:
        self._hint = ""
        self.desk.touched()

    def _bound(self, action: Action) -> Callable[[KeyPressEvent], None]:
        def act(event: KeyPressEvent) -> None:
            self._act(action, event)

        return act

    def _act(self, action: Action, event: KeyPressEvent) -> None:
        """Do what a key means, and show it."""
        self._actions[action](event.current_buffer)
        self._stage.changed()

    def _submit(self, buffer: Buffer) -> None:
        self._send(buffer.text, steers=self._stage.view.is_working)
        buffer.reset(append_to_history=True)

    def _queue(self, buffer: Buffer) -> None:
        if buffer.text.strip():
            self._send(buffer.text, steers=False)
            buffer.reset(append_to_history=True)

    def _interrupt(self, buffer: Buffer) -> None:
        working = self._stage.view.is_working
        if working and self._twice("interrupt", "esc again interrupts") and self._host is not None:
            self._host.session.interrupt()

    def _clear_or_quit(self, buffer: Buffer) -> None:
        if buffer.text:
            buffer.reset(append_to_history=True)
        elif self._stage.view.is_working and self._host is not None:
            self._host.session.interrupt()
        elif self._twice("quit", "ctrl+c again leaves"):
            self.leave()

    def _end_of_file(self, buffer: Buffer) -> None:
        if not buffer.text:
            self.leave()

    def _cycle_mode(self, buffer: Buffer) -> None:
        if self._host is not None:
            self._host.cycle_mode()

    def _suspend(self, buffer: Buffer) -> None:
        self._hint = "suspending is not built yet"

    def _send(self, text: str, *, steers: bool) -> None:
        if not text.strip():
            return
        if steers and self._host is not None and not text.startswith(("/", "!")):
            self._host.session.steer(user(text))
            self._stage.show(PromptBlock(text=text, steered=True))
            return
        self.type_ahead(text)

    def _twice(self, what: str, hint: str) -> bool:
        """Whether a key was pressed for the second time within a second; a hint asks for it."""
        now = time.monotonic()
        before, at_s = self._pressed
        self._pressed = (what, now)
        if before == what and now - at_s < AGAIN_S:
            self._hint = ""
            return True
        self._hint = hint
        return False
