"""What is done here in the place of a prompt: no model is asked for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct

from caliban_common.event import AgentEvent
from caliban_common.message import Message


class LocalOutput(Struct, frozen=True, kw_only=True):
    """What a command has to show, and what it has done to the conversation."""

    text: str
    events: tuple[AgentEvent, ...] = ()


class LocalPrompt(Struct, frozen=True, kw_only=True):
    """The prompt that a command makes, asked within `asked`; to enter it may raise `CalibanError`."""

    message: Message
    asked: Callable[[], AbstractAsyncContextManager[None]]


class LocalCommand(Struct, frozen=True, kw_only=True):
    """A command that is done here, in its turn: `run` gives what it shows, or the prompt that it makes.

    It raises `CalibanError`.
    """

    run: Callable[[], Awaitable[LocalOutput | LocalPrompt]]
