"""What stands around the parts of a run that is recorded: each passes everything on, and writes it down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from inspect import isawaitable
from itertools import count
from types import TracebackType
from typing import Any, Protocol

from msgspec.structs import replace

from caliban_agent_core.errors import CompactionFailed
from caliban_agent_core.ports import Compactor, Rules
from caliban_agent_core.subagent.parts import ChildModel
from caliban_agent_core.walled import walled
from caliban_common.errors import ArgumentError
from caliban_common.message import Message
from caliban_common.permission import Decision
from caliban_common.tool import BackgroundWork, Emit, Tool, ToolContext, ToolOutput, ToolSource, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedCall, WrappedProvider
from caliban_replay.lines import (
    BackgroundLine,
    BackgroundResultLine,
    CallLine,
    ChildLine,
    CostsLine,
    DecisionLine,
    NewsLine,
    OutputData,
    ResultLine,
    SummaryLine,
)
from caliban_replay.tape import Tape, plain

Spent = tuple[tuple[str, Usage, float | None], ...]
"""Tokens and US dollars by name, as results tell them."""


class SpentCosts(Protocol):
    """Who knows what was spent; see `caliban_drive.result`."""

    def total_usd(self) -> float: ...

    def by_model(self) -> Spent: ...

    def by_agent(self) -> Spent: ...


class RecordingProvider(WrappedProvider):
    """`inner`, with every request and reply of `lane` on `tape`."""

    def __init__(self, inner: Provider, tape: Tape, lane: int = 0) -> None:
        super().__init__(inner)
        self._tape = tape
        self._lane = lane

    def capabilities(self, model: str) -> Capabilities:
        """Those of the provider."""
        value = self._inner.capabilities(model)
        self._tape.capabilities(model, value)
        return value

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        return _RecordedCall(self._inner.stream(request), self._tape, self._lane, request)


class _RecordedCall(WrappedCall):
    """One call, and the iterator over its events."""

    __slots__ = ("_lane", "_number", "_request", "_tape")

    def __init__(
        self,
        call: AbstractAsyncContextManager[AsyncIterator[StreamEvent]],
        tape: Tape,
        lane: int,
        request: CompletionRequest,
    ) -> None:
        super().__init__(call)
        self._tape = tape
        self._lane = lane
        self._request = request

    async def __aenter__(self) -> AsyncIterator[StreamEvent]:
        self._number = self._tape.asked(self._lane, self._request)
        try:
            return await super().__aenter__()
        except ProviderError as error:
            self._tape.failed(self._number, error)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self._tape.flush()
        return await super().__aexit__(kind, error, traceback)

    async def __anext__(self) -> StreamEvent:
        try:
            event = await self._next()
        except StopAsyncIteration:
            self._tape.ended(self._number)
            raise
        except ProviderError as error:
            self._tape.failed(self._number, error)
            raise
        self._tape.came(self._number, event)
        return event


class RecordingTools:
    """`source`, each of whose tools puts its calls on `tape`."""

    def __init__(self, source: ToolSource, tape: Tape) -> None:
        self._source = source
        self._tape = tape
        self._seen: tuple[Tool, ...] | None = None
        self._tools: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source."""
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            self._tools = tuple(RecordingTool(tool, self._tape) for tool in tools)
        return self._tools


class RecordingTool:
    """`inner`, with its calls on `tape`."""

    def __init__(self, inner: Tool, tape: Tape) -> None:
        self._inner = inner
        self._tape = tape

    @property
    def spec(self) -> ToolSpec:
        """That of the tool."""
        return self._inner.spec

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """That of the tool."""
        return self._inner.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the call; what the tool raises is an output already, but for arguments that do not fit."""
        tape, name = self._tape, self.spec.name
        number = next(tape.tool_numbers)
        tape.write(
            CallLine(
                at_s=tape.timing.clock(),
                number=number,
                tool=name,
                id=context.tool_use_id,
                agent=context.agent,
                input=args,
            )
        )
        if context.start_background is not None:
            start = partial(self._start_background, number, context.start_background)
            context = replace(context, start_background=start)
        refused: list[ArgumentError] = []

        async def work() -> ToolOutput:
            try:
                return await self._inner.invoke(args, context)
            except ArgumentError as error:
                refused.append(error)
                raise

        output, _ = await walled(name, work)
        if refused:
            words = refused[0].message
            tape.write(ResultLine(at_s=tape.moment(), number=number, output=None, invalid=words))
            raise refused[0]
        tape.write(ResultLine(at_s=tape.moment(), number=number, output=_data(output)))
        return output

    def _start_background(
        self, number: int, start: Callable[[str, BackgroundWork], None], title: str, work: BackgroundWork
    ) -> None:
        tape = self._tape

        async def recorded(emit: Emit) -> ToolOutput:
            output, _ = await walled(self.spec.name, lambda: work(emit))
            tape.write(BackgroundResultLine(at_s=tape.moment(), number=number, output=_data(output)))
            return output

        tape.write(BackgroundLine(at_s=tape.timing.clock(), number=number, title=title))
        start(title, recorded)


class RecordingRules:
    """`inner`, with its decisions on `tape`."""

    def __init__(self, inner: Rules, tape: Tape) -> None:
        self._inner = inner
        self._tape = tape

    async def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """Those of the rules."""
        answer: Decision | Awaitable[Decision] = self._inner.decide(tool, args)
        decision = await answer if isawaitable(answer) else answer
        if isinstance(decision, Decision):
            tape = self._tape
            at_s = tape.timing.clock()
            tape.write(DecisionLine(at_s=at_s, tool=tool.name, input=args, decision=decision))
        return decision


class RecordingCosts:
    """`inner`, with what it says on `tape` whenever that has changed."""

    def __init__(self, inner: SpentCosts, tape: Tape) -> None:
        self._inner = inner
        self._tape = tape
        self._written: tuple[float, Spent, Spent] = (0.0, (), ())

    def total_usd(self) -> float:
        """See `Costs`."""
        return self._told()[0]

    def by_model(self) -> Spent:
        """See `Costs`."""
        return self._told()[1]

    def by_agent(self) -> Spent:
        """See `Costs`."""
        return self._told()[2]

    def _told(self) -> tuple[float, Spent, Spent]:
        now = (self._inner.total_usd(), self._inner.by_model(), self._inner.by_agent())
        if now != self._written:
            self._written = now
            at_s = self._tape.timing.clock()
            self._tape.write(CostsLine(at_s=at_s, total_usd=now[0], by_model=now[1], by_agent=now[2]))
        return now


class RecordingCompactor:
    """`inner`, a summariser that asks a model of its own, with its results on `tape`."""

    def __init__(self, inner: Compactor, tape: Tape, lane: int = 0) -> None:
        self._inner = inner
        self._tape = tape
        self._lane = lane

    async def compact(
        self,
        messages: tuple[Message, ...],
        *,
        model: str,
        provider: Provider,
        target_tokens: int,
        spent: Callable[[Usage], None] | None = None,
    ) -> tuple[Message, ...]:
        """See `Compactor`."""
        used = [Usage()]

        def count(usage: Usage) -> None:
            used.append(usage)
            if spent is not None:
                spent(usage)

        try:
            shorter = await self._inner.compact(
                messages, model=model, provider=provider, target_tokens=target_tokens, spent=count
            )
        except CompactionFailed as error:
            self._write(None, sum(used, Usage()), error)
            raise
        self._write(shorter, sum(used, Usage()), None)
        return shorter

    def _write(
        self, messages: tuple[Message, ...] | None, usage: Usage, error: CompactionFailed | None
    ) -> None:
        self._tape.write(
            SummaryLine(
                at_s=self._tape.moment(),
                lane=self._lane,
                messages=messages,
                usage=usage,
                error="" if error is None else error.message,
                hint=None if error is None else error.hint,
            )
        )


def recorded_children(
    models: Callable[[str | None], ChildModel], tape: Tape
) -> Callable[[str | None], ChildModel]:
    """`models`, each on a lane of its own."""
    lanes = [0]

    def model_for(wanted: str | None) -> ChildModel:
        child = models(wanted)
        lanes.append(len(lanes))
        lane, compactor = lanes[-1], child.compactor
        tape.write(
            ChildLine(
                at_s=tape.timing.clock(),
                lane=lane,
                wanted=wanted,
                model=child.model,
                has_summarizer=compactor is not None,
            )
        )
        return ChildModel(
            provider=RecordingProvider(child.provider, tape, lane),
            model=child.model,
            compactor=None if compactor is None else RecordingCompactor(compactor, tape, lane),
        )

    return model_for


def _data(output: ToolOutput) -> OutputData:
    return OutputData(content=output.content, is_error=output.is_error, details=plain(output.details))


def recorded_news(news: Callable[[], tuple[str, ...]], tape: Tape) -> Callable[[], tuple[str, ...]]:
    """`news`, with what it tells on `tape`."""
    numbers = count()

    def told() -> tuple[str, ...]:
        number, lines = next(numbers), news()
        if lines:
            tape.write(NewsLine(at_s=tape.timing.clock(), number=number, lines=lines))
        return lines

    return told
