"""A recording played again, by the same faces and in the same formats."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.formats import output_format
from caliban.cli.options import Options, OutputOptions
from caliban.compose.app import open_app
from caliban.compose.host import Host, this_host
from caliban.compose.provider import close_provider
from caliban.compose.replaying import OtherModel, ReplayedRun, other_model, replay_wiring, replayed_run
from caliban.compose.workspace import build_workspace
from caliban.early_signals import EarlySignals
from caliban.errors import UsageError
from caliban.faces.cancel_target import CancelTarget, alone
from caliban.faces.hush import hush_libraries
from caliban.faces.recorded import FaceScene
from caliban.faces.watched import WatchedEncoder
from caliban.last_words import OutputState
from caliban_common.codec import message_from_json
from caliban_common.errors import DataError
from caliban_common.message import Message
from caliban_common.paths import home
from caliban_common.stop import Stop
from caliban_common.text import plural
from caliban_common.typed import typed
from caliban_drive.notice import Notice, Reporter
from caliban_drive.structured import AnswerSchema
from caliban_headless import errors, exit_codes
from caliban_headless.notices import Notices, show_notice
from caliban_headless.output import Output
from caliban_headless.run import Driver
from caliban_headless.signals import watch_signals
from caliban_headless.source import Operation
from caliban_replay.errors import RecordingBroken
from caliban_replay.lines import (
    InputEndLine,
    InputErrorLine,
    LastLine,
    NoticeLine,
    OperationLine,
    PromptLine,
)
from caliban_replay.recording import Recording, load_recording
from caliban_replay.replayer import Replay, ReplayOptions

INPUT_ERRORS = (errors.BadInput, errors.MissingInput, errors.InputTooLarge)


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """What is asked of a replay; `options` are those flags that runs have, too."""

    file: Path
    options: Options
    until: int | None = None
    swap_model: str | None = None
    strict: bool = False


def play(request: ReplayRequest, signals: EarlySignals) -> int:
    """Play a recording again; the exit code. Raises `CalibanError` for what keeps it from starting."""
    if request.strict and request.swap_model is not None:
        raise UsageError("--strict and --swap-model exclude each other: another model is asked other things")
    recording = load_recording(request.file, home=str(home()))
    hush_libraries()
    try:
        scene = typed(recording.scene.face, FaceScene, what="its scene")
        return anyio.run(_play, request, recording, scene, signals)
    except DataError as error:
        raise RecordingBroken(f"{request.file} cannot be played: {error.message}") from error
    except BaseExceptionGroup as group:
        raise alone(group) from None
    finally:
        signals.listen_again()


async def _play(request: ReplayRequest, recording: Recording, scene: FaceScene, signals: EarlySignals) -> int:
    code = exit_codes.INTERRUPTED
    target = CancelTarget()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals, target.stop, group.cancel_scope.cancel, signals.numbers)
        target.stops(group.cancel_scope.cancel)
        code = await Player(request, recording, scene).run(target, signals.state, group)
        group.cancel_scope.cancel()
    return code


class Player:
    """Plays `recording` once."""

    def __init__(self, request: ReplayRequest, recording: Recording, scene: FaceScene) -> None:
        self._request = request
        self._recording = recording
        self._scene = scene
        self._reporter = Reporter(show_notice)
        self._driver: Driver | None = None
        self._run: ReplayedRun | None = None
        until = request.until
        if request.swap_model is not None:
            until = until or 0
        self._replay = Replay(
            recording,
            ReplayOptions(
                strict=request.strict, until=until, stop=None if until is None else self._stop(until)
            ),
            tell=lambda notice: show_notice(Notice(subtype=notice.subtype, message=notice.message)),
            show=self._show,
            act=self._act,
        )

    async def run(self, target: CancelTarget, state: OutputState, tasks: TaskGroup) -> int:
        """Play it; the exit code."""
        self._say_what_it_is()
        host = this_host()
        output = _output_options(self._scene.output, self._request.options.output)
        row = output_format(output.output_format)
        schema = AnswerSchema(data=self._scene.schema[0]) if self._scene.schema else None
        async with AsyncExitStack() as stack:
            other = await self._other(stack, host)
            run = self._run = await self._open(stack, host, tasks, other, schema)
            encoder = row.load()(output)
            use_clock = getattr(encoder, "use_clock", None)
            if use_clock is not None and other is None:
                use_clock(self._replay.read)
            init = self._scene.init
            if other is not None:
                init = replace(init, model=f"{other.resolved.name}/{other.resolved.model}")
            announce = not row.is_data and not output.quiet and sys.stderr is not None
            self._driver = Driver(
                run.session,
                WatchedEncoder(encoder, state),
                Output(),
                init=init if row.holds_notices else replace(init, prices_as_of=None),
                notices=Notices(announce=announce, framed=row.holds_notices, tools=run.tools),
                schema=schema,
            )
            target.stops(self._driver.cancel)
            tasks.start_soon(self._replay.playhead.run)
            code = await self._driver.run(ReplaySource(self._replay, run.session.unread))
        return self._ended(code)

    async def _other(self, stack: AsyncExitStack, host: Host) -> OtherModel | None:
        """The model that goes on, where one is to."""
        name = self._request.swap_model
        if name is None:
            return None
        options = self._request.options
        workspace = build_workspace(options.workspace.workspace)
        other = await other_model(
            name, options.settings, host, workspace, self._reporter, options.model.base_url
        )
        stack.push_async_callback(close_provider, other.resolved.provider, self._reporter)
        return other

    async def _open(
        self,
        stack: AsyncExitStack,
        host: Host,
        tasks: TaskGroup,
        other: OtherModel | None,
        schema: AnswerSchema | None,
    ) -> ReplayedRun:
        """The session as it was recorded; for a strict replay, what the program makes of it now."""
        if not self._request.strict:
            return replayed_run(self._replay, self._reporter, host, other)
        given, flags = self._request.options, self._scene.flags
        workspace = given.workspace.workspace or flags.workspace.workspace
        sources = replace(
            flags.settings,
            settings=given.settings.settings or flags.settings.settings,
            setting_sources=given.settings.setting_sources or flags.settings.setting_sources,
            trust_project=given.settings.trust_project,  # a file is nobody's consent
            bare=given.settings.bare or flags.settings.bare,
        )
        options = replace(
            flags,
            workspace=replace(flags.workspace, workspace=workspace),
            settings=sources,
            output=given.output,
        )
        opening = open_app(options, show_notice, host, tasks=tasks, wiring=replay_wiring(self._replay))
        app = await stack.enter_async_context(opening)
        self._reporter = app.reporter
        session = app.session(schema=schema)
        return ReplayedRun(session=session, tools=session.agent.tools)

    def _say_what_it_is(self) -> None:
        recording = self._recording
        if recording.is_cut:
            words = (
                f"the recording was cut off after line {recording.line_count}; what there is of it is played"
            )
            show_notice(Notice(subtype="recording_cut", message=words))
        given = self._request.options.settings.settings
        if self._request.strict and self._scene.has_inline_settings and given is None:
            words = "the run had settings among its flags, which a recording does not keep"
            hint = "give them again with --settings"
            show_notice(Notice(subtype="inline_settings", message=words, hint=hint))
        was_trusted = self._scene.flags.settings.trust_project
        if self._request.strict and was_trusted and not self._request.options.settings.trust_project:
            words = "the run trusted its project, which a recording cannot say for you"
            hint = "give --trust-project again, or: caliban trust add"
            show_notice(Notice(subtype="trust_not_recorded", message=words, hint=hint))

    def _ended(self, code: int) -> int:
        replay = self._replay
        if not self._request.strict:
            return code
        if replay.difference is None:
            return code
        words = f"not as recorded: {replay.difference.words}"
        show_notice(Notice(subtype="replay_differs", message=words))
        return code or exit_codes.FAILURE

    def _stop(self, until: int) -> Stop | None:
        if self._request.swap_model is not None:
            return None
        turns = self._recording.turns
        file = shlex.quote(str(self._request.file))
        return Stop(
            kind="max_turns",
            message=f"the replay stopped after {until} of {plural(turns, 'turn')}",
            hint=f"caliban replay {file} --until {until + 1} goes on by a turn; with --swap-model "
            "PROVIDER/MODEL another model goes on from here",
        )

    def _show(self, line: NoticeLine) -> None:
        """Repeat a notice at the point where it was shown."""
        if self._request.swap_model is None:
            self._reporter(
                Notice(
                    subtype=line.subtype,
                    message=line.message,
                    hint=line.hint,
                    remedy=line.remedy,
                    details=line.details,
                )
            )

    def _act(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Repeat what was done to the run."""
        driver, run = self._driver, self._run
        if driver is None or run is None:
            return
        actions: dict[str, Callable[[], object]] = {
            "cancel": driver.cancel,
            "interrupt": lambda: run.session.interrupt(waiting=bool(arguments.get("waiting"))),
            "stop_call": lambda: run.session.stop_call(str(arguments.get("tool_use_id", ""))),
            "steer": lambda: run.session.steer(message_from_json(arguments["message"])),
        }
        if name in actions:
            actions[name]()


class ReplaySource:
    """The prompts of a recording. What came too late for a run is among them, so that it is not `unread`."""

    def __init__(self, replay: Replay, unread: Callable[[], object]) -> None:
        self._replay = replay
        self._unread = unread
        self._places = list(replay.recording.asked)

    async def next(self) -> Message | Operation | None:
        """See `PromptSource`."""
        while self._places and not self._replay.is_over:
            place = self._places.pop(0)
            line = self._replay.recording.ordered[place]
            await self._take(place)
            match line:
                case PromptLine():
                    self._unread()
                    return line.message
                case OperationLine():
                    return typed({"name": line.name}, Operation, what="an operation")
                case InputErrorLine():
                    raise _input_error(line)
                case InputEndLine():
                    return None
                case _:
                    continue
        return None

    async def last(self) -> bool:
        """See `PromptSource`."""
        if self._replay.is_over or not self._places:
            return True
        line = self._replay.recording.ordered[self._places[0]]
        if not isinstance(line, LastLine):
            return False
        await self._take(self._places.pop(0))
        return line.value

    async def _take(self, place: int) -> None:
        playhead = self._replay.playhead
        try:
            await playhead.turn(place)
        finally:
            playhead.leave(place)


def _input_error(line: InputErrorLine) -> errors.HeadlessError:
    kinds = {kind.__name__: kind for kind in INPUT_ERRORS}
    return kinds.get(line.kind, errors.BadInput)(line.message, hint=line.hint)


def _output_options(recorded: OutputOptions, given: OutputOptions) -> OutputOptions:
    """How the run wrote, unless flags say otherwise."""
    return replace(
        recorded,
        output_format=given.output_format or recorded.output_format,
        include_partial_messages=given.include_partial_messages or recorded.include_partial_messages,
        include_dispatch_events=given.include_dispatch_events or recorded.include_dispatch_events,
        replay_user_messages=given.replay_user_messages or recorded.replay_user_messages,
        quiet=given.quiet or recorded.quiet,
    )
