"""What a server may ask and tell while it works, as values, and who declines all of it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from caliban_mcp_client.values import Json


class FormElicitation(Struct, frozen=True, kw_only=True):
    """A server asks for values: `schema` is a flat object of strings, numbers, booleans and choices."""

    message: str
    schema: Json


class UrlElicitation(Struct, frozen=True, kw_only=True):
    """A server asks a person to open an address: to be shown whole, and never fetched before."""

    message: str
    url: str
    elicitation_id: str = ""


Elicitation: TypeAlias = FormElicitation | UrlElicitation


class ElicitResult(Struct, frozen=True, kw_only=True):
    """A person's answer; `content` where a form was accepted: its defaults are filled in."""

    action: Literal["accept", "decline", "cancel"]
    content: Json | None = None


class SamplingRequest(Struct, frozen=True, kw_only=True):
    """A server asks for a reply of our model: `params` as `sampling/createMessage` has them."""

    params: Json


class Root(Struct, frozen=True, kw_only=True):
    """A directory that the server may work in, as a `file://` URI."""

    uri: str
    name: str = ""


class LogMessage(Struct, frozen=True, kw_only=True):
    """A line of the server's log."""

    level: str
    logger: str
    data: Any


class DecliningHandler:
    """Nobody is there to be asked: everything is declined, and logs are dropped."""

    async def elicit(self, request: Elicitation) -> ElicitResult:
        """Decline."""
        del request
        return ElicitResult(action="decline")

    async def sample(self, request: SamplingRequest) -> Json | None:
        """Refuse."""
        del request
        return None

    async def roots(self) -> tuple[Root, ...]:
        """None."""
        return ()

    def log(self, message: LogMessage) -> None:
        """Drop it."""


def with_defaults(schema: Json, content: Json) -> Json:
    """`content` with the defaults of `schema` where it says nothing."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return content
    defaults = {
        name: entry["default"]
        for name, entry in properties.items()
        if isinstance(entry, dict) and "default" in entry
    }
    return {**defaults, **content}
