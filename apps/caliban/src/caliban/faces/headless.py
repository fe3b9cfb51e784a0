"""The headless face: the app, an encoder, a driver, and the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.cli.formats import OutputFormat, input_format, output_format
from caliban.cli.options import Options
from caliban.compose import ahead
from caliban.compose.app import App, open_app
from caliban.compose.wiring import USUAL
from caliban.early_signals import EarlySignals
from caliban.faces.cancel_target import CancelTarget, alone
from caliban.faces.collector import begin_collecting
from caliban.faces.hush import hush_libraries
from caliban.faces.prompt import PromptInputs, read_prompt
from caliban.faces.watched import WatchedEncoder
from caliban.last_words import OutputState
from caliban_common.message import Message
from caliban_drive.session import Session
from caliban_headless import exit_codes
from caliban_headless.errors import Cancelled
from caliban_headless.frames import Init
from caliban_headless.input import FrameSource
from caliban_headless.local import LocalCommand
from caliban_headless.notices import Notices, show_notice
from caliban_headless.output import Output
from caliban_headless.run import Driver
from caliban_headless.signals import watch_signals
from caliban_headless.source import OnePrompt, Resumption
from caliban_headless.stdin import Stdin
from caliban_telemetry.as_of import prices_as_of

if TYPE_CHECKING:
    from caliban.compose.asking.later import LaterAnswers
    from caliban.compose.slash import CalledCommand
    from caliban.faces.local import LocalCall
    from caliban.faces.otherend import OtherEnd
    from caliban.faces.recorded import RunRecorder
    from caliban.faces.servertool import ServerToolApprover
    from caliban_drive.structured import AnswerSchema
    from caliban_headless.desk import HostDesk

T = TypeVar("T")

OWN_TASKS = 2
"""This face itself, and what waits for signals."""


def answer(options: Options, signals: EarlySignals, leave: Callable[[int], NoReturn] | None = None) -> int:
    """Run the headless face; the exit code. Raises `CalibanError` for what keeps it from starting.

    `leave` ends the process. Where the run has closed all it had and no other task is left, that is called
    from within: to end the tasks, the signals and the loop would be a quarter of the time after an answer.
    """
    hush_libraries()
    try:
        return anyio.run(_answer, options, signals, leave)
    except BaseExceptionGroup as group:
        raise alone(group) from None
    finally:
        signals.listen_again()


async def _answer(options: Options, signals: EarlySignals, leave: Callable[[int], NoReturn] | None) -> int:
    code = exit_codes.INTERRUPTED
    target = CancelTarget()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals, target.stop, group.cancel_scope.cancel, signals.numbers)
        code = await _drive(options, target, signals.state, group)
        if leave is not None and has_ended():
            leave(code)
        group.cancel_scope.cancel()
    return code


def has_ended() -> bool:
    """Whether no task is left but those that end with the process and leave nothing behind."""
    names = [task.name for task in anyio.get_running_tasks()]
    return len(names) - names.count(ahead.TASK) == OWN_TASKS


async def _drive(options: Options, target: CancelTarget, state: OutputState, tasks: TaskGroup) -> int:
    schema = _load_schema(options.output.json_schema)
    async with AsyncExitStack() as stack:
        call = _local(options)
        if call is not None:
            options = call.options
        recorder = _recorder(options)
        other = _other_end(options)
        if recorder is None:
            wiring = USUAL if call is None else call.wiring
            host, person = (None, None) if other is None else (other.host(), other.elicitor)
            opening = open_app(options, show_notice, host, tasks=tasks, wiring=wiring, elicitor=person)
        else:
            stack.callback(recorder.close)
            opening = open_app(options, show_notice, recorder.host, tasks=tasks, wiring=recorder.wiring)
        app = await _unless_cancelled(target, lambda: stack.enter_async_context(opening), "a key")
        prompt: Message | Resumption | LocalCommand | None = None
        if call is None:
            prompt = await _unless_cancelled(target, lambda: _prompt(app), "a prompt")
        servers = app.servers
        if servers is not None:
            await _unless_cancelled(target, servers.ready, "its servers")
        desk = _desk(app)
        if options.permissions.answers:
            from caliban.compose.asking.later import check_answers

            check_answers(options.permissions, app.sessions.saved)
        asked = await _unless_cancelled(target, lambda: _asked_tool(app), "its servers")
        session = app.session(schema=schema, approver=desk or asked or _later(app))
        if desk is not None:
            desk.session = session
        if asked is not None:
            asked.interrupt = session.interrupt
        if call is not None:
            prompt = call.source(app, session)
        row = output_format(options.output.output_format)
        encoder, init = row.load()(options.output), _init(app, session, row)
        if recorder is not None:
            recorder.begin(app, session, init, schema)
            recorder.time(encoder)
        driver = Driver(
            session,
            WatchedEncoder(encoder, state),
            Output(),
            init=init,
            notices=_notices(app, row, session),
            schema=schema,
        )
        target.stops(driver.cancel if recorder is None else recorder.action("cancel", driver.cancel))
        begin_collecting()
        if prompt is None and other is not None:
            frames = _frames(app, session, recorder, desk, other)
            return await _answer_frames(driver, frames, recorder)
        assert prompt is not None
        if recorder is None:
            return await driver.run(OnePrompt(prompt))
        return recorder.end(await driver.run(recorder.source(OnePrompt(prompt))))


async def _unless_cancelled(target: CancelTarget, work: Callable[[], Awaitable[T]], what: str) -> T:
    """The result of `work`. Raises `Cancelled` where a signal comes before there is `what`."""
    with anyio.CancelScope() as scope:
        target.stops(scope.cancel)
        return await work()
    raise Cancelled(f"cancelled before there was {what}")


async def _prompt(app: App) -> Message | Resumption | None:
    """The prompt or what replaces it, or `None` where prompts come in frames."""
    if app.options.permissions.answers:
        return Resumption()
    if input_format(app.options.output.input_format).is_framed:
        return None
    called, inputs = app.extensions.command, PromptInputs.of(app)
    if called is not None:
        inputs = replace(inputs, command=partial(_command_texts, app, called))
        if not called.is_trusted:  # nobody has looked at what it names
            inputs = replace(inputs, options=replace(inputs.options, expand_files=False))
    return await read_prompt(inputs)


async def _command_texts(app: App, called: CalledCommand) -> tuple[str, str]:
    from caliban.faces.commandfile import command_texts

    return await command_texts(app, called)


def _frames(
    app: App, session: Session, recorder: RunRecorder | None, desk: HostDesk | None, other: OtherEnd
) -> FrameSource:
    """What reads the prompts of the other end, and does what else it asks for."""
    services = other.services(app, session)
    if recorder is None:
        services = replace(services, called=_called(app, session))
    run = session if recorder is None else recorder.run(session)
    return FrameSource(Stdin(), run, app.media, desk=desk, services=services)


async def _answer_frames(driver: Driver, frames: FrameSource, recorder: RunRecorder | None) -> int:
    async with anyio.create_task_group() as group:
        group.start_soon(frames.pump)
        if recorder is None:
            code = await driver.run(frames)
        else:
            code = recorder.end(await driver.run(recorder.source(frames)))
        group.cancel_scope.cancel()
    return code


def _other_end(options: Options) -> OtherEnd | None:
    """Whoever writes the frames of the run, where there are some."""
    if not input_format(options.output.input_format).is_framed:
        return None
    from caliban.faces.otherend import OtherEnd

    return OtherEnd(options)


def _local(options: Options) -> LocalCall | None:
    """The command of ours that the prompt calls."""
    if not _slashes(options):
        return None
    from caliban.faces.local import local_call

    return local_call(options)


def _slashes(options: Options) -> bool:
    """Whether the prompt may be a slash command; only then are their modules loaded."""
    prompt = options.prompt
    texts = (prompt.print_prompt, prompt.prompt_flag, prompt.prompt)
    return any(text is not None and text.lstrip().startswith("/") for text in texts)


def _called(app: App, session: Session) -> Callable[[str], LocalCommand | None] | None:
    """Finds the commands that prompt frames call: loaded with the first that may be one."""
    if app.options.extensions.no_commands or app.options.settings.bare:
        return None
    finders: list[Callable[[str], LocalCommand | None]] = []

    def called(text: str) -> LocalCommand | None:
        if not finders:
            from caliban.faces.local import frame_commands

            finders.append(frame_commands(app, session))
        return finders[0](text)

    return called


def _desk(app: App) -> HostDesk | None:
    """The desk that asks the other end, if a flag says so."""
    if app.options.permissions.permission_prompt_tool != "stdio":
        return None
    from caliban.compose.asking.updates import LastingAnswers
    from caliban_common.masked import masked_data
    from caliban_headless.desk import HostDesk

    updates = LastingAnswers(app.permissions, app.workspace, app.reporter)
    return HostDesk(app.reporter, updates, lambda value: masked_data(value, app.masker))


async def _asked_tool(app: App) -> ServerToolApprover | None:
    """The tool of a server that is asked, if one is. Raises `ConfigError` for one that cannot be."""
    name = app.options.permissions.permission_prompt_tool
    if name is None or name == "stdio":
        return None
    from caliban.faces.servertool import ServerToolApprover, checked_servers
    from caliban_common.masked import masked_data

    servers = await checked_servers(name, app.servers, app.permissions)
    return ServerToolApprover(name, servers, lambda value: masked_data(value, app.masker), app.reporter)


def _later(app: App) -> LaterAnswers | None:
    """The approver for calls that waited, or are to be deferred, where flags ask for one."""
    options = app.options.permissions
    if not options.answers and not options.defer_approvals:
        return None
    from caliban.compose.asking.later import LaterAnswers

    return LaterAnswers(
        permissions=app.permissions,
        approved=frozenset(options.approve),
        rejected=frozenset(options.reject),
        defers=options.defer_approvals,
    )


def _recorder(options: Options) -> RunRecorder | None:
    """What records the run, where that is asked for. Raises `RecordingUnwritable`."""
    if options.session.record is None:
        return None
    from caliban.faces.recorded import RunRecorder

    return RunRecorder(options)


def _load_schema(argument: str | None) -> AnswerSchema | None:
    if argument is None:
        return None
    from caliban_drive.structured import load_schema

    return load_schema(argument, name="--json-schema")


def _init(app: App, session: Session, row: OutputFormat) -> Init:
    return Init(
        session_id=session.id,
        model=f"{app.model.name}/{app.model.model}",
        tools=tuple(tool.spec.name for tool in session.agent.tools.tools()),
        setting_sources=app.settings.sources,
        bare=app.options.settings.bare,
        cwd=str(app.workspace),
        permission_mode=app.permissions.mode,
        fallback_model=app.model.fallback,
        prices_as_of=prices_as_of() if row.holds_notices else None,
        plugins=tuple(
            {
                "name": plugin.name,
                "version": plugin.manifest.version,
                "source": plugin.source,
                "path": str(plugin.root),
            }
            for plugin in app.plugins
        ),
        mcp_servers=_server_states(app),
        slash_commands=_slash_names(app) if row.holds_notices else (),
    )


def _slash_names(app: App) -> tuple[str, ...]:
    """What a prompt may call, for a program that reads frames."""
    from caliban.slash.listed import listed_names

    return listed_names(app)


def _server_states(app: App) -> tuple[tuple[str, str], ...]:
    """The names of the servers of a run, and how each is."""
    statuses = () if app.servers is None else app.servers.fleet.statuses
    return tuple((status.name, status.state) for status in statuses)


def _notices(app: App, row: OutputFormat, session: Session) -> Notices:
    """Words for a person go to standard error, except those that stand in the output."""
    announce = not row.is_data and not app.options.output.quiet and sys.stderr is not None
    return Notices(
        announce=announce,
        framed=row.holds_notices,
        tools=session.agent.tools,
        resume=_resume(app, session),
    )


def _resume(app: App, session: Session) -> str | None:
    """The command that goes on with the session, if it is kept."""
    options = app.options.session
    if options.no_save:
        return None
    place = f" --sessions-dir {shlex.quote(options.sessions_dir)}" if options.sessions_dir is not None else ""
    return f"caliban -r {shlex.quote(session.id)}{place}"
