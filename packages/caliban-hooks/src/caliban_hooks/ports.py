"""What hooks need of the program around them; whoever builds them hands it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct


class Dialect(Protocol):
    """How tools are called in what hooks read and write."""

    def names(self, tool: str) -> tuple[str, ...]:
        """All names of a tool, first the one that hooks are told."""
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

FitsCall: TypeAlias = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether a call, by tool and input, may fit a permission pattern, which comes first."""

Tell: TypeAlias = Callable[[str, str], None]
"""Says something to a person: its kind, for programs, and the words."""
