"""The driver: keys and events in, prompts and frames out, for one terminal and one conversation at a time."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from msgspec.structs import replace

from caliban_commands.answer import CommandAnswer, Quit, SubmitPrompt, SwitchSession
from caliban_common.errors import CalibanError
from caliban_common.message import user
from caliban_common.permission import Decision
from caliban_drive.notice import Notice
from caliban_tui.blocks import AnswerBlock, EndBlock, NoticeBlock, PromptBlock
from caliban_tui.desk import ApprovalDesk
from caliban_tui.editor import EditorOptions, LineEditor
from caliban_tui.errors import TerminalGone
from caliban_tui.fold import fold
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.question import OpenQuestion
from caliban_tui.stage import Stage
from caliban_tui.theme import DARK
from caliban_tui.tty import Tty
from caliban_tui.ui import UiState
from caliban_tui.view import ConversationView

if TYPE_CHECKING:
    from caliban_tui.host import TerminalHost

ARM_S: Final = 0.6
AGAIN_S: Final = 1.0


class TerminalDriver:
    """The terminal interface over one terminal.

    `run` reads keys until the person leaves; `converse` holds one conversation and says what is wanted next.
    `desk` is the approver of its sessions, `report` takes notices. `is_shown` once it can be typed into.
    """

    def __init__(self, tty: Tty) -> None:
        self.desk: ApprovalDesk = ApprovalDesk(self._question_changed)
        self.is_shown = anyio.Event()
        self._stage = Stage(tty, InlinePainter(DARK), self._ui, self.leave)
        self._host: TerminalHost | None = None
        self._lines: deque[str] = deque()
        self._line_came = anyio.Event()
        self._next: SwitchSession | None = None
        self._left = False
        self._armed_from_s = 0.0
        self._hint = ""
        self._pressed: tuple[str, float] = ("", 0.0)
        self._began_s = time.monotonic()
        self._editor = LineEditor(
            {
                "send": self._submit,
                "complete": self._queue,
                "interrupt": self._interrupt,
                "clear_or_quit": self._clear_or_quit,
                "end_of_file": self.leave,
                "redraw": self._stage.redraw,
                "cycle_mode": self._cycle_mode,
            },
            draw=self._stage.paint,
            intercept=self._intercepts,
            options=EditorOptions(read_fd=tty.read_fd),
        )

    @property
    def has_left(self) -> bool:
        """Whether the person wants to leave."""
        return self._left

    async def run(self) -> None:
        """Show the screen and read keys until `leave`. Raises `TerminalGone`."""
        self._stage.open()
        self._stage.paint()
        self.is_shown.set()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._stage.run)
                with suppress(TerminalGone):
                    await self._editor.run()
                self.leave()
                tasks.cancel_scope.cancel()
        finally:
            self._stage.close()

    async def converse(self, host: TerminalHost) -> SwitchSession | None:
        """Answer what is typed until another session is wanted; `None` where the person leaves."""
        self._host, self._next = host, None
        self._stage.changed()
        try:
            while not self._left and self._next is None:
                await self._line_came.wait()
                self._line_came = anyio.Event()
                while self._lines and not self._left and self._next is None:
                    await self._take(self._lines.popleft(), host)
        finally:
            self._host = None
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
        self._editor.exit()

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
        host = self._host
        request = self.desk.request
        question = None
        if request is not None and host is not None:
            question = OpenQuestion(
                request=request,
                summary=host.describe(request.call),
                is_armed=time.monotonic() >= self._armed_from_s,
                waiting=self.desk.waiting,
            )
        return UiState(
            draft=self._editor.draft(),
            queued=tuple(self._lines),
            question=question,
            status=replace(host.status()) if host is not None else UiState().status,
            hint=self._hint,
            tick=int((time.monotonic() - self._began_s) / 0.25),
        )

    def _question_changed(self) -> None:
        self._armed_from_s = time.monotonic() + ARM_S
        self._stage.changed()

    def _intercepts(self, name: str) -> bool:
        """Whether a key answers the open question; any other holds it off for a while."""
        now = time.monotonic()
        if name != "escape":
            self._hint = ""
        if self.desk.request is None:
            return False
        is_armed = now >= self._armed_from_s
        self._armed_from_s = now + ARM_S
        if not is_armed or name not in ("y", "n"):
            return False
        decision = Decision(action="allow", by="person")
        if name == "n":
            decision = Decision(action="deny", reason="the user said no", by="person")
        self.desk.answer(decision)
        return True

    def _submit(self) -> None:
        self._send(self._editor.take(), steers=self._stage.view.is_working)

    def _queue(self) -> None:
        if self._editor.text.strip():
            self._send(self._editor.take(), steers=False)

    def _interrupt(self) -> None:
        working = self._stage.view.is_working
        if working and self._twice("interrupt", "esc again interrupts") and self._host is not None:
            self._host.session.interrupt()

    def _clear_or_quit(self) -> None:
        if self._editor.text:
            self._editor.clear()
        elif self._stage.view.is_working and self._host is not None:
            self._host.session.interrupt()
        elif self._twice("quit", "ctrl+c again leaves"):
            self.leave()

    def _cycle_mode(self) -> None:
        if self._host is not None:
            self._host.cycle_mode()

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
