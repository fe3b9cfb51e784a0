"""Where a run writes down what happens: the channel to its reader, and the history as it grows."""

from __future__ import annotations

from caliban_agent_core.channel import Channel
from caliban_common.event import AgentEvent, HistoryReplaced, MessageAdded
from caliban_common.message import Message, NewId, new_id, user
from caliban_common.usage import Usage


class RunState:
    """The growing record of one run.

    `messages` is the history, `generation` how often it was rewritten (also by earlier runs of the same
    conversation), `usage` the tokens of every model call so far; `said` is whether the model has said or done
    anything; `new_id` names the messages that are made here. A message is in the history before its event is
    sent, so that a cancelled `emit` loses none.
    """

    def __init__(
        self,
        messages: tuple[Message, ...],
        channel: Channel[AgentEvent],
        *,
        generation: int = 0,
        new_id: NewId = new_id,
    ) -> None:
        self.messages: list[Message] = list(messages)
        self.usage = Usage()
        self.turns = 0
        self.generation = generation
        self.said = False
        self.new_id = new_id
        self._channel = channel

    async def emit(self, event: AgentEvent) -> None:
        """Send `event`, waiting while the reader is far behind."""
        await self._channel.send(event)

    async def add(self, message: Message, *, injected: bool = False) -> None:
        """Append `message` to the history and say so."""
        self.messages.append(message)
        self.said = self.said or (message.role == "assistant" and not injected)
        await self._channel.send(MessageAdded(message=message, injected=injected))

    async def tell(self, text: str) -> None:
        """Append a message to the model that no user wrote."""
        await self.add(user(text, id=self.new_id()), injected=True)

    async def rewrite(self, messages: tuple[Message, ...], reason: str) -> None:
        """Put `messages` in the place of the history and say so."""
        self.messages[:] = messages
        self.generation += 1
        await self._channel.send(HistoryReplaced(messages=messages, reason=reason))

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a model call."""
        self.usage += usage

    def add_last(self, message: Message) -> None:
        """Append `message` at once: for a run that is being cancelled and must not wait."""
        self.messages.append(message)
        self._channel.put(MessageAdded(message=message, injected=True))

    def put(self, event: AgentEvent) -> None:
        """Send `event` at once, for the same reason."""
        self._channel.put(event)
