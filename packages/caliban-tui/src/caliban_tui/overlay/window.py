"""The overlay that is open: keys and steps of it, and what is loaded before one can be shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, assert_never

from caliban_commands.answer import AnswerPart, CommandEffect, OpenView, ShownChoice, ShownText, SwitchSession
from caliban_common.errors import CalibanError
from caliban_tui.host import TerminalHost
from caliban_tui.keys.held import HeldKeys
from caliban_tui.keys.help import help_overlay
from caliban_tui.keys.table import KeyRow
from caliban_tui.line import text_of
from caliban_tui.overlay.background import background_list, todo_overlay
from caliban_tui.overlay.overlay import (
    Choose,
    Close,
    Do,
    Dump,
    EditText,
    Overlay,
    OverlayStep,
    PartsOverlay,
    Stay,
    Tell,
    Work,
)
from caliban_tui.overlay.picker import PickerOverlay, choice_picker
from caliban_tui.overlay.rewind import rewind_picker
from caliban_tui.overlay.rules import rules_list
from caliban_tui.overlay.sessions import session_picker
from caliban_tui.overlay.viewer import viewer
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.blocks import AnswerBlock, NoticeBlock, TranscriptBlock


class WindowScreen(Protocol):
    """What an overlay needs of the screen that it is on; `held` holds keys for what is being made."""

    held: HeldKeys

    @property
    def host(self) -> TerminalHost | None:
        """The conversation of now."""
        ...

    @property
    def keys(self) -> tuple[KeyRow, ...]:
        """The keys of now."""
        ...

    @property
    def is_at_work(self) -> bool:
        """Whether a prompt or a line of the shell is at work."""
        ...

    def room(self) -> ScreenSize:
        """The cells that an overlay has."""
        ...

    def changed(self) -> None:
        """A frame is due."""
        ...

    def say(self, words: str) -> None:
        """Show a hint until the next key."""
        ...

    def show(self, *blocks: TranscriptBlock) -> None:
        """Add to the transcript."""
        ...

    def start(self, work: Callable[[], Awaitable[None]], *, is_seen: bool = False) -> None:
        """Do something beside the keys; a `CalibanError` of it is told.

        One that `is_seen` is shown as work, and can be interrupted.
        """
        ...

    def closed(self) -> None:
        """Nothing is open any more."""
        ...

    def run_line(self, line: str) -> None:
        """Take a slash command as if it had been typed."""
        ...

    async def perform(self, effect: CommandEffect) -> None:
        """Do what a slash command could want. Raises `CalibanError`."""
        ...

    async def edit_text(self, text: str, suffix: str) -> None:
        """Show a text in the person's editor. Raises `CalibanError`."""
        ...


class OverlayWindow:
    """Holds at most one overlay. What is loaded for one that was closed meanwhile is dropped.

    `is_loading` says that a step of it, or another one, is being made, `is_asked` that a command between
    prompts has wanted it: what was typed behind that waits until all is done that comes of it.
    """

    def __init__(self, screen: WindowScreen) -> None:
        self.overlay: Overlay | None = None
        self.is_loading: bool = False
        self.is_asked: bool = False
        self._screen = screen
        self._number = 0
        self._is_stale = False

    def renew(self) -> None:
        """What a list shows is another: its next frame shows that, with the same row chosen."""
        if isinstance(self.overlay, PickerOverlay) and self.overlay.renew is not None:
            self._is_stale = True
            self._screen.changed()

    def shown(self) -> Overlay | None:
        """The overlay as it is drawn now; a list that cannot be made anew stays as it was."""
        overlay, is_stale = self.overlay, self._is_stale
        self._is_stale = False
        if is_stale and isinstance(overlay, PickerOverlay) and overlay.renew is not None:
            with suppress(CalibanError):
                self.overlay = overlay.renew(overlay)
        return self.overlay

    def key(self, name: str) -> bool:
        """A key was pressed; whether it was an overlay's."""
        if self.overlay is None:
            return False
        self._apply(self.overlay.key(name, self._screen.room()))
        return True

    def paste(self, text: str) -> bool:
        """Something was pasted; whether it went to where the overlay has something typed."""
        if self.overlay is None:
            return False
        step = self.overlay.paste(text, self._screen.room())
        if step is None:
            self._screen.say("pasted into the prompt")
            return False
        self._apply(step)
        return True

    def close(self) -> None:
        """Take it away."""
        self._put(None)
        self._over()

    def open(self, effect: OpenView, parts: tuple[AnswerPart, ...] = (), *, is_asked: bool = False) -> None:
        """Open a view; one that we have none of shows the `parts` of the command that wanted it.

        One that `is_asked` was wanted by a command between prompts.
        """
        screen, host = self._screen, self._screen.host
        if host is None:
            return
        overlay: Overlay | None = None
        match effect.view:
            case "transcript":
                overlay = viewer(host.session.messages, screen.room())
            case "permissions":
                overlay = rules_list(host.views)
            case "tasks":
                overlay = background_list(host.views)
            case "help":
                overlay = help_overlay(host.commands, screen.keys)
            case "sessions" | "tree":
                self._load(lambda: session_picker(host.views), is_asked=is_asked)
            case "rewind" if screen.is_at_work:
                words = "a prompt is at work: interrupt it before you go back"
                screen.show(NoticeBlock(level="warning", text=words))
            case "rewind":
                self._load(lambda: rewind_picker(host.views), is_asked=is_asked)
            case "servers":
                from caliban_tui.overlay.servers import server_list

                overlay = server_list(host.views)
            case "config":
                from caliban_tui.overlay.settings import settings_list

                overlay = settings_list(host.views)
            case "context":
                overlay = PartsOverlay(title="Context", parts=parts)
            case _:
                assert_never(effect.view)
        if overlay is not None:
            self.is_asked = is_asked
            self._put(overlay)

    def open_todos(self) -> None:
        """Open the list of tasks."""
        if self._screen.host is not None:
            self._put(todo_overlay(self._screen.host.views))

    def choose(self, choice: ShownChoice, *, is_asked: bool = False) -> None:
        """Let a row of `choice` be chosen: its line is run."""
        self.is_asked = is_asked
        self._put(choice_picker(choice))

    def _put(self, overlay: Overlay | None) -> None:
        self.overlay = overlay
        self.is_loading = False
        self._number += 1
        self._screen.changed()
        if overlay is not None:
            self._screen.held.came()

    def _over(self) -> None:
        """Nothing more comes of it."""
        self.is_asked = False
        self._screen.closed()

    def _load(self, make: Callable[[], Awaitable[Overlay]], *, is_asked: bool) -> None:
        self.is_asked = is_asked

        async def run() -> OverlayStep:
            return Stay(await make())

        self._work(run)

    def _work(self, run: Callable[[], Awaitable[OverlayStep]]) -> None:
        self._number += 1
        number = self._number
        is_seen = self.overlay is None
        self.is_loading = True
        self._screen.held.awaits()

        async def work() -> None:
            step: OverlayStep | None = None
            try:
                step = await run()
            except CalibanError as error:
                if self.overlay is not None:  # which may stand on all that the transcript says of it
                    self._screen.say(" ".join(filter(None, (error.message, error.hint))))
                raise
            finally:
                is_awaited = number == self._number
                if is_awaited:
                    self.is_loading = False
                if is_awaited and step is None:
                    self._unmade()
            if is_awaited or isinstance(step, Tell):
                self._apply(step)
                if not self.is_loading:
                    self._screen.held.came()

        self._screen.start(work, is_seen=is_seen)

    def _work_beside(self, run: Callable[[], Awaitable[OverlayStep]]) -> None:
        """Let the list be used meanwhile; what is made of it then is shown where it is still the one."""

        async def work() -> None:
            step, now = await run(), self.overlay
            made = step.overlay if isinstance(step, Stay) else None
            if isinstance(now, PickerOverlay) and isinstance(made, PickerOverlay) and now.title == made.title:
                self._put(made.like(now))

        self._screen.start(work)

    def _unmade(self) -> None:
        """What keys wait for does not come; a list that is still there has not made them a draft."""
        if self.overlay is None:
            self._screen.held.failed()
            self._over()
        else:
            self._screen.held.drop()

    def _perform(self, effect: CommandEffect) -> None:
        async def work() -> None:
            try:
                await self._screen.perform(effect)
            finally:
                self._over()

        self._screen.start(work)

    def _apply(self, step: OverlayStep) -> None:
        screen = self._screen
        match step:
            case Stay():
                self._put(step.overlay)
            case Close():
                self.close()
            case Choose():
                self._put(None)
                screen.run_line(step.line)
                self._over()
            case Do():
                self._put(None)
                self._perform(step.effect)
            case Tell():
                self._put(None)
                screen.show(NoticeBlock(level="info", text=step.words))
                host = screen.host
                if step.reopens and host is not None:
                    self._perform(SwitchSession(name=host.session.id))
                else:
                    self._over()
            case Dump():
                self._put(step.overlay)
                screen.show(_dumped(step))
            case EditText():
                self._put(step.overlay)
                screen.start(lambda: screen.edit_text(step.text, step.suffix))
            case Work():
                self._put(step.overlay)
                if step.beside:
                    self._work_beside(step.run)
                else:
                    self._work(step.run)
            case _:
                assert_never(step)


def _dumped(step: Dump) -> AnswerBlock:
    """Lines as they stand, for the transcript."""
    text = "\n".join(map(text_of, step.lines))
    fence = "```"
    while fence in text:
        fence += "`"
    return AnswerBlock(line="", parts=(ShownText(markdown=f"{fence}\n{text}\n{fence}"),))
