"""The events of a prompt, what has come together of one text as one: a frame shows it together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from caliban_common.event import (
    AgentEvent,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ToolCallInputDelta,
)

Delta: TypeAlias = AssistantTextDelta | AssistantThinkingDelta | ToolCallInputDelta


class BufferedEvents(Protocol):
    """Events, and how many of them can be read without waiting, as a `Submission` has them."""

    @property
    def buffered(self) -> int: ...

    @property
    def events(self) -> AsyncIterator[AgentEvent]: ...


async def read_joined(source: BufferedEvents, take: Callable[[AgentEvent], None]) -> None:
    """Give `take` all events of `source`, neighbouring deltas of one text as one as long as more is there.

    There can be fifty thousand deltas, of which a fast model sends twenty between two frames.
    """
    first: Delta | None = None
    texts: list[str] = []
    async for event in source.events:
        if isinstance(event, Delta):
            if first is not None and not _is_more(first, event):
                take(_whole(first, texts))
                first = None
            if first is None:
                first, texts = event, []
            texts.append(_text(event))
            if source.buffered:
                continue
        if first is not None:
            take(_whole(first, texts))
            first = None
        if not isinstance(event, Delta):
            take(event)
    if first is not None:
        take(_whole(first, texts))


def _text(delta: Delta) -> str:
    return delta.partial_json if isinstance(delta, ToolCallInputDelta) else delta.text


def _is_more(first: Delta, delta: Delta) -> bool:
    """Whether `delta` goes on with the text of `first`."""
    if type(delta) is not type(first) or delta.turn != first.turn:
        return False
    return getattr(delta, "tool_use_id", "") == getattr(first, "tool_use_id", "")


def _whole(first: Delta, texts: list[str]) -> AgentEvent:
    if len(texts) == 1:
        return first
    if isinstance(first, ToolCallInputDelta):
        return replace(first, partial_json="".join(texts))
    return replace(first, text="".join(texts))
