"""A provider that answers out of a recording, and one that lets another model go on from some point."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType

import anyio.lowlevel
from msgspec.structs import replace

from caliban_agent_core.errors import CompactionFailed
from caliban_common.history import Repairer, TargetModel
from caliban_common.message import Message
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import BudgetSpent
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageStart, StreamEvent
from caliban_provider.wrapped import WrappedCall
from caliban_replay.difference import first_difference
from caliban_replay.errors import RequestDiffers
from caliban_replay.faults import error_from_data
from caliban_replay.lines import ReplyErrorLine, ReplyLine, SummaryLine
from caliban_replay.pieces import event_from_data
from caliban_replay.recording import RecordedCall
from caliban_replay.replayer import Replay, Told


class ReplayingProvider:
    """Answers the requests of one agent, each with what was recorded of its like.

    Lane 0 is the main agent's; a lane of `None` is found by the first request.
    """

    def __init__(self, replay: Replay, lane: int | None = 0) -> None:
        self._replay = replay
        self._scene = replay.recording.scene
        self._lane = lane
        self._count = 0
        self._built: tuple[Message, ...] = ()
        self._recorded: tuple[Message, ...] = ()
        self._same = 0

    @property
    def name(self) -> str:
        """That of the provider of the recording."""
        return self._scene.provider

    @property
    def family(self) -> str:
        """That of the provider of the recording."""
        return self._scene.family

    @property
    def next_call(self) -> RecordedCall | None:
        """The recorded call that the next request answers to."""
        calls = [] if self._lane is None else self._replay.recording.lanes.get(self._lane, [])
        return calls[self._count] if self._count < len(calls) else None

    def capabilities(self, model: str) -> Capabilities:
        """What was said of `model`."""
        return self._replay.recording.capabilities.get(model, Capabilities())

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """The reply that was recorded; see `Provider.stream`."""
        return _ReplayedCall(self._replay, lambda: self._call(request))

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """None: nobody is asked."""
        return ()

    async def aclose(self) -> None:
        """Nothing to do."""

    def _call(self, request: CompletionRequest) -> RecordedCall | None:
        """The recorded call for `request`. Raises `RequestDiffers` and `BudgetSpent`."""
        replay = self._replay
        if self._lane is None:
            self._lane = replay.lane_of(request.messages)
        call = self.next_call
        if self._lane == 0 and not replay.is_played(call) and replay.options.stop is not None:
            replay.stop()
            raise BudgetSpent(replay.options.stop)
        self._count += 1
        if call is not None:
            self._compare(call, request)
        return call

    def _compare(self, call: RecordedCall, request: CompletionRequest) -> None:
        replay, line = self._replay, call.line
        recorded = (*self._recorded[: line.keep], *line.messages)
        same = 0
        bound = min(self._same, line.keep, len(request.messages))
        while same < bound and request.messages[same] is self._built[same]:
            same += 1
        before = replay.recording.request(line, recorded)
        difference = first_difference(before, request, same=same)
        self._built, self._recorded = request.messages, recorded
        self._same = min(len(recorded), len(request.messages)) if difference is None else same
        if replay.difference is None and difference is not None:
            replay.difference = difference
            if not replay.options.strict:
                words = (
                    f"request {self._count} is not the one that was recorded, and gets its reply all the same"
                )
                words = f"{words}; {difference.words}"
                replay.tell(Told(subtype="replay_differs", message=words))
        if replay.options.strict and replay.difference is not None:
            replay.stop()
            raise RequestDiffers(f"the request is not the one that was recorded; {replay.difference.words}")


class _ReplayedCall:
    """One reply, piece by piece as it came."""

    def __init__(self, replay: Replay, find: Callable[[], RecordedCall | None]) -> None:
        self._replay = replay
        self._find = find
        self._places: list[int] = []
        self._held: int | None = None
        self._events: list[StreamEvent] = []
        self._ended = False

    async def __aenter__(self) -> AsyncIterator[StreamEvent]:
        await anyio.lowlevel.checkpoint()
        call = self._find()
        self._places = [] if call is None else list(call.places)
        is_entered = False
        try:
            await self._next_line()
            is_entered = True
        finally:
            if not is_entered:
                self._abandon()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._abandon()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._events:
            self._leave()
            if self._ended:
                raise StopAsyncIteration
            await self._next_line()
        return self._events.pop(0)

    async def _next_line(self) -> None:
        replay = self._replay
        if not self._places:
            await replay.playhead.end()
            raise replay.ended()
        place = self._places[0]
        await replay.playhead.turn(place)
        self._places.pop(0)
        line = replay.recording.ordered[place]
        if isinstance(line, ReplyErrorLine):
            replay.playhead.leave(place)
            raise error_from_data(line.error)
        assert isinstance(line, ReplyLine)
        self._held, self._ended = place, line.ended
        self._events = list(map(event_from_data, line.events))

    def _abandon(self) -> None:
        """Nobody wants the rest: it holds up nobody."""
        self._leave()
        for place in self._places:
            self._replay.playhead.leave(place)
        self._places = []

    def _leave(self) -> None:
        if self._held is not None:
            self._replay.playhead.leave(self._held)
            self._held = None


class SwappedProvider:
    """`played` as long as the recording answers, then `real`, which asks `model`.

    It belongs to no family: what it is given of the history, each of the two can read.
    """

    def __init__(
        self,
        replay: Replay,
        played: ReplayingProvider,
        real: Provider,
        model: str,
        *,
        is_main: bool = True,
    ) -> None:
        self._replay = replay
        self._played = played
        self._is_main = is_main
        self._real = real
        self._model = model
        self._repairer = Repairer(TargetModel(family=real.family, model=model))

    @property
    def name(self) -> str:
        """That of the provider that goes on."""
        return self._real.name

    @property
    def family(self) -> str:
        """None."""
        return ""

    def capabilities(self, model: str) -> Capabilities:
        """Those of the model that goes on."""
        return self._real.capabilities(self._model)

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        replay = self._replay
        if self._is_main and not replay.is_played(self._played.next_call):
            replay.is_swapped = True
        if not replay.is_swapped:
            scene = replay.recording.scene
            return _Signed(self._played.stream(request), scene.family, scene.model)
        replay.playhead.let_go()
        asked = replace(request, model=self._model, messages=self._repairer.view(request.messages))
        return _Signed(self._real.stream(asked), self._real.family, self._model)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """Those of the provider that goes on."""
        return await self._real.list_models()

    async def aclose(self) -> None:
        """Close it."""
        await self._real.aclose()


class _Signed(WrappedCall):
    """The events of one call, which say who answers."""

    def __init__(
        self, call: AbstractAsyncContextManager[AsyncIterator[StreamEvent]], family: str, model: str
    ) -> None:
        super().__init__(call)
        self._family = family
        self._model = model

    async def __anext__(self) -> StreamEvent:
        event = await self._next()
        if isinstance(event, MessageStart):
            return replace(event, family=event.family or self._family, asked=event.asked or self._model)
        return event


class ReplayingCompactor:
    """The summaries that a model of its own has written, for the main agent on lane 0 or for any other."""

    def __init__(self, replay: Replay, lane: int | None = 0) -> None:
        self._replay = replay
        summaries = replay.recording.summaries
        lanes = [lane] if lane is not None else [other for other in sorted(summaries) if other]
        self._places = [place for lane in lanes for place in summaries.get(lane, ())]

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
        if not self._places:
            raise CompactionFailed(str(self._replay.ended().message))
        place = self._places.pop(0)
        playhead = self._replay.playhead
        try:
            await playhead.turn(place)
        finally:
            playhead.leave(place)
        line = self._replay.recording.ordered[place]
        assert isinstance(line, SummaryLine)
        if spent is not None:
            spent(line.usage)
        if line.messages is None:
            raise CompactionFailed(line.error, hint=line.hint)
        return line.messages
