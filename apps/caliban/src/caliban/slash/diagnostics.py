"""Diagnostics: whether everything works, and what it uses."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Final

from caliban.compose.app import App
from caliban.compose.choice import ModelChoice
from caliban.compose.project import STATE_WORDS
from caliban.compose.switch import provider_of
from caliban_commands.answer import CommandAnswer, ShownTable
from caliban_commands.builtin.session import no_arguments
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.files import ensure_private_dir
from caliban_common.paths import cache_dir
from caliban_common.text import one_line, plural

TOP: Final = 20
FRAMES: Final = 10


async def status(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Which provider, key, session and mode are in use."""
    no_arguments("status", arguments)
    from caliban.commands.status import status_lines

    choice = ModelChoice(provider=provider_of(app), model=context.session.agent.model, is_explicit=True)
    lines = [*status_lines(choice, app.live.now)]
    lines.append(f"session:  {context.session.id}{'' if app.board.writer is not None else ' (not saved)'}")
    lines.append(f"mode:     {app.permissions.mode}")
    lines.append(f"project:  {STATE_WORDS[app.live.read.trust.state]}")
    if app.servers is not None:
        states = [f"{status.name} {status.state}" for status in app.servers.fleet.statuses]
        lines.append(f"servers:  {one_line(', '.join(states))}")
    return CommandAnswer.of("\n".join(lines))


async def doctor(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The checks of `caliban doctor`."""
    if arguments not in ("", "--deep"):
        shown = one_line(arguments, max_chars=60)
        raise BadArguments(f"/doctor does not know {shown!r}", hint="/doctor [--deep]")
    from caliban.commands.doctor.checks import MARKS, run_checks

    assert app.live.inputs is not None, "the app is open"
    checks = await run_checks(app.options, bool(arguments), app.live.inputs.host)
    rows = tuple((MARKS[check.state], check.name, check.hint) for check in checks)
    failed = sum(check.state == "fail" for check in checks)
    note = f"{plural(failed, 'check')} failed" if failed else "no check failed"
    return CommandAnswer(parts=(ShownTable(columns=("", "", ""), rows=rows, notes=(note,)),))


async def heapdump(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Start tracing memory; when called again, write a snapshot."""
    import tracemalloc

    if arguments not in ("", "start", "stop"):
        raise BadArguments(f"/heapdump takes start or stop, not {one_line(arguments, max_chars=40)!r}")
    if arguments == "stop":
        if not tracemalloc.is_tracing():
            raise CommandError("nothing is noted: /heapdump begins")
        tracemalloc.stop()
        return CommandAnswer.of("what takes memory is not noted any more")
    if arguments == "start" or not tracemalloc.is_tracing():
        tracemalloc.start(FRAMES)
        return CommandAnswer.of(
            "from now on it is noted what takes memory, which slows things down; /heapdump again "
            "writes it down, /heapdump stop ends it"
        )
    snapshot = tracemalloc.take_snapshot()
    folder = cache_dir() / "heap"
    ensure_private_dir(folder)
    path = folder / f"caliban-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.tracemalloc"
    try:
        snapshot.dump(str(path))
        path.chmod(0o600)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    statistics = snapshot.statistics("lineno")
    rows = tuple(
        (f"{one.size:,}", f"{one.count:,}", one_line(str(one.traceback[0]), max_chars=200))
        for one in statistics[:TOP]
    )
    total = sum(one.size for one in statistics)
    note = f"{total:,} bytes since it began, in {path}: tracemalloc.Snapshot.load reads it"
    return CommandAnswer(parts=(ShownTable(columns=("Bytes", "Blocks", "From"), rows=rows, notes=(note,)),))


async def feedback(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Say where feedback goes; nothing is sent from here."""
    return CommandAnswer.of(
        "nothing is sent from here. A fault is best told to whoever gave you this program, with what "
        "caliban --version and caliban doctor say, and the steps; caliban sessions export writes a session "
        "down without secrets"
    )
