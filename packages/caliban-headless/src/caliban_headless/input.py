"""Where prompts come from: an argument, standard input as text, or stream-json frames.

A source gives prompts one by one and knows, when a run is over, whether more will come.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any, Protocol

import anyio

from caliban_common.message import Message, TextBlock
from caliban_common.text import one_line
from caliban_headless.errors import BadInput, HeadlessError, InputTooLarge, MissingInput
from caliban_headless.stdin import Stdin

MAX_TEXT_BYTES = 10 * 1024 * 1024
MAX_FRAME_BYTES = 10 * 1024 * 1024
SETTLE_S = 0.02


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


def parse_frame(line: bytes) -> Message | None:
    """The prompt of a `user` frame; `None` for an interrupt. Raises `BadInput` for anything else.

    Unknown members are errors: a wrong envelope must never run the agent with a blank prompt (ADR 0025 of
    the guide).
    """
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError) as error:
        shown = one_line(line.decode("utf-8", "replace"), max_chars=80)
        raise BadInput(f"input frame is not JSON: {shown}") from error
    if not isinstance(frame, dict):
        raise BadInput("an input frame must be a JSON object")
    match frame.get("type"):
        case "user":
            _only(frame, ("type", "content"))
            return Message(role="user", content=_prompt_blocks(frame.get("content")))
        case "control":
            _only(frame, ("type", "subtype"))
            if frame.get("subtype") != "interrupt":
                raise BadInput(f"unknown control subtype {frame.get('subtype')!r} (known: interrupt)")
            return None
        case other:
            raise BadInput(f"unknown frame type {other!r} (known: user, control)")


def _only(frame: dict[str, Any], known: tuple[str, ...]) -> None:
    unknown = sorted(set(frame) - set(known))
    if unknown:
        raise BadInput(
            f"unknown member {unknown[0]!r} in a {frame['type']} frame (known: {', '.join(known)})",
            hint='a prompt is sent as {"type":"user","content":"…"}',
        )


def _prompt_blocks(content: object) -> tuple[TextBlock, ...]:
    if isinstance(content, str):
        texts = [content]
    elif isinstance(content, list):
        texts = [_text_of(block) for block in content]
    else:
        raise BadInput("a user frame's content must be a string or a list of text blocks")
    blocks = tuple(TextBlock(text=text) for text in texts if text.strip())
    if not blocks:
        raise BadInput("a user frame's content is empty")
    return blocks


def _text_of(block: object) -> str:
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
        _only({**block, "type": "text"}, ("type", "text"))
        return str(block["text"])
    raise BadInput('a content block must be {"type":"text","text":"…"}')
