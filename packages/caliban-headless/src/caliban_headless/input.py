"""Prompts from standard input: a text to its end, or stream-json frames, which bring more."""

from __future__ import annotations

import codecs
import json
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from caliban_common.errors import DataError
from caliban_common.message import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    Source,
    TextBlock,
)
from caliban_common.tagged import Tagged
from caliban_common.text import one_line
from caliban_common.typed import typed
from caliban_headless.errors import BadInput, HeadlessError, InputTooLarge, MissingInput
from caliban_headless.local import LocalCommand
from caliban_headless.reached import RunAtWork
from caliban_headless.services import NOTHING_SERVED, FrameServices
from caliban_headless.source import Operation
from caliban_headless.stdin import Stdin

if TYPE_CHECKING:
    from caliban_headless.desk import HostDesk
    from caliban_headless.requests import Answered, HostRequest
    from caliban_images import MediaLimits

MAX_FRAME_BYTES = 10 * 1024 * 1024
SETTLE_S = 0.02
"""How long an end of the input that is on its way may take: then it counts for the prompt before it."""
_FORM: Final = 'a prompt is sent as {"type":"user","content":"…"}'


class FrameSource:
    """Prompts out of stream-json frames, read as they arrive.

    `pump` runs beside the runs and fills the queue. What is meant for the `run` at work reaches it at once:
    an `interrupt`, the end of one call by `stop_task`, a prompt with the priority `next`. A prompt with the
    priority `now` ends that run, and stands before those that wait. What is malformed ends the input: the
    frames before it are still answered. Images and PDFs are made to fit `media`, what the model takes when
    their prompt's turn has come; without it they stay as they came. Answers go to the `desk` that asked;
    what else the other end may ask for is among the `services`. A text that calls a command is done in its
    turn, whatever its priority: no model reads it.
    """

    def __init__(
        self,
        stdin: Stdin,
        run: RunAtWork,
        media: Callable[[], MediaLimits] | None = None,
        *,
        desk: HostDesk | None = None,
        services: FrameServices | None = None,
    ) -> None:
        self._called = None if services is None else services.called
        self._desk = desk
        self._at_once = None if services is None else services.at_once
        self._served = NOTHING_SERVED if services is None else services.served
        self._media = media
        self._stdin = stdin
        self._run = run
        self._queue: deque[Message | Operation | LocalCommand | HostRequest | Answered] = deque()
        self._error: HeadlessError | None = None
        self._given = 0
        self._ended = False
        self._news = anyio.Event()
        self._doing: TaskGroup | None = None
        self._undone = 0
        self._is_read = False
        self._line = None if services is None else services.line
        self._unsent = None if services is None else services.unsent
        self._ready = None if services is None else services.ready

    async def pump(self) -> None:
        """Read standard input to its end, and do what is asked for meanwhile to its end."""
        async with anyio.create_task_group() as self._doing:
            if self._line is not None:
                self._line.begin(self._tell)
                self._doing.start_soon(self._prepare)
            await self._read()
            for answered in (self._desk, self._line):
                if answered is not None:
                    answered.close()
            self._is_read = True
            self._end()

    async def _prepare(self) -> None:
        """Have all ready for the first prompt."""
        if self._ready is not None:
            await self._ready()
            self._ready = None
            self._tell()

    def _end(self) -> None:
        """Nothing more will come, once all is read and what was asked for is done."""
        if self._is_read and not self._undone:
            self._ended = True
            self._tell()

    async def _read(self) -> None:
        buffer = bytearray()
        try:
            while (chunk := await self._stdin.read()) is not None:
                buffer += chunk
                await self._take_lines(buffer)
            if buffer.strip():
                await self._take(bytes(buffer))
        except HeadlessError as error:
            self._error = error

    async def next(self) -> Message | Operation | LocalCommand | HostRequest | Answered | None:
        """The next prompt, or what else is asked for in its turn.

        Raises the input's error once everything before it was given.
        """
        while True:
            if self._unsent is not None and (event := self._unsent()) is not None:
                from caliban_headless.requests import Answered

                return Answered(event=event)
            if self._take_unread() and not self._is_early(self._queue[0]):
                break
            if self._queue:
                await self._news.wait()
                continue
            if self._error is not None:
                raise self._error
            if self._ended:
                if not self._given:
                    raise MissingInput("standard input held no user frame")
                return None
            await self._news.wait()
        self._given += 1
        asked = self._queue.popleft()
        return await self._fitted(asked) if isinstance(asked, Message) else asked

    async def last(self) -> bool:
        """Whether the input has ended by now; an end that is about to be read counts."""
        with anyio.move_on_after(SETTLE_S):
            while not self._ended and not self._take_unread():
                await self._news.wait()
        return self._ended

    def _is_early(self, asked: object) -> bool:
        """Whether it is a prompt, and not all is ready for one."""
        return self._ready is not None and isinstance(asked, Message | LocalCommand)

    async def _fitted(self, message: Message) -> Message:
        if self._media is None or not _holds_media(message):
            return message
        from caliban_headless.media import fitted

        return await fitted(message, self._media())

    def _take_unread(self) -> bool:
        """Put what no run has read any more before what waits; whether anything waits."""
        self._queue.extendleft(reversed(self._run.unread()))
        return bool(self._queue)

    async def _take_lines(self, buffer: bytearray) -> None:
        start = 0
        while (end := buffer.find(b"\n", start)) >= 0:
            await self._take(bytes(buffer[start:end]))
            start = end + 1
        del buffer[:start]
        if len(buffer) > MAX_FRAME_BYTES:
            raise InputTooLarge(f"an input frame has more than {MAX_FRAME_BYTES:,} bytes")

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        if self._is_answer(line):
            return
        if (request := self._request(line)) is not None:
            if request.at_once and self._doing is not None:
                self._undone += 1
                self._doing.start_soon(self._do, request)
            else:
                self._queue.append(request)
                self._tell()
            return
        frame = parse_frame(line)
        if isinstance(frame, Prompt) and (command := self._command(frame.message)) is not None:
            if frame.priority == "now":
                self._run.interrupt()
                self._queue.appendleft(command)
            else:
                self._queue.append(command)
            self._tell()
            return
        match frame:
            case InterruptFrame():
                self._run.interrupt(waiting=bool(self._queue))
            case StopTask(task_id=task_id):
                self._run.stop_call(task_id)
            case Prompt(message=message, priority="next"):
                self._run.steer(await self._fitted(message))
                self._tell()
            case Prompt(message=message, priority="now"):
                self._run.interrupt()
                self._queue.appendleft(message)
                self._tell()
            case Prompt(message=message):
                self._queue.append(message)
                self._tell()
            case Operation() as asked:
                self._queue.append(asked)
                self._tell()

    def _is_answer(self, line: bytes) -> bool:
        """Whether it is a `control_response`: then whoever asked has it now."""
        if b"control_response" not in line or (self._desk is None and self._line is None):
            return False
        from caliban_headless.desk import read_response

        response = read_response(line)
        if response is None:
            return False
        if self._line is not None and self._line.take(response):
            return True
        if self._desk is not None:
            self._desk.take(response)
        elif self._line is not None:
            self._line.stray(response)
        return True

    def _command(self, message: Message) -> LocalCommand | None:
        """The command that a prompt of text alone calls."""
        if self._called is None or not message.text.startswith("/") or _holds_media(message):
            return None
        return self._called(message.text)

    def _request(self, line: bytes) -> HostRequest | None:
        if b"control_request" not in line:
            return None
        from caliban_headless.requests import read_request

        return read_request(line, self._served, {} if self._at_once is None else self._at_once.served)

    async def _do(self, request: HostRequest) -> None:
        """Do what waits for no prompt; the answer stands in the frames of the one that runs, else at once."""
        from caliban_headless.requests import Answered

        event = await request.answer()
        if self._at_once is None or not self._at_once.tell(event):
            self._queue.appendleft(Answered(event=event))
            self._tell()
        self._undone -= 1
        self._end()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


class TextPart(Tagged, frozen=True, kw_only=True, tag="text", forbid_unknown_fields=True):
    """A piece of a prompt."""

    text: str


Priority: TypeAlias = Literal["later", "next", "now"]
"""When a prompt is read: in its turn, with the next turn of the run at work, or at once, which ends that."""


class ImagePart(Tagged, frozen=True, kw_only=True, tag="image", forbid_unknown_fields=True):
    """An image of a prompt, in the frame or behind an address."""

    source: Source


class DocumentPart(Tagged, frozen=True, kw_only=True, tag="document", forbid_unknown_fields=True):
    """A PDF of a prompt."""

    source: Base64Source
    title: str | None = None


Part: TypeAlias = TextPart | ImagePart | DocumentPart


class UserFrame(Tagged, frozen=True, kw_only=True, tag="user", forbid_unknown_fields=True):
    """A prompt."""

    content: str | tuple[Part, ...]
    priority: Priority = "later"


class ControlFrame(Tagged, frozen=True, kw_only=True, tag="control", forbid_unknown_fields=True):
    """What is to happen to the run at work; `task_id` says to which of its tasks."""

    subtype: Literal["interrupt", "stop_task", "compact", "undo_compaction"]
    task_id: str | None = None


class Prompt(Struct, frozen=True, kw_only=True):
    """What a person says, and when it is to be read."""

    message: Message
    priority: Priority


class InterruptFrame(Struct, frozen=True, kw_only=True):
    """The run at work is to end."""


class StopTask(Struct, frozen=True, kw_only=True):
    """One call of the run at work, or what it has left to the background, is to end."""

    task_id: str


def parse_frame(line: bytes) -> Prompt | Operation | InterruptFrame | StopTask:
    """The prompt of a `user` frame, or what a `control` frame asks for. Raises `BadInput` for anything else.

    Unknown members are errors: a wrong envelope must never run the agent with a blank prompt (ADR 0025 of
    the guide).
    """
    try:
        data = json.loads(line.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadInput(
            f"an input frame is not UTF-8 text: byte 0x{line[error.start]:02x} at offset {error.start:,}",
            hint="send frames as UTF-8",
        ) from error
    except (ValueError, RecursionError) as error:
        shown = one_line(line.decode("utf-8", "replace"), max_chars=80)
        raise BadInput(f"input frame is not JSON: {shown}") from error
    try:
        frame = typed(data, UserFrame | ControlFrame, what="an input frame")
    except DataError as error:
        raise BadInput(error.message, hint=_FORM) from error
    if isinstance(frame, UserFrame):
        message = Message(role="user", content=_prompt_blocks(frame))
        return Prompt(message=message, priority=frame.priority)
    return _control(frame)


def _control(frame: ControlFrame) -> Operation | InterruptFrame | StopTask:
    if frame.subtype == "stop_task":
        if not frame.task_id:
            raise BadInput("a stop_task frame names no task", hint='"task_id" is the id of the call')
        return StopTask(task_id=frame.task_id)
    if frame.task_id is not None:
        raise BadInput(f"a frame of {frame.subtype} names a task", hint='"stop_task" ends one task alone')
    return InterruptFrame() if frame.subtype == "interrupt" else Operation(name=frame.subtype)


def _holds_media(message: Message) -> bool:
    return any(not isinstance(block, TextBlock) for block in message.content)


def _prompt_blocks(frame: UserFrame) -> tuple[Block, ...]:
    parts = (TextPart(text=frame.content),) if isinstance(frame.content, str) else frame.content
    blocks = tuple(_block(part) for part in parts if not isinstance(part, TextPart) or part.text.strip())
    if not blocks:
        raise BadInput("a user frame's content is empty")
    return blocks


def _block(part: Part) -> Block:
    match part:
        case TextPart():
            return TextBlock(text=part.text)
        case ImagePart():
            return ImageBlock(source=part.source)
        case DocumentPart():
            return DocumentBlock(source=part.source, title=part.title)
        case _:
            assert_never(part)
