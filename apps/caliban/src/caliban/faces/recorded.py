"""Records a headless run: its prompts, what is done to it, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import Options, OutputOptions, PromptOptions, SessionOptions
from caliban.compose.app import App
from caliban.compose.host import this_host
from caliban.compose.recording import begin_tape, open_tape, recording_wiring
from caliban_common.codec import message_to_json
from caliban_common.message import Message
from caliban_drive.session import Session
from caliban_headless import exit_codes
from caliban_headless.errors import HeadlessError
from caliban_headless.frames import Init
from caliban_headless.run import OutputEncoder
from caliban_headless.source import Operation, PromptSource
from caliban_replay.lines import (
    ActionLine,
    EndLine,
    InputEndLine,
    InputErrorLine,
    LastLine,
    OperationLine,
    PromptLine,
)
from caliban_replay.tape import Tape, plain
from caliban_telemetry.as_of import prices_as_of

if TYPE_CHECKING:
    from caliban_drive.structured import AnswerSchema
    from caliban_headless.source import Incoming


class FaceScene(Struct, frozen=True, kw_only=True):
    """What this face keeps in a recording: its first frame, its output, and the flags that a run is made of.

    `schema` is what the answer has to fit, in a tuple where there is one. `has_inline_settings` says that
    settings stood among the flags, which a recording does not keep: they may hold keys.
    """

    init: Init
    output: OutputOptions
    flags: Options
    schema: tuple[Any, ...] = ()
    has_inline_settings: bool = False


class RunRecorder:
    """Records one run of `options`. Raises `RecordingUnwritable`, before anything is asked or written."""

    def __init__(self, options: Options) -> None:
        assert options.session.record is not None
        self._options = options
        self.host = this_host()
        self.tape: Tape = open_tape(options.session.record, self.host)
        self.wiring = recording_wiring(self.tape)

    def begin(self, app: App, session: Session, init: Init, schema: AnswerSchema | None) -> None:
        """Write down what the run begins with. Raises `RecordingUnwritable`."""
        options = self._options
        inline = (options.settings.settings or "").lstrip().startswith("{")
        scene = FaceScene(
            init=replace(init, prices_as_of=prices_as_of()),
            output=options.output,
            flags=replace(
                options,
                prompt=PromptOptions(),
                output=OutputOptions(),
                session=SessionOptions(no_save=True),
                model=replace(options.model, base_url=None),
                settings=replace(options.settings, settings=None) if inline else options.settings,
            ),
            schema=() if schema is None else (schema.data,),
            has_inline_settings=inline,
        )
        begin_tape(self.tape, app, session, plain(scene))

    def time(self, encoder: OutputEncoder) -> None:
        """Let `encoder` read the clock of the recording, if it reads any."""
        use_clock = getattr(encoder, "use_clock", None)
        if use_clock is not None and self._options.output.include_dispatch_events:
            use_clock(self.tape.read)

    def source(self, inner: PromptSource) -> RecordingSource:
        """`inner`, with what it gives on the tape."""
        return RecordingSource(inner, self.tape)

    def action(self, name: str, action: Callable[[], None]) -> Callable[[], None]:
        """`action`, which is written down when it is done."""

        def act() -> None:
            self.write(name)
            action()

        return act

    def run(self, session: Session) -> RecordedRun:
        """The run at work, with what frames do to it on the tape."""
        return RecordedRun(session, self.write)

    def end(self, code: int) -> int:
        """The run is over with `code`; a run that was not recorded to its end did not do all it was asked."""
        self.tape.write(EndLine(at_s=self.tape.moment(), code=code))
        return exit_codes.CONFIG if self.tape.error is not None and code == exit_codes.SUCCESS else code

    def close(self) -> None:
        """Let go of the file."""
        self.tape.close()

    def write(self, name: str, **arguments: Any) -> None:
        """Note what is done to the run now."""
        self.tape.write(ActionLine(at_s=self.tape.timing.clock(), name=name, arguments=arguments))


class RecordedRun:
    """The run of `session`, told of each thing that is done to it from outside once `write` has noted it."""

    def __init__(self, session: Session, write: Callable[..., None]) -> None:
        self._session = session
        self._write = write

    def interrupt(self, *, waiting: bool = False) -> None:
        """See `RunAtWork`."""
        self._write("interrupt", waiting=waiting)
        self._session.interrupt(waiting=waiting)

    def stop_call(self, tool_use_id: str) -> bool:
        """See `RunAtWork`."""
        self._write("stop_call", tool_use_id=tool_use_id)
        return self._session.stop_call(tool_use_id)

    def steer(self, message: Message) -> None:
        """See `RunAtWork`."""
        self._write("steer", message=message_to_json(message))
        self._session.steer(message)

    def unread(self) -> tuple[Message, ...]:
        """See `RunAtWork`: each is recorded as the prompt that it becomes."""
        return self._session.unread()


class RecordingSource:
    """`inner`, with what it gives on `tape`."""

    def __init__(self, inner: PromptSource, tape: Tape) -> None:
        self._inner = inner
        self._tape = tape

    async def next(self) -> Incoming | None:
        """See `PromptSource`. A request of the host is no part of the conversation: it is not recorded."""
        tape = self._tape
        try:
            asked = await self._inner.next()
        except HeadlessError as error:
            line = InputErrorLine(
                at_s=tape.moment(), kind=type(error).__name__, message=error.message, hint=error.hint
            )
            tape.write(line)
            raise
        if asked is None:
            tape.write(InputEndLine(at_s=tape.moment()))
        elif isinstance(asked, Operation):
            tape.write(OperationLine(at_s=tape.moment(), name=asked.name))
        elif isinstance(asked, Message):
            tape.write(PromptLine(at_s=tape.moment(), message=asked))
        return asked

    async def last(self) -> bool:
        """See `PromptSource`."""
        value = await self._inner.last()
        self._tape.write(LastLine(at_s=self._tape.moment(), value=value))
        return value
