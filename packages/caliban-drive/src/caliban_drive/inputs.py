"""What a person says while a run is at work: it reaches the model at the next turn."""

from __future__ import annotations

from collections import deque

from caliban_common.message import Message


class SteeringQueue:
    """Messages that wait for the end of a turn; the agent's `InputSource`.

    What comes after the last turn of a run waits for the next run.
    """

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()

    def put(self, message: Message) -> None:
        """Let `message` follow the turn that is at work."""
        self._messages.append(message)

    async def next_messages(self) -> tuple[Message, ...]:
        """What was said since it was asked last; never waits."""
        messages = tuple(self._messages)
        self._messages.clear()
        return messages
