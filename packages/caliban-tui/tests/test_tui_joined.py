"""Pieces of a reply that have come together are one; nothing else changes, and nothing waits."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from caliban_common.event import (
    AgentEvent,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ToolCallInputDelta,
    ToolProgress,
    TurnStart,
)
from caliban_tui.transcript.joined import read_joined

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Batches:
    """Events that come in batches: those of one can be read without waiting."""

    def __init__(self, batches: list[list[AgentEvent]], taken: list[AgentEvent]) -> None:
        self._batches = batches
        self._taken = taken
        self.buffered = 0
        self.waits: list[int] = []

    @property
    def events(self) -> AsyncIterator[AgentEvent]:
        return self._events()

    async def _events(self) -> AsyncIterator[AgentEvent]:
        for batch in self._batches:
            for number, event in enumerate(batch, 1):
                self.buffered = len(batch) - number
                yield event
            self.waits.append(characters(self._taken))


def characters(events: list[AgentEvent]) -> int:
    return sum(len(getattr(event, "text", "")) + len(getattr(event, "partial_json", "")) for event in events)


def spelled(events: list[AgentEvent]) -> list[AgentEvent]:
    """Every piece of text by its characters."""
    letters: list[AgentEvent] = []
    for event in events:
        if isinstance(event, AssistantTextDelta | AssistantThinkingDelta):
            letters += [replace(event, text=letter) for letter in event.text]
        elif isinstance(event, ToolCallInputDelta):
            letters += [replace(event, partial_json=letter) for letter in event.partial_json]
        else:
            letters.append(event)
    return letters


TURNS = st.integers(1, 2)
EVENTS = st.one_of(
    st.builds(AssistantTextDelta, turn=TURNS, text=st.text(min_size=1, max_size=3)),
    st.builds(AssistantThinkingDelta, turn=TURNS, text=st.text(min_size=1, max_size=3)),
    st.builds(
        ToolCallInputDelta,
        turn=TURNS,
        tool_use_id=st.sampled_from("ab"),
        partial_json=st.text(min_size=1, max_size=3),
    ),
    st.builds(TurnStart, turn=TURNS, model=st.just("m")),
    st.just(ToolProgress(tool_use_id="t", text="progress")),
)


@given(batches=st.lists(st.lists(EVENTS, max_size=8), max_size=5))
async def test_all_comes_in_order_and_nothing_is_held_while_more_is_waited_for(
    batches: list[list[AgentEvent]],
) -> None:
    taken: list[AgentEvent] = []
    source = Batches(batches, taken)
    await read_joined(source, taken.append)
    every = [event for batch in batches for event in batch]
    assert spelled(taken) == spelled(every)
    seen = 0
    for batch, waited in zip(batches, source.waits, strict=True):
        seen += characters(batch)
        assert waited == seen


async def test_neighbours_are_one() -> None:
    taken: list[AgentEvent] = []
    pieces: list[AgentEvent] = [AssistantTextDelta(turn=1, text=letter) for letter in "abc"]
    await read_joined(Batches([pieces, pieces[:1]], taken), taken.append)
    assert taken == [AssistantTextDelta(turn=1, text="abc"), AssistantTextDelta(turn=1, text="a")]
