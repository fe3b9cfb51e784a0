"""Where prompts come from: an argument, standard input as text, or stream-json frames.

A source gives prompts one by one and knows, when a run is over, whether more will come.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Final, Literal, Protocol

import anyio

from caliban_common.errors import DataError
from caliban_common.message import Message, TextBlock
from caliban_common.tagged import Tagged
from caliban_common.text import one_line
from caliban_common.typed import typed
from caliban_headless.errors import BadInput, HeadlessError, InputTooLarge, MissingInput
from caliban_headless.stdin import Stdin

MAX_TEXT_BYTES = 10 * 1024 * 1024
MAX_FRAME_BYTES = 10 * 1024 * 1024
SETTLE_S = 0.02
_FORM: Final = 'a prompt is sent as {"type":"user","content":"…"}'


class PromptSource(Protocol):
    """Gives prompts. `last` is whether none will come after those already given."""

    async def next(self) -> Message | None:
        """The next prompt, waiting for it; `None` at the end. Raises `HeadlessError` for a bad one."""
        ...

    async def last(self) -> bool:
        """Whether the input has ended: then one result answers all prompts of it together."""
        ...


class Interrupt(Protocol):
    """Ends the run in progress, or the next one if a prompt for it is `waiting`."""

    def __call__(self, *, waiting: bool) -> None: ...


class OnePrompt:
    """A source of a single prompt."""

    def __init__(self, prompt: Message) -> None:
        self._prompt: Message | None = prompt

    async def next(self) -> Message | None:
        """The prompt, the first time."""
        prompt, self._prompt = self._prompt, None
        return prompt

    async def last(self) -> bool:
        """Always."""
        return True


class FrameSource:
    """Prompts out of stream-json frames, read as they arrive.

    `pump` runs beside the runs and fills the queue; an `interrupt` frame calls `on_interrupt` at once and
    says whether a prompt waits. What is malformed ends the input: the frames before it are still answered.
    """

    def __init__(self, stdin: Stdin, on_interrupt: Interrupt) -> None:
        self._stdin = stdin
        self._on_interrupt = on_interrupt
        self._queue: deque[Message] = deque()
        self._error: HeadlessError | None = None
        self._given = 0
        self._ended = False
        self._news = anyio.Event()

    async def pump(self) -> None:
        """Read standard input to its end."""
        buffer = bytearray()
        try:
            while (chunk := await self._stdin.read()) is not None:
                buffer += chunk
                self._take_lines(buffer)
            if buffer.strip():
                self._take(bytes(buffer))
        except HeadlessError as error:
            self._error = error
        self._ended = True
        self._tell()

    async def next(self) -> Message | None:
        """The next user frame's prompt. Raises the input's error once everything before it was given."""
        while not self._queue:
            if self._error is not None:
                raise self._error
            if self._ended:
                if not self._given:
                    raise MissingInput("standard input held no user frame")
                return None
            news = self._news
            await news.wait()
        self._given += 1
        return self._queue.popleft()

    async def last(self) -> bool:
        """Whether the input has ended by now; an end that is about to be read counts."""
        with anyio.move_on_after(SETTLE_S):
            while not self._ended and not self._queue:
                await self._news.wait()
        return self._ended

    def _take_lines(self, buffer: bytearray) -> None:
        start = 0
        while (end := buffer.find(b"\n", start)) >= 0:
            self._take(bytes(buffer[start:end]))
            start = end + 1
        del buffer[:start]
        if len(buffer) > MAX_FRAME_BYTES:
            raise InputTooLarge(f"an input frame has more than {MAX_FRAME_BYTES:,} bytes")

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        prompt = parse_frame(line)
        if prompt is None:
            self._on_interrupt(waiting=bool(self._queue))
            return
        self._queue.append(prompt)
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


async def read_text(stdin: Stdin) -> str:
    """All of standard input as text. Raises `InputTooLarge` above 10 MiB."""
    parts: list[bytes] = []
    total = 0
    while (chunk := await stdin.read()) is not None:
        total += len(chunk)
        if total > MAX_TEXT_BYTES:
            raise InputTooLarge(
                f"standard input has more than {MAX_TEXT_BYTES:,} bytes",
                hint="put the text into a file and name the file in the prompt",
            )
        parts.append(chunk)
    return b"".join(parts).decode("utf-8", "replace")


class TextPart(Tagged, frozen=True, kw_only=True, tag="text", forbid_unknown_fields=True):
    """A piece of a prompt."""

    text: str


class UserFrame(Tagged, frozen=True, kw_only=True, tag="user", forbid_unknown_fields=True):
    """A prompt."""

    content: str | tuple[TextPart, ...]


class ControlFrame(Tagged, frozen=True, kw_only=True, tag="control", forbid_unknown_fields=True):
    """What is to happen to the run at work."""

    subtype: Literal["interrupt"]


def parse_frame(line: bytes) -> Message | None:
    """The prompt of a `user` frame; `None` for an interrupt. Raises `BadInput` for anything else.

    Unknown members are errors: a wrong envelope must never run the agent with a blank prompt (ADR 0025 of
    the guide).
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        shown = one_line(line.decode("utf-8", "replace"), max_chars=80)
        raise BadInput(f"input frame is not JSON: {shown}") from error
    try:
        frame = typed(data, UserFrame | ControlFrame, what="an input frame")
    except DataError as error:
        raise BadInput(error.message, hint=_FORM) from error
    return Message(role="user", content=_prompt_blocks(frame)) if isinstance(frame, UserFrame) else None


def _prompt_blocks(frame: UserFrame) -> tuple[TextBlock, ...]:
    texts = [frame.content] if isinstance(frame.content, str) else [part.text for part in frame.content]
    blocks = tuple(TextBlock(text=text) for text in texts if text.strip())
    if not blocks:
        raise BadInput("a user frame's content is empty")
    return blocks
