"""The terminal face: an app and a session at a time, below one screen that lasts."""

from __future__ import annotations

import gc
from functools import partial

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.app import App, open_app
from caliban.compose.host import this_host
from caliban.early_signals import EarlySignals
from caliban.faces.asking import PersonAsker
from caliban.faces.cancel_target import alone
from caliban.faces.terminalhost import AppHost
from caliban_commands.answer import SwitchSession
from caliban_headless.signals import watch_signals
from caliban_tui.driver import TerminalDriver
from caliban_tui.tty import Tty


def converse(options: Options, signals: EarlySignals) -> int:
    """Run the terminal interface until the person leaves; the exit code.

    Raises `CalibanError` for what keeps it from starting.
    """
    try:
        return anyio.run(partial(_converse, options, signals), backend="asyncio")
    except BaseExceptionGroup as group:
        raise alone(group) from None
    finally:
        signals.listen_again()


async def _converse(options: Options, signals: EarlySignals) -> int:
    driver = TerminalDriver(Tty())
    first = options.prompt.prompt or options.prompt.prompt_flag
    if first:
        driver.type_ahead(first)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch_signals, driver.leave, tasks.cancel_scope.cancel, signals.numbers)
        tasks.start_soon(driver.run)
        wanted: Options | None = options
        while wanted is not None and not driver.has_left:
            wanted = await _one_session(wanted, driver, tasks)
        driver.leave()
        tasks.cancel_scope.cancel()
    return 0


async def _one_session(options: Options, driver: TerminalDriver, tasks: TaskGroup) -> Options | None:
    """Hold one conversation; the options of the next one, if there is one."""
    host = replace(this_host(), asker=PersonAsker(driver.desk))
    async with open_app(options, driver.report, host, tasks=tasks) as app:
        session = app.session(approver=driver.desk)
        gc.enable()
        try:
            switch = await driver.converse(AppHost(app, session))
        finally:
            await session.aclose()
    return None if switch is None else _switched(options, app, switch)


def _switched(options: Options, app: App, switch: SwitchSession) -> Options:
    """The options that open the other session; what flags say of everything else stays."""
    session = replace(
        options.session,
        continue_session=False,
        session=None,
        resume=switch.name,
        fork_session=switch.fork,
    )
    return replace(options, session=session)
