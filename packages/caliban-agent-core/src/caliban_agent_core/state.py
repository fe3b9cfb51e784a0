"""Where a run writes down what happens: the channel to its reader, and the history as it grows."""

from __future__ import annotations

from typing import Literal

from caliban_agent_core.channel import Channel
from caliban_agent_core.recovery import TEXT_CUT
from caliban_common.estimate import tokens
from caliban_common.event import AgentEvent, HistoryReplaced, MessageAdded
from caliban_common.message import Message, NewId, new_id, user
from caliban_common.usage import Usage


class RunState:
    """The growing record of one run.

    `messages` is the history, `generation` how often it was rewritten (also by earlier runs of the same
    conversation), `usage` the tokens of every model call so far; `text` is the last reply, whole also where
    it was cut and went on; `new_id` names the messages that are made here. A message is in the history before
    its event is sent, so that a cancelled `emit` loses none.
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
        self.usage: Usage = Usage()
        self.turns: int = 0
        self.generation: int = generation
        self.text: str = ""
        self._goes_on = False
        self.new_id = new_id
        self._channel = channel

    async def emit(self, event: AgentEvent) -> None:
        """Send `event`, waiting while the reader is far behind."""
        await self._channel.send(event)

    async def add(self, message: Message, *, injected: bool = False) -> None:
        """Append `message` to the history and say so."""
        self.messages.append(message)
        if message.role == "assistant":
            self._say(message.text)
        await self._channel.send(MessageAdded(message=message, injected=injected))

    async def tell(self, text: str) -> None:
        """Append a message to the model that no user wrote."""
        await self.add(user(text, id=self.new_id()), injected=True)
        self._goes_on = text == TEXT_CUT

    async def rewrite(
        self,
        messages: tuple[Message, ...],
        reason: str,
        *,
        compacted: bool = False,
        trigger: Literal["auto", "manual"] = "auto",
    ) -> None:
        """Put `messages` in the place of the history and say so; one that was `compacted` with its sizes."""
        sizes = (tokens(self.messages), tokens(messages)) if compacted else (0, 0)
        self.messages[:] = messages
        self.generation += 1
        await self._channel.send(
            HistoryReplaced(
                messages=messages,
                reason=reason,
                tokens_before=sizes[0],
                tokens_after=sizes[1],
                trigger=trigger,
            )
        )

    def pause(self) -> None:
        """The reply that was added goes on in the next one: their texts are one."""
        self._goes_on = True

    def _say(self, text: str) -> None:
        self.text = f"{self.text}{text}" if self._goes_on else text
        self._goes_on = False

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a model call."""
        self.usage += usage

    def add_last(self, message: Message) -> None:
        """Append `message` at once: for a run that is being cancelled and must not wait."""
        self.messages.append(message)
        if message.role == "assistant":
            self._say(message.text)
        self._channel.put(MessageAdded(message=message, injected=True))

    def put(self, event: AgentEvent) -> None:
        """Send `event` at once, for the same reason."""
        self._channel.put(event)
