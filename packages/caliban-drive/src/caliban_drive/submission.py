"""One prompt on its way to an answer: judged by the hooks, run, and run again while its schema wants it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, assert_never

import anyio
from msgspec.structs import replace

from caliban_agent_core.background import Background
from caliban_agent_core.channel import Channel
from caliban_agent_core.errors import RunNotFinished
from caliban_agent_core.hooks import listening
from caliban_agent_core.run import Run
from caliban_common.event import (
    AgentEvent,
    ApiRetry,
    ApprovalAsked,
    ApprovalGiven,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    TaskChanged,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.message import Message, user
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_drive.conversation import Conversation
from caliban_drive.errors import SchemaMismatch
from caliban_drive.notice import Notice, as_event, as_notice
from caliban_drive.result import PromptResult, RunTotals

if TYPE_CHECKING:
    from caliban_drive.structured import AnswerSchema

DELTAS = frozenset({AssistantTextDelta, AssistantThinkingDelta, ToolCallInputDelta})
CANCELLED = Stop(kind="cancelled", message="the run was cancelled")


class Submission:
    """One prompt: enter it with `async with`, read `events` to the end, then look at `result`.

    An answer that does not fit its schema is asked for again: then the events are those of several runs, one
    after the other, each with its own `RunEnd`. Leaving early ends the prompt. Without a prompt it goes on
    with calls that wait for a person.
    """

    def __init__(
        self,
        conversation: Conversation,
        prompt: Message | None,
        schema: AnswerSchema | None,
        totals: RunTotals,
    ) -> None:
        self._conversation = conversation
        self._prompt = prompt
        self._schema = schema
        self._totals = totals
        self._task: Background | None = None
        self._scope = anyio.CancelScope()
        self._judging = anyio.CancelScope()
        self._interrupted = False
        self._runs: Channel[Run] = Channel(1)
        self._run: Run | None = None
        self._read = anyio.Event()  # the reader has come to the end of the run
        self._queued: deque[AgentEvent] = deque()  # what no run tells; shown before its next event
        self._recorded: list[Message] = []
        self._spent = Usage()
        self._ended = False
        self._unread: Stop | None = None  # how a run ended whose reader has left
        self._stop: Stop | None = None
        self._structured: tuple[Any] | None = None
        self._result: PromptResult | None = None

    @property
    def result(self) -> PromptResult:
        """What came of it; raises `RunNotFinished` before the end."""
        if self._stop is None:
            raise RunNotFinished("the prompt has no result yet", hint="read its events to the end first")
        if self._result is None:
            result = self._totals.result(self._stop)
            if self._structured is not None:
                result = replace(result, has_structured=True, structured=self._structured[0])
            self._result = result
        return self._result

    @property
    def buffered(self) -> int:
        """How many events can be read without waiting."""
        return len(self._queued) + (len(self._run.events) if self._run is not None else 0)

    def interrupt(self) -> None:
        """End it soon; the events still come to their end, and the conversation may go on."""
        self._interrupted = True
        if self._run is not None:
            self._run.cancel()
        else:
            self._judging.cancel()

    def stop_call(self, tool_use_id: str) -> bool:
        """End one call of the run at work, or what it left to the background; false where nothing runs."""
        return self._run is not None and self._run.stop_call(tool_use_id)

    def put(self, event: AgentEvent) -> None:
        """Show `event` to the reader, behind those of the run that are there already."""
        if self._run is None or not self._run.events.put(event):
            self._queued.append(event)

    @property
    def events(self) -> AsyncIterator[AgentEvent]:
        """The events of all its runs, each on the disk before it is given, and what is reported meanwhile."""
        return self._events()

    async def _events(self) -> AsyncIterator[AgentEvent]:
        queued = self._queued
        async for run in self._runs:
            async for event in run.events:
                if type(event) not in DELTAS:
                    await self._synced()
                while queued:
                    yield queued.popleft()
                yield event
            self._read.set()
        while queued:
            yield queued.popleft()
        self._conversation.parts.reporter.leave(self._notice)

    async def _synced(self) -> None:
        """Wait until the disk has what was recorded; the run goes on meanwhile."""
        recorder = self._conversation.recorder
        if recorder.unsynced:
            self._tell(await recorder.sync())

    def _record(self, event: AgentEvent) -> None:
        """Keep what a run tells at the moment it does.

        So whoever looks into the store at the end of a run, as hooks do, finds it whole. A delta is neither
        recorded nor summed up: there can be fifty thousand of them, and folds would look at each for 1 µs.
        """
        if type(event) not in DELTAS:
            self._fold(event)

    def _fold(self, event: AgentEvent) -> None:
        self._totals.add(event)
        match event:
            case MessageAdded():
                self._recorded.append(event.message)
            case HistoryReplaced():
                self._recorded = list(event.messages)
            case ToolCallEnd() | ChildEvent():
                pass
            case TurnEnd():
                self._spent += event.usage
            case RunEnd():
                self._ended = True
                return
            case (
                TurnStart()
                | AssistantTextDelta()
                | AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolCallReady()
                | ApprovalAsked()
                | ApprovalGiven()
                | ToolProgress()
                | TaskChanged()
                | ReplyDiscarded()
                | ApiRetry()
                | Warned()
                | HookFired()
            ):
                return
            case _:
                assert_never(event)
        self._tell(self._conversation.recorder.record(event))

    def _tell(self, failure: Notice | None) -> None:
        if failure is not None:
            self._queued.append(as_event(failure))

    def _notice(self, notice: Notice) -> None:
        self.put(as_event(notice))

    async def _work(self) -> None:
        try:
            with self._scope:
                self._stop = await self._answer()
        finally:
            self._stop = self._stop or self._unread or CANCELLED
            self._runs.close()

    async def _answer(self) -> Stop:
        admitted = await self._admit()
        if isinstance(admitted, Stop):
            self._end_without_run(admitted)
            return admitted
        if self._prompt is not None:  # a reply whose calls are open is followed by their results
            admitted = (*self._conversation.news(), *admitted)
        for message in admitted:
            if message is not self._prompt:
                self._queued.append(MessageAdded(message=message, injected=True))
        stop = await self._run_once(admitted, resumes=self._prompt is None)
        if self._schema is None:
            return stop
        for _ in range(self._schema.max_repairs):
            mismatch = self._check(self._schema, stop)
            if mismatch is None:
                return stop
            correction = self._schema.repair_prompt(mismatch)
            stop = await self._run_once((user(correction, id=self._conversation.parts.new_id()),))
        mismatch = self._check(self._schema, stop)
        return stop if mismatch is None else Stop(kind="schema_mismatch", message=mismatch.message)

    def _check(self, schema: AnswerSchema, stop: Stop) -> SchemaMismatch | None:
        """Why the answer of a run that ended well does not fit; keeps the value of one that does."""
        if not stop.ok:
            return None
        try:
            self._structured = (schema.check(self._totals.text),)
        except SchemaMismatch as error:
            return error
        return None

    async def _admit(self) -> tuple[Message, ...] | Stop:
        """What enters the history for the prompt, or why it does not; nothing was recorded yet."""
        if self._prompt is None:
            return ()
        conversation = self._conversation
        with self._judging:
            await conversation.refresh()
            if listening(conversation.agent.hooks) is None:
                return (self._prompt,)
            return await conversation.admit(self._prompt)
        return CANCELLED

    def _end_without_run(self, stop: Stop) -> None:
        end = RunEnd(stop=stop, messages=self._conversation.messages, usage=Usage(), turns=0)
        self._totals.add(end)
        self._queued.append(end)

    async def _run_once(self, added: tuple[Message, ...], *, resumes: bool = False) -> Stop:
        """One run that `added` begins: until its events are read, or the prompt is left."""
        conversation = self._conversation
        conversation.messages = (*conversation.messages, *added)
        for message in added:
            self._tell(conversation.recorder.record(MessageAdded(message=message)))
        self._recorded, self._spent, self._ended = list(conversation.messages), Usage(), False
        run = conversation.run(resumes=resumes)
        run.events.on_put = self._record
        try:
            async with run:
                self._read, self._run = anyio.Event(), run
                if self._interrupted:
                    run.cancel()
                self._runs.put(run)
                await self._read.wait()
        finally:
            self._run = None
            self._settle(run.outcome)
        self._tell(await self._conversation.recorder.sync())
        return run.outcome.stop

    def _settle(self, outcome: RunEnd) -> None:
        """Take over where the run has left the conversation, whether or not its events were read."""
        self._conversation.messages = outcome.messages
        if not self._ended:
            self._totals.add(outcome)
        if self._schema is None:
            self._unread = outcome.stop
        uncounted = outcome.usage - self._spent
        self._tell(self._conversation.recorder.record_rest(outcome.messages, self._recorded, uncounted))
        self._conversation.keep_pending(tuple(call.id for call in outcome.pending))

    async def __aenter__(self) -> Submission:
        if self._task is not None:
            raise RuntimeError("a prompt can be entered once; submit another one")
        self._conversation.begin(self)
        self._conversation.parts.reporter.listen(self._notice)
        self._queued.extend(map(as_event, self._conversation.take_failures()))
        self._task = Background(self._work)
        self._task.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._scope.cancel()
        try:
            await self._task.wait()
        finally:
            self._conversation.end()
            self._conversation.parts.reporter.leave(self._notice)
            for event in self._queued:
                if isinstance(event, Warned):
                    self._conversation.parts.reporter(as_notice(event))
            self._queued.clear()
