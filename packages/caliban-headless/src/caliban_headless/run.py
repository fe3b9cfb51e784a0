"""The driver: prompts from a source, through a session, into an encoder; one result on every path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio

from caliban_common.event import AgentEvent, AssistantTextDelta
from caliban_common.message import Message
from caliban_drive.result import PromptResult, RunTotals
from caliban_drive.session import Session
from caliban_drive.submission import CANCELLED, Submission
from caliban_headless import exit_codes
from caliban_headless.errors import HeadlessError, OutputClosed, OutputFailed
from caliban_headless.frames import Init
from caliban_headless.input import PromptSource
from caliban_headless.notices import Notices, line, print_notice
from caliban_headless.output import Output

if TYPE_CHECKING:
    from caliban_drive.structured import AnswerSchema

GRACE_S = 3.0


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

    def result(self, result: PromptResult) -> bytes:
        """What stands after everything else of a prompt."""
        ...


class Driver:
    """One headless run of a session. `cancel` may be called at any time, from the same event loop."""

    def __init__(
        self,
        session: Session,
        encoder: OutputEncoder,
        output: Output,
        *,
        init: Init,
        notices: Notices | None = None,
        schema: AnswerSchema | None = None,
    ) -> None:
        self._session = session
        self._encoder = encoder
        self._output = output
        self._init = init
        self._notices = notices or Notices(announce=True)
        self._schema = schema
        self._cancelled = False
        self._waiting: anyio.CancelScope | None = None
        self._totals: RunTotals | None = None  # of the prompts that no result has answered yet

    async def run(self, source: PromptSource) -> int:
        """Answer every prompt of `source`; the exit code of the last result."""
        self._totals = self._session.totals()
        try:
            code = await self._run(source)
        except OutputFailed as error:
            code = self._unwritten(error)
        except anyio.get_cancelled_exc_class():
            self._last_words()
            raise
        finally:
            await self._session.aclose()
        if self._session.store_error is not None and code == exit_codes.SUCCESS:
            code = exit_codes.CONFIG
        return code

    def cancel(self) -> None:
        """End the prompt in progress, and the wait for a further one."""
        self._cancelled = True
        self._output.hurry(GRACE_S)
        self._session.interrupt(waiting=True)
        if self._waiting is not None:
            self._waiting.cancel()

    async def _run(self, source: PromptSource) -> int:
        try:
            self._output.write(self._encoder.begin(self._init))
            await self._output.flush()
            return await self._answer_all(source)
        except OutputFailed:
            raise
        except HeadlessError as error:
            failed = self._owed().failed(error.message, hint=error.hint)
            return await self._finish(failed, error.code)

    async def _answer_all(self, source: PromptSource) -> int:
        code: int = exit_codes.SUCCESS
        shared: PromptResult | None = None  # the result so far of prompts that one result answers together
        while True:
            prompt = await self._next(source)
            if self._cancelled:
                if self._totals is not None:
                    await self._finish(self._totals.result(CANCELLED), exit_codes.CANCELLED)
                return exit_codes.CANCELLED
            if prompt is None:
                return code if shared is None else await self._finish(shared, exit_codes.SUCCESS)
            result = await self._answer(prompt)
            # One result answers all prompts of an input that had ended before they were.
            last = await source.last()
            shared = result if last and not result.is_error and not self._cancelled else None
            if shared is None:
                code = await self._finish(result, code_of(result))
                if self._cancelled or (last and result.subtype != "cancelled"):
                    return code

    async def _next(self, source: PromptSource) -> Message | None:
        with anyio.CancelScope() as self._waiting:
            if self._cancelled:
                return None
            return await source.next()
        return None

    async def _answer(self, prompt: Message) -> PromptResult:
        self._output.write(self._encoder.prompt(prompt))
        async with self._session.submit(prompt, schema=self._schema, totals=self._owed()) as submission:
            await self._show(submission)
        return submission.result

    async def _show(self, submission: Submission) -> None:
        encode, line_for, output = self._encoder.event, self._notices.event, self._output
        async for event in submission.events:
            output.write(encode(event))
            # A delta has no line: there can be fifty thousand of them.
            if type(event) is not AssistantTextDelta and (text := line_for(event)):
                await output.flush()
                print_notice(text)
            if output.full or not submission.buffered:
                await output.flush()
        await output.flush()

    async def _finish(self, result: PromptResult, code: int) -> int:
        """Write the result, last of all that is written for its prompts."""
        self._output.write(self._encoder.result(result))
        await self._output.flush()
        print_notice(self._notices.result(result))
        self._totals = None
        return code

    def _unwritten(self, error: OutputFailed) -> int:
        """The exit code when standard output takes no more; a reader that went away needs no words."""
        if self._cancelled:
            return exit_codes.CANCELLED
        if not isinstance(error, OutputClosed):
            print_notice(line(error.message, error.hint))
        return error.code

    def _last_words(self) -> None:
        """The result of a run that may not wait any more."""
        if self._totals is not None:
            self._output.write(self._encoder.result(self._totals.result(CANCELLED)))
            self._totals = None
            self._output.push()

    def _owed(self) -> RunTotals:
        """The sums of the result that is owed: one answers what came since the one before."""
        if self._totals is None:
            self._totals = self._session.totals()
        return self._totals


def code_of(result: PromptResult) -> int:
    """The exit code of a result that a run came to."""
    return exit_codes.FAILURE if result.stop is None else exit_codes.exit_code(result.stop)
