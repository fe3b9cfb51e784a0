"""Where prompts come from: a source gives them one by one, and knows when no more will come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

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


class PromptSource(Protocol):
    """Gives prompts. `last` is whether none will come after those already given."""

    async def next(self) -> Message | Operation | Resumption | LocalCommand | HostRequest | Answered | None:
        """The next prompt, waiting for it; `None` at the end. Raises `HeadlessError` for a bad one."""
        ...

    async def last(self) -> bool:
        """Whether the input has ended: then one result answers all prompts of it together."""
        ...


class OnePrompt:
    """A source of a single prompt, or of what goes on without one."""

    def __init__(self, prompt: Message | Resumption | LocalCommand) -> None:
        self._prompt: Message | Resumption | LocalCommand | None = prompt

    async def next(self) -> Message | Resumption | LocalCommand | None:
        """The prompt, the first time."""
        prompt, self._prompt = self._prompt, None
        return prompt

    async def last(self) -> bool:
        """Always."""
        return True
