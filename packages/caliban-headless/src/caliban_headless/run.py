"""The driver: prompts from a source, through a session, into an encoder; one result on every path."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol, assert_never

import anyio

from caliban_common.errors import CalibanError
from caliban_common.event import AgentEvent, AssistantTextDelta, Warned
from caliban_common.mask import Masker
from caliban_common.masked import masked_message
from caliban_common.message import Message
from caliban_common.stop import Stop
from caliban_drive.result import PromptResult, RunTotals
from caliban_drive.session import Session
from caliban_drive.submission import CANCELLED, Submission
from caliban_headless import exit_codes
from caliban_headless.errors import HeadlessError, OutputClosed, OutputFailed
from caliban_headless.frames import Init
from caliban_headless.local import LocalCommand, LocalPrompt
from caliban_headless.notices import LOCAL_OUTPUT, Notices, line, print_notice
from caliban_headless.output import Output
from caliban_headless.source import Operation, PromptSource, Resumption

if TYPE_CHECKING:
    from caliban_drive.structured import AnswerSchema
    from caliban_headless.requests import Answered, HostRequest
    from caliban_headless.source import Incoming

GRACE_S = 3.0
"""How long a run that was cancelled waits for a reader who does not read, in all."""


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
    """One headless run of a session. `cancel` may be called at any time, from the same event loop.

    What the masker of the session's agent knows is neither asked nor shown; pieces of a reply come without.
    """

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
        self._masker = session.agent.options.masker or Masker()
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
            if isinstance(prompt, Operation):
                result = await self._operate(prompt)
            elif isinstance(prompt, Message | Resumption):
                result = await self._answer(prompt)
            elif isinstance(prompt, LocalCommand):
                result = await self._command(prompt)
            else:
                await self._serve(prompt)
                continue
            if isinstance(prompt, LocalCommand) and result.is_error and not self._cancelled:
                shared, code = None, await self._finish(result, code_of(result))
                continue  # what it did not do says nothing of what comes next
            # One result answers all prompts of an input that had ended before they were.
            last = await source.last()
            shared = result if last and not result.is_error and not self._cancelled else None
            if shared is None:
                code = await self._finish(result, code_of(result))
                if self._cancelled or (last and result.subtype != "cancelled"):
                    return code

    async def _serve(self, request: HostRequest | Answered) -> None:
        """Do what the other end asks for, and answer it; no result belongs to that."""
        self._output.write(self._masked(self._encoder.event(await request.answer())))
        await self._output.flush()

    async def _next(self, source: PromptSource) -> Incoming | None:
        with anyio.CancelScope() as self._waiting:
            if self._cancelled:
                return None
            return await source.next()
        return None

    async def _answer(self, prompt: Message | Resumption) -> PromptResult:
        if isinstance(prompt, Resumption):
            async with self._session.resume(schema=self._schema, totals=self._owed()) as submission:
                await self._show(submission)
            return submission.result
        prompt = masked_message(prompt, self._masker)
        self._output.write(self._encoder.prompt(prompt))
        async with self._session.submit(prompt, schema=self._schema, totals=self._owed()) as submission:
            await self._show(submission)
        return submission.result

    async def _command(self, command: LocalCommand) -> PromptResult:
        """Do a command here, and show what it says; or answer the prompt that it makes."""
        totals = self._owed()
        with anyio.CancelScope() as self._waiting:
            try:
                answer = await command.run()
            except CalibanError as error:
                return totals.failed(error.message, hint=error.hint)
        if self._waiting.cancelled_caught:
            return totals.result(CANCELLED)
        if isinstance(answer, LocalPrompt):
            return await self._made(answer)
        for event in (*answer.events, Warned(subtype=LOCAL_OUTPUT, message=answer.text)):
            self._output.write(self._masked(self._encoder.event(event)))
            print_notice(self._masker.text(self._notices.event(event)))
        await self._output.flush()
        totals.text, totals.is_answer = answer.text, True
        return totals.result(Stop(kind="end_of_turn"))

    async def _made(self, prompt: LocalPrompt) -> PromptResult:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(prompt.asked())
            except CalibanError as error:
                return self._owed().failed(error.message, hint=error.hint)
            return await self._answer(prompt.message)

    async def _operate(self, operation: Operation) -> PromptResult:
        """Do what is asked between two prompts; its result says whether that worked."""
        totals = self._owed()
        with anyio.CancelScope() as self._waiting:
            try:
                events, is_done = await self._done(operation)
            except CalibanError as error:
                return totals.failed(error.message, hint=error.hint)
            for event in events:
                self._output.write(self._masked(self._encoder.event(event)))
                print_notice(self._masker.text(self._notices.event(event)))
            await self._output.flush()
            if is_done:
                return totals.result(Stop(kind="end_of_turn"))
            why = next((event.message for event in reversed(events) if isinstance(event, Warned)), None)
            return totals.failed(why or "nothing of this conversation was summarised")
        return totals.result(CANCELLED)

    async def _done(self, operation: Operation) -> tuple[tuple[AgentEvent, ...], bool]:
        """What happened, and whether that is what was asked for."""
        match operation.name:
            case "compact":
                compacted = await self._session.compact()
                return compacted.events, compacted.is_done
            case "undo_compaction":
                event = self._session.undo_compaction()
                return () if event is None else (event,), event is not None
            case _:
                assert_never(operation.name)

    async def _show(self, submission: Submission) -> None:
        encode, line_for, output = self._encoder.event, self._notices.event, self._output
        async for event in submission.events:
            if type(event) is AssistantTextDelta:  # no secret, no line: there can be fifty thousand of them
                output.write(encode(event))
            else:
                output.write(self._masked(encode(event)))
                if text := line_for(event):
                    await output.flush()
                    print_notice(self._masker.text(text))
            if output.full or not submission.buffered:
                await output.flush()
        await output.flush()

    async def _finish(self, result: PromptResult, code: int) -> int:
        """Write the result, last of all that is written for its prompts."""
        self._output.write(self._masked(self._encoder.result(result)))
        await self._output.flush()
        print_notice(self._masker.text(self._notices.result(result)))
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
            self._output.write(self._masked(self._encoder.result(self._totals.result(CANCELLED))))
            self._totals = None
            self._output.push()

    def _masked(self, data: bytes) -> bytes:
        """What an encoder wrote, without secrets."""
        if not data or not self._masker:
            return data
        text = data.decode("utf-8", "replace")
        masked = self._masker.text(text)
        return data if masked is text else masked.encode()

    def _owed(self) -> RunTotals:
        """The sums of the result that is owed: one answers what came since the one before."""
        if self._totals is None:
            self._totals = self._session.totals()
        return self._totals


def code_of(result: PromptResult) -> int:
    """The exit code of a result that a run came to."""
    return exit_codes.FAILURE if result.stop is None else exit_codes.exit_code(result.stop)
