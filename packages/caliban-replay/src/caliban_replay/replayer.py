"""The parts of a run that is played again: a provider, tools and rules that answer out of a recording.

No program is run, no file touched and nobody asked. `Replay` is what they share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import anyio.lowlevel
from msgspec import Struct

from caliban_agent_core.subagent.parts import ChildModel
from caliban_agent_core.timing import Timing
from caliban_common.codec import dumps
from caliban_common.message import Message, NewId
from caliban_common.permission import Decision
from caliban_common.stop import Stop
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.errors import ProviderError
from caliban_replay.difference import Difference
from caliban_replay.draws import Draws
from caliban_replay.errors import RecordingEnded
from caliban_replay.lines import ActionLine, CostsLine, NoticeLine, RecordedLine
from caliban_replay.playhead import PATIENCE_S, Playhead
from caliban_replay.recording import RecordedCall, RecordedToolCall, Recording
from caliban_replay.tape import plain


class Told(Struct, frozen=True, kw_only=True):
    """Something that a person should know of a replay."""

    subtype: str
    message: str


class ReplayOptions(Struct, frozen=True, kw_only=True):
    """How a recording is played.

    With `strict` the first request that differs ends the run. After `until` turns of the main agent it ends
    with `stop`, unless another model goes on.
    """

    strict: bool = False
    until: int | None = None
    stop: Stop | None = None
    patience_s: float = PATIENCE_S


class Replay:
    """One recording while it is played; its `playhead` runs beside the run.

    `tell` hears what a person should know, `show` the notices of the recorded run, and `act` what was done
    to the run from outside, by name and arguments. `is_over` says that the replay was ended on purpose,
    `is_swapped` that another model has taken over, and `difference` where a request was another one.
    """

    def __init__(
        self,
        recording: Recording,
        options: ReplayOptions,
        *,
        tell: Callable[[Told], None],
        show: Callable[[NoticeLine], None],
        act: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        self.recording: Recording = recording
        self.options: ReplayOptions = options
        self.tell: Callable[[Told], None] = tell
        self.difference: Difference | None = None
        self.is_over: bool = False
        self.is_swapped: bool = False
        self.playhead: Playhead = Playhead(
            recording.ordered,
            happens=self._happens,
            on_stuck=self._lose_order,
            patience_s=options.patience_s,
        )
        draws = Draws(recording.scene.seed)
        self.new_id: NewId = draws.new_id
        self.timing: Timing = Timing(clock=lambda: self.playhead.now_s, sleep=_go_on, jitter=draws.jitter)
        self.costs: ReplayedCosts = ReplayedCosts(self.playhead)
        self._readings = deque(recording.readings)
        self._news_asked = 0
        self._show = show
        self._act = act
        self._untaken = [lane for lane in sorted(recording.lanes) if lane]
        self._by_id: dict[tuple[str, str, str], deque[RecordedToolCall]] = {}
        self._by_input: dict[tuple[str, bytes], deque[RecordedToolCall]] = {}
        for call in recording.tool_calls.values():
            line = call.line
            self._by_id.setdefault((line.agent, line.id, line.tool), deque()).append(call)
            self._by_input.setdefault((line.tool, input_key(line.input)), deque()).append(call)

    def read(self) -> float:
        """The time for the output: what it read then."""
        return self._readings.popleft() if self._readings else self.playhead.now_s

    def news(self) -> tuple[str, ...]:
        """What the model was told then of what went on beside its turns."""
        number, self._news_asked = self._news_asked, self._news_asked + 1
        return self.recording.news.get(number, ())

    def ended(self) -> ProviderError:
        """The error for a run that goes on where the recording does not."""
        recording = self.recording
        if recording.is_cut:
            return RecordingEnded(
                f"the recording ends here: it was cut off after line {recording.line_count}"
            )
        return RecordingEnded("the run goes on here, and the recording does not")

    def stop(self) -> None:
        """The run ends here, on purpose: nobody waits any more, and no further prompt comes."""
        self.is_over = True
        self.playhead.let_go()

    def lane_of(self, messages: tuple[Message, ...]) -> int | None:
        """The lane of a sub-agent that begins with `messages`: one with this beginning, else the next."""
        beginning = [(message.role, message.content) for message in messages]
        for lane in self._untaken:
            first = self.recording.lanes[lane][0].line.messages
            if [(message.role, message.content) for message in first] == beginning:
                break
        else:
            lane = self._untaken[0] if self._untaken else -1
        if lane < 0:
            return None
        self._untaken.remove(lane)
        return lane

    def tool_call(self, agent: str, id: str, tool: str, args: Mapping[str, Any]) -> RecordedToolCall | None:
        """The recorded call: that of this id, else one of this input, which may answer several times."""
        calls = self._by_id.get((agent, id, tool))
        if calls:
            return calls.popleft()
        alike = self._by_input.get((tool, input_key(args)))
        if not alike:
            return None
        return alike.popleft() if len(alike) > 1 else alike[0]

    def is_played(self, call: RecordedCall | None) -> bool:
        """Whether the recording still answers the main agent."""
        until = self.options.until
        return until is None or (call is not None and call.turn < until)

    def _happens(self, line: RecordedLine) -> None:
        match line:
            case NoticeLine():
                self._show(line)
            case CostsLine():
                self.costs.tell(line)
            case ActionLine():
                self._act(line.name, line.arguments)
            case _:
                pass

    def _lose_order(self, place: int) -> None:
        kind = self.recording.ordered[place].type
        words = f"the run does not come to what was recorded next ({kind}): the order of things is not kept"
        self.tell(Told(subtype="replay_out_of_order", message=words))


class ReplayedCosts:
    """What was spent, as the recording says; see `caliban_drive.result.Costs`."""

    def __init__(self, playhead: Playhead) -> None:
        self._playhead = playhead
        self._line: CostsLine | None = None

    def tell(self, line: CostsLine) -> None:
        """From here on `line` holds."""
        self._line = line

    def total_usd(self) -> float:
        """All of it."""
        line = self._now()
        return 0.0 if line is None else line.total_usd

    def by_model(self) -> tuple[tuple[str, Usage, float | None], ...]:
        """The same per model."""
        line = self._now()
        return () if line is None else line.by_model

    def by_agent(self) -> tuple[tuple[str, Usage, float | None], ...]:
        """The share of each sub-agent."""
        line = self._now()
        return () if line is None else line.by_agent

    def _now(self) -> CostsLine | None:
        """What holds when nothing else is waited for: it was written when it was asked for."""
        coming = [line for line in self._playhead.upcoming() if isinstance(line, CostsLine)]
        return coming[-1] if coming else self._line


class ReplayedRules:
    """What the rules said, by tool and input; a call that they never judged runs nothing and may pass."""

    def __init__(self, recording: Recording) -> None:
        self._decisions: dict[tuple[str, bytes], deque[Decision]] = {}
        for line in recording.decisions:
            key = (line.tool, input_key(line.input))
            self._decisions.setdefault(key, deque()).append(line.decision)

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The decision that was recorded; the last one of a kind holds on."""
        known = self._decisions.get((tool.name, input_key(args)))
        if not known:
            return Decision(action="allow")
        return known.popleft() if len(known) > 1 else known[0]


class ChildModels:
    """What sub-agents ask in a replay: `provider` gives each its own, for the model that was recorded."""

    def __init__(self, replay: Replay, make: Callable[[str, bool], ChildModel]) -> None:
        self._make = make
        self._model = replay.recording.scene.model
        self._known: dict[str | None, deque[tuple[str, bool]]] = {}
        for line in replay.recording.children:
            self._known.setdefault(line.wanted, deque()).append((line.model, line.has_summarizer))

    def __call__(self, wanted: str | None) -> ChildModel:
        known = self._known.get(wanted)
        if not known:
            return self._make(wanted or self._model, False)
        return self._make(*(known.popleft() if len(known) > 1 else known[0]))


def input_key(args: Mapping[str, Any]) -> bytes:
    """By which calls are known again: their input, whatever the order of its members."""
    return dumps(_sorted(plain(args)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


async def _go_on(seconds: float) -> None:
    """Wait for nothing: that time has passed."""
    await anyio.lowlevel.checkpoint()
