"""The driver: prompts from a source, through a session, into an encoder; one result on every path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import anyio

from caliban_common.event import AgentEvent
from caliban_common.message import Message, user
from caliban_common.stop import Stop
from caliban_drive.session import Session, Submission
from caliban_headless import exit
from caliban_headless.errors import HeadlessError, OutputClosed, SchemaMismatch
from caliban_headless.frames import Init
from caliban_headless.input import PromptSource
from caliban_headless.notices import Notices
from caliban_headless.output import Output
from caliban_headless.summary import Result, Summary, with_structured

CANCELLED = Stop(kind="cancelled", message="the run was cancelled")


class AnswerShape(Protocol):
    """What an answer must look like: `caliban_headless.structured.Schema`."""

    @property
    def max_repairs(self) -> int:
        """How often the model may correct an answer."""
        ...

    def check(self, reply: str) -> Any:
        """The value in `reply`. Raises `SchemaMismatch`."""
        ...

    def repair_prompt(self, error: SchemaMismatch) -> str:
        """What the model is told when its answer does not fit."""
        ...


class Encoder(Protocol):
    """Turns a run into bytes for standard output: a fold over events, with a beginning and an end."""

    def begin(self, init: Init) -> bytes:
        """What stands before everything else."""
        ...

    def prompt(self, message: Message) -> bytes:
        """What a prompt adds."""
        ...

    def event(self, event: AgentEvent) -> bytes:
        """What an event adds."""
        ...

    def result(self, result: Result) -> bytes:
        """What stands after everything else of a prompt."""
        ...


def say(text: str) -> None:
    """Write `text` to standard error; nobody listening is no reason to fail."""
    if text:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, UnicodeError):
            pass


@dataclass(slots=True, kw_only=True)
class Driver:
    """One headless run of a session. `cancel` may be called at any time, from the same event loop."""

    session: Session
    encoder: Encoder
    output: Output
    init: Init
    model: str
    notices: Notices | None = None
    schema: AnswerShape | None = None
    say: Callable[[str], None] = say
    _current: Submission | None = None
    _cancelled: bool = False
    _waiting: anyio.CancelScope | None = None
    _summary: Summary = field(init=False)
    _started: float = field(init=False, default=0.0)
    _owed: bool = field(init=False, default=True)

    async def run(self, source: PromptSource) -> int:
        """Answer every prompt of `source`; the exit code of the last result."""
        self._begin_prompt()
        code = exit.SUCCESS
        try:
            self.output.write(self.encoder.begin(self.init))
            await self.output.flush()
            code = await self._answer_all(source, code)
        except OutputClosed as error:
            code = error.code
        except HeadlessError as error:
            code = await self._finish(self._failed(error))
        closing = self.session.close()
        if closing is not None:
            self.say((self.notices or Notices(announce=False)).event(closing))
        if self.session.store_error is not None and code == exit.SUCCESS:
            code = exit.CONFIG
        return code

    def cancel(self) -> None:
        """End the run in progress, and the wait for a further prompt."""
        self._cancelled = True
        if self._current is not None:
            self._current.cancel()
        if self._waiting is not None:
            self._waiting.cancel()

    def interrupt(self) -> None:
        """End the run in progress; the conversation may go on."""
        if self._current is not None:
            self._current.cancel()

    async def _answer_all(self, source: PromptSource, code: int) -> int:
        while True:
            prompt = await self._next(source)
            if self._cancelled:
                return await self._finish(self._summary.result(CANCELLED, self._elapsed_ms()))
            if prompt is None:
                return code
            if not self._owed:
                self._begin_prompt()
            result = await self._answer(prompt)
            last = await source.last()
            if last and not result.is_error and not self._cancelled:
                further = await self._next(source)
                if further is not None:
                    # The input had ended before this prompt was answered: one result answers them all.
                    result = await self._answer_rest(further, source)
                return await self._finish(result)
            code = await self._finish(result)
            if last or self._cancelled:
                return code

    async def _answer_rest(self, prompt: Message | None, source: PromptSource) -> Result:
        result = self._summary.result(Stop(kind="end_of_turn"), self._elapsed_ms())
        while prompt is not None:
            result = await self._answer(prompt)
            if result.is_error:
                return result
            prompt = await self._next(source)
        return result

    async def _next(self, source: PromptSource) -> Message | None:
        with anyio.CancelScope() as self._waiting:
            if self._cancelled:
                return None
            return await source.next()
        return None

    async def _answer(self, prompt: Message) -> Result:
        self.output.write(self.encoder.prompt(prompt))
        stop = await self._submit(prompt)
        result = self._summary.result(stop, self._elapsed_ms())
        if self.schema is None or result.is_error:
            return result
        return await self._structured(self.schema, result)

    async def _structured(self, schema: AnswerShape, result: Result) -> Result:
        for attempt in range(schema.max_repairs + 1):
            try:
                return with_structured(result, schema.check(result.text))
            except SchemaMismatch as error:
                if attempt == schema.max_repairs:
                    return self._summary.failed(error.message, exit.BAD_ANSWER, self._elapsed_ms())
                stop = await self._submit(user(schema.repair_prompt(error)))
                result = self._summary.result(stop, self._elapsed_ms())
                if result.is_error:
                    return result
        return result

    async def _submit(self, prompt: Message) -> Stop:
        async with self.session.submit(prompt) as submission:
            self._current = submission
            try:
                await self._show(submission)
            finally:
                self._current = None
        return submission.outcome.stop

    async def _show(self, submission: Submission) -> None:
        encode, add, output = self.encoder.event, self._summary.add, self.output
        notices = self.notices
        async for event in submission.events:
            add(event)
            output.write(encode(event))
            if notices is not None and (line := notices.event(event)):
                await output.flush()
                self.say(line)
            if output.full or not submission.buffered:
                await output.flush()
        await output.flush()

    async def _finish(self, result: Result) -> int:
        """Write the result, last of all that is written for its prompts."""
        self.output.write(self.encoder.result(result))
        await self.output.flush()
        if self.notices is not None:
            self.say(self.notices.result(result))
        self._owed = False
        return result.code

    def _failed(self, error: HeadlessError) -> Result:
        if not self._owed:
            self._begin_prompt()
        return self._summary.failed(error.message, error.code, self._elapsed_ms(), hint=error.hint)

    def _begin_prompt(self) -> None:
        self._started = perf_counter()
        self._summary = Summary(model=self.model, session_id=self.session.id)
        self._owed = True

    def _elapsed_ms(self) -> float:
        return (perf_counter() - self._started) * 1000
