"""The terminal face: an app and a session at a time, below one screen that lasts."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.early_signals import EarlySignals
from caliban.errors import MissingKey
from caliban.faces.cancel_target import alone
from caliban.faces.collector import begin_collecting
from caliban.faces.hush import hush_libraries
from caliban.faces.terminal.aside import OutputAside
from caliban.faces.terminal.signals import watch_ends
from caliban_commands.answer import SwitchSession
from caliban_common.errors import CalibanError
from caliban_tui.boot import short_path
from caliban_tui.driver import TerminalDriver
from caliban_tui.status import StatusLine
from caliban_tui.terminal.tty import Tty
from caliban_tui.theme.themes import terminal_kind

if TYPE_CHECKING:
    from caliban.compose.app import App
    from caliban_drive.session import Session
    from caliban_tui.boot import FirstFrame

CANCELLED: Final = 124
T = TypeVar("T")


def converse(options: Options, signals: EarlySignals, first: FirstFrame | None = None) -> int:
    """Run the terminal interface until the person leaves; the exit code.

    It takes over from `first`, where that is on the screen. Raises `CalibanError` for what keeps it from
    starting.
    """
    hush_libraries()
    face = TerminalFace(options, signals)
    try:
        return anyio.run(face.run, first, backend="asyncio")
    except BaseExceptionGroup as group:
        raise alone(group) from None
    finally:
        signals.listen_again()


class TerminalFace:
    """The screen of one process, and the apps that are opened one after the other below it."""

    def __init__(self, options: Options, signals: EarlySignals) -> None:
        self._options = options
        self._signals = signals
        self._is_signalled = False
        self._code = 0
        self._before: Options | None = None

    async def run(self, first: FirstFrame | None) -> int:
        """Show the screen, open what is asked for, and go on until the person leaves."""
        aside = OutputAside(self._printed)
        is_dumb = terminal_kind(os.environ).is_dumb
        tty = Tty(write_fd=aside.begin(), first=first, is_dumb=is_dumb)
        driver = self._driver = TerminalDriver(tty, os.environ)
        driver.status = StatusLine(cwd=_here(), state="starting")
        driver.shows_faults = bool(os.environ.get("CALIBAN_DEBUG"))
        prompt = self._options.prompt.prompt or self._options.prompt.prompt_flag
        if prompt:
            driver.type_ahead(prompt)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    watch_ends, self._signalled, tasks.cancel_scope.cancel, self._signals.numbers
                )
                tasks.start_soon(driver.run)
                tasks.start_soon(aside.read)
                await driver.is_shown.wait()
                await anyio.to_thread.run_sync(_load)
                await self._sessions(tasks)
                driver.leave()
                await driver.is_gone.wait()
                tasks.cancel_scope.cancel()
        finally:
            aside.end()
        return CANCELLED if self._is_signalled else self._code

    def _printed(self, line: str) -> None:
        from caliban_drive.notice import Notice

        self._driver.report(Notice(subtype="printed", message=line))

    def _signalled(self) -> None:
        self._is_signalled = True
        self._driver.leave()

    async def _sessions(self, tasks: TaskGroup) -> None:
        """One conversation after the other. Raises what keeps the first one from being opened.

        Where another one cannot be opened, that is told, and the one before it goes on.
        """
        driver = self._driver
        wanted: Options | None = self._options
        while wanted is not None and not driver.has_left:
            try:
                wanted = await self._one_session(wanted, tasks)
            except CalibanError as error:
                if self._before is not None and self._before is not wanted:
                    driver.complain(error)
                    wanted = self._before
                elif isinstance(error, MissingKey):
                    await self._without_key(error)
                else:
                    raise

    async def _without_key(self, error: MissingKey) -> None:
        """Explain how to provide a key, and wait for Enter; then the key is looked for again."""
        from caliban.faces.terminal.welcome import WELCOME

        self._code = error.code
        self._driver.status = StatusLine(cwd=_here(), state="no key yet")
        self._driver.welcome(WELCOME)
        await self._driver.wait_for_line()

    async def _unless_left(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` gives; `None` where the person leaves meanwhile."""

        async def watch() -> None:
            await self._driver.left.wait()
            group.cancel_scope.cancel()

        answer = None
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            answer = await work()
            group.cancel_scope.cancel()
        return answer

    def _greet(self, app: App, session: Session) -> None:
        """Show three hints to a first-time user."""
        from caliban.compose.sessionstore import session_store
        from caliban.faces.terminal.welcome import HINTS

        is_new = all(message.role == "system" for message in session.messages)
        if is_new and not any(head.name != session.id for head in session_store(app.options.session).list()):
            self._driver.welcome(HINTS)

    async def _one_session(self, options: Options, tasks: TaskGroup) -> Options | None:
        """Hold one conversation; the options of the next one, if there is one."""
        from caliban.compose.app import open_app
        from caliban.compose.host import this_host
        from caliban.faces.terminal.asking import PersonAsker
        from caliban.faces.terminal.elicited import PersonElicitor
        from caliban.faces.terminal.host import AppHost
        from caliban.faces.terminal.trust import with_trust

        driver = self._driver
        if self._before is None:
            trusting = await self._unless_left(partial(with_trust, options, driver.desk, driver.report))
            if trusting is None:
                return None
            options = trusting
        host = replace(this_host(), asker=PersonAsker(driver.desk))
        elicitor = PersonElicitor(driver.desk, host.environ, driver.report)
        async with open_app(options, driver.report, host, tasks=tasks, elicitor=elicitor) as app:
            session = app.session(approver=driver.desk)
            begin_collecting()
            is_first = self._before is None
            self._code, self._before = 0, _switched(options, SwitchSession(name=session.id))
            switch = None
            try:
                async with anyio.create_task_group() as beside:
                    screen_host = AppHost(app, session, beside, driver.stage.changed)
                    driver.appearance.use(screen_host.options)  # before the first word is shown
                    if is_first:
                        self._greet(app, session)
                    if app.servers is not None:
                        app.servers.fleet.watch(driver.window.renew)
                    switch = await driver.converse(screen_host, beside)
                    beside.cancel_scope.cancel()
            finally:
                farewell = _farewell(app, session)
                driver.part(farewell)
                if not farewell:
                    self._before = options
                with anyio.CancelScope(shield=True):
                    await session.aclose(self._end_reason(switch))
        return None if switch is None else _switched(options, switch)

    def _end_reason(self, switch: SwitchSession | None) -> str:
        """Why a conversation ends, in the words that hooks know."""
        if switch is not None:
            return "resume"
        return "other" if self._is_signalled else "prompt_input_exit"


def _load() -> None:
    """Import what the app is made of, on a thread: keys are shown meanwhile."""
    import caliban.compose.app
    import caliban.faces.terminal.host  # noqa: F401 - loaded here for what follows


def _here() -> str:
    try:
        return short_path(str(Path.cwd()), os.environ.get("HOME", ""))
    except OSError:
        return ""


def _farewell(app: App, session: Session) -> str:
    """How to resume the session, where there is something to resume."""
    if app.options.session.no_save or all(message.role == "system" for message in session.messages):
        return ""
    return f"caliban --resume {session.id} goes on with this conversation"


def _switched(options: Options, switch: SwitchSession) -> Options:
    """The options that open the other session; what flags say of everything else stays."""
    session = replace(
        options.session,
        continue_session=False,
        session=None,
        resume=switch.name,
        fork_session=switch.fork,
    )
    return replace(options, session=session)
