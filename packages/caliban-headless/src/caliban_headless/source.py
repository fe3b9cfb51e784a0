"""Where prompts come from: a source gives them one by one, and knows when no more will come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import Struct

from caliban_common.message import Message
from caliban_headless.local import LocalCommand

if TYPE_CHECKING:
    from caliban_headless.requests import Answered, HostRequest


class Operation(Struct, frozen=True, kw_only=True):
    """What is to be done with the conversation, in its turn between two prompts."""

    name: Literal["compact", "undo_compaction"]


class Resumption(Struct, frozen=True, kw_only=True):
    """Go on with the calls that wait for a person: an answer to them stands in the place of a prompt."""


if TYPE_CHECKING:
    Incoming: TypeAlias = Message | Operation | Resumption | LocalCommand | HostRequest | Answered
    """A prompt, or what is done in its turn between two of them."""


class PromptSource(Protocol):
    """Gives what comes in, one after the other."""

    async def next(self) -> Incoming | None:
        """What is next, waiting for it; `None` at the end. Raises `HeadlessError` for what cannot be read."""
        ...

    async def last(self) -> bool:
        """Whether the input has ended: then one result answers all prompts of it together."""
        ...


class OnePrompt:
    """A source of a single prompt, or of what goes on without one."""

    def __init__(self, prompt: Message | Resumption | LocalCommand) -> None:
        self._prompt: Message | Resumption | LocalCommand | None = prompt

    async def next(self) -> Message | Resumption | LocalCommand | None:
        """It, the first time."""
        prompt, self._prompt = self._prompt, None
        return prompt

    async def last(self) -> bool:
        """True: nothing comes after it."""
        return True
