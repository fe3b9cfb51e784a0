"""The driver: prompts from a source, through a session, into an encoder; one result on every path."""

from __future__ import annotations

import select
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import anyio

from caliban_common.event import AgentEvent, Warned
from caliban_common.message import Message, user
from caliban_common.stop import Stop
from caliban_drive.session import Session, Submission
from caliban_headless import exit_codes
from caliban_headless.errors import HeadlessError, OutputClosed, OutputFailed, SchemaMismatch
from caliban_headless.frames import Init
from caliban_headless.input import PromptSource
from caliban_headless.notices import Notices
from caliban_headless.output import Output
from caliban_headless.totals import Costs, Result, RunTotals, with_structured

GRACE_S = 3.0
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


class OutputEncoder(Protocol):
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


def print_notice(text: str) -> None:
    """Write `text` to standard error; nobody listening is no reason to fail, or to wait."""
    if text:
        try:
            if sys.platform != "win32" and not select.select([], [sys.stderr.fileno()], [], 0)[1]:
                return
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, UnicodeError):
            pass


@dataclass(slots=True, kw_only=True)
class Driver:
    """One headless run of a session. `cancel` may be called at any time, from the same event loop.

    Whoever is beside the run puts into `warnings` what a reader should see.
    """

    session: Session
    encoder: OutputEncoder
    output: Output
    init: Init
    model: str
    notices: Notices | None = None
    schema: AnswerShape | None = None
    costs: Costs | None = None
    warnings: deque[Warned] = field(default_factory=deque)
    print_notice: Callable[[str], None] = print_notice
    _current: Submission | None = None
    _cancelled: bool = False
    _interrupt_next: bool = False
    _waiting: anyio.CancelScope | None = None
    _summary: RunTotals = field(init=False)
    _started: float = field(init=False, default=0.0)
    _owed: bool = field(init=False, default=True)

    async def run(self, source: PromptSource) -> int:
        """Answer every prompt of `source`; the exit code of the last result."""
        self._begin_prompt()
        try:
            code = await self._run(source)
        except OutputFailed as error:
            code = self._unwritten(error)
        except anyio.get_cancelled_exc_class():
            self._last_words()
            raise
        finally:
            self._close()
        if self.session.store_error is not None and code == exit_codes.SUCCESS:
            code = exit_codes.CONFIG
        return code

    def cancel(self) -> None:
        """End the run in progress, and the wait for a further prompt."""
        self._cancelled = True
        self.output.hurry(GRACE_S)
        if self._current is not None:
            self._current.cancel()
        if self._waiting is not None:
            self._waiting.cancel()

    def interrupt(self, *, waiting: bool = False) -> None:
        """End the run in progress, or that of the prompt that is `waiting`; the conversation may go on."""
        if self._current is not None:
            self._current.cancel()
        elif waiting:
            self._interrupt_next = True

    async def _run(self, source: PromptSource) -> int:
        try:
            self.output.write(self.encoder.begin(self.init))
            await self.output.flush()
            return await self._answer_all(source)
        except OutputFailed:
            raise
        except HeadlessError as error:
            return await self._finish(self._failed(error))

    async def _answer_all(self, source: PromptSource) -> int:
        code: int = exit_codes.SUCCESS
        shared: Result | None = None  # the result so far of prompts that one result answers together
        while True:
            prompt = await self._next(source)
            if self._cancelled:
                cancelled = self._summary.result(CANCELLED, self._elapsed_ms())
                return await self._finish(cancelled) if self._owed else cancelled.code
            if prompt is None:
                return code if shared is None else await self._finish(shared)
            if not self._owed:
                self._begin_prompt()
            result = await self._answer(prompt)
            # One result answers all prompts of an input that had ended before they were.
            last = await source.last()
            shared = result if last and not result.is_error and not self._cancelled else None
            if shared is None:
                code = await self._finish(result)
                if self._cancelled or (last and result.subtype != "cancelled"):
                    return code

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
                    return self._summary.failed(error.message, exit_codes.BAD_ANSWER, self._elapsed_ms())
                stop = await self._submit(user(schema.repair_prompt(error)))
                result = self._summary.result(stop, self._elapsed_ms())
                if result.is_error:
                    return result
        return result

    async def _submit(self, prompt: Message) -> Stop:
        async with self.session.submit(prompt) as submission:
            self._current = submission
            if self._cancelled or self._interrupt_next:
                submission.cancel()
            self._interrupt_next = False
            try:
                await self._show(submission)
            finally:
                self._current = None
        return submission.outcome.stop

    async def _show(self, submission: Submission) -> None:
        encode, add, output = self.encoder.event, self._summary.add, self.output
        notices = self.notices
        async for event in submission.events:
            while self.warnings:
                await self._show_event(self.warnings.popleft())
            add(event)
            output.write(encode(event))
            if notices is not None and (line := notices.event(event)):
                await output.flush()
                self.print_notice(line)
            if output.full or not submission.buffered:
                await output.flush()
        await output.flush()

    async def _show_event(self, event: AgentEvent) -> None:
        """Show what did not come with a run's events: a switch of models, a price that is not known."""
        self.output.write(self.encoder.event(event))
        if self.notices is not None:
            await self.output.flush()
            self.print_notice(self.notices.event(event))

    async def _finish(self, result: Result) -> int:
        """Write the result, last of all that is written for its prompts."""
        self.output.write(self.encoder.result(result))
        await self.output.flush()
        if self.notices is not None:
            self.print_notice(self.notices.result(result))
        self._owed = False
        return result.code

    def _unwritten(self, error: OutputFailed) -> int:
        """The exit code when standard output takes no more; a reader that went away needs no words."""
        if self._cancelled:
            return exit_codes.CANCELLED
        if not isinstance(error, OutputClosed):
            hint = f"\n[hint: {error.hint}]" if error.hint else ""
            self.print_notice(f"[caliban: {error.message}]{hint}\n")
        return error.code

    def _last_words(self) -> None:
        """The result of a run that may not wait any more."""
        if self._owed:
            self._owed = False
            self.output.write(self.encoder.result(self._summary.result(CANCELLED, self._elapsed_ms())))
            self.output.push()

    def _close(self) -> None:
        failure = self.session.close()
        if failure is not None:
            self.print_notice((self.notices or Notices(announce=False)).event(failure))

    def _failed(self, error: HeadlessError) -> Result:
        if not self._owed:
            self._begin_prompt()
        return self._summary.failed(error.message, error.code, self._elapsed_ms(), hint=error.hint)

    def _begin_prompt(self) -> None:
        self._started = perf_counter()
        self._summary = RunTotals(model=self.model, session_id=self.session.id, costs=self.costs)
        self._owed = True

    def _elapsed_ms(self) -> float:
        return (perf_counter() - self._started) * 1000
