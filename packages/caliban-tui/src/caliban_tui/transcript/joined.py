"""The events of a prompt with what has come together as one: a frame shows it together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from caliban_common.event import AgentEvent, AssistantTextDelta, AssistantThinkingDelta


class BufferedEvents(Protocol):
    """Events, and how many of them can be read without waiting, as a `Submission` has them."""

    @property
    def buffered(self) -> int: ...

    @property
    def events(self) -> AsyncIterator[AgentEvent]: ...


async def read_joined(source: BufferedEvents, take: Callable[[AgentEvent], None]) -> None:
    """Give `take` all events of `source`, neighbouring pieces of text as one as long as more is there.

    There can be fifty thousand pieces, of which a fast model sends twenty between two frames.
    """
    first: AssistantTextDelta | AssistantThinkingDelta | None = None
    texts: list[str] = []
    async for event in source.events:
        if first is not None:
            if type(event) is type(first) and event.turn == first.turn:
                texts.append(event.text)
                if source.buffered:
                    continue
                event = type(first)(turn=first.turn, text="".join(texts))
            else:
                take(type(first)(turn=first.turn, text="".join(texts)))
            first = None
        if isinstance(event, AssistantTextDelta | AssistantThinkingDelta) and source.buffered:
            first, texts = event, [event.text]
        else:
            take(event)
    if first is not None:
        take(type(first)(turn=first.turn, text="".join(texts)))
