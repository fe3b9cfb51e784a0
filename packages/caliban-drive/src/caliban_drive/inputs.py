"""What a person says while a run is at work: it reaches the model at the next boundary of a turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from caliban_agent_core.ports import Boundary
from caliban_common.message import Message


class SteeringQueue:
    """Messages that wait for the end of a turn; the agent's `InputSource`.

    `admit` asks the hooks: what of a message may enter the history. What comes after the last boundary of a
    run waits for the next run. `news` gives what became of work that nobody waits for: no run goes on for it.
    `refresh` is awaited between two turns, before anything is taken in.
    """

    def __init__(
        self,
        admit: Callable[[Message], Awaitable[tuple[Message, ...]]],
        news: Callable[[], tuple[Message, ...]] = tuple,
        refresh: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._admit = admit
        self._news = news
        self._refresh = refresh
        self._messages: deque[Message] = deque()

    def put(self, message: Message) -> None:
        """Let `message` follow the turn that is at work."""
        self._messages.append(message)

    def unread(self) -> tuple[Message, ...]:
        """What was said after the last boundary of a run, taken out."""
        left = tuple(self._messages)
        self._messages.clear()
        return left

    async def next(self, boundary: Boundary) -> tuple[Message, ...]:
        """What was said since it was asked last, as far as it is admitted; also at the end of a run."""
        if boundary == "turn" and self._refresh is not None:
            await self._refresh()
        admitted: list[Message] = []
        while self._messages:
            admitted += await self._admit(self._messages[0])
            self._messages.popleft()
        return (*admitted, *(self._news() if boundary == "turn" else ()))
