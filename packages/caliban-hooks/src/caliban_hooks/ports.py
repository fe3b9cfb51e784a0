"""What hooks need from the program, passed in by whoever builds them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct


class Dialect(Protocol):
    """How hooks name tools and their arguments."""

    def names(self, tool: str) -> tuple[str, ...]:
        """All names of a tool; the first is the one that hooks are given."""
        ...

    def told(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input of a call as hooks read it."""
        ...

    def taken(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input of a call from what a hook wrote."""
        ...

    def response(self, tool: str, args: Mapping[str, Any], text: str) -> Any:
        """The result of a call as hooks read it."""
        ...


class SameNames:
    """The dialect of a program whose tools are called for hooks as they are."""

    def names(self, tool: str) -> tuple[str, ...]:
        """See `Dialect`."""
        return (tool,)

    def told(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Dialect`."""
        return args

    def taken(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Dialect`."""
        return args

    def response(self, tool: str, args: Mapping[str, Any], text: str) -> Any:
        """See `Dialect`."""
        return {"content": text}


class PostRequest(Struct, frozen=True, kw_only=True):
    """What is sent to an address."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float


class PostAnswer(Struct, frozen=True, kw_only=True):
    """What an address answered: `body` is the whole of it, or `None` where that was more than is read."""

    status: int
    body: bytes | None


Post: TypeAlias = Callable[[PostRequest], Awaitable[PostAnswer]]
"""Sends a request, once, following no redirect. Raises `CalibanError`."""

Judge: TypeAlias = Callable[[str, str, float], Awaitable[str]]
"""Asks a model: the question, the name of a model or nothing, seconds. Its answer as text. Raises
`CalibanError`."""


class AgentTask(Struct, frozen=True, kw_only=True):
    """What an agent is to find out: a question, the kind of agent and the model, both empty for the usual."""

    question: str
    agent: str = ""
    model: str = ""
    timeout_s: float


Investigate: TypeAlias = Callable[[AgentTask], Awaitable[str]]
"""Has an agent look for itself; its last message. Raises `CalibanError`."""


class ServerTools(Protocol):
    """The tools of MCP servers, for hooks of the kind `mcp`."""

    async def call(self, server: str, tool: str, input: Mapping[str, Any]) -> str:
        """The text that a tool answers with. Raises `CalibanError`, also for one that says it failed."""
        ...


FitsCall: TypeAlias = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether a call, by tool and input, may fit a permission pattern, which comes first."""

Tell: TypeAlias = Callable[[str, str], None]
"""Says something to a person: its kind, for programs, and the words."""
