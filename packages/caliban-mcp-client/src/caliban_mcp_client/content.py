"""What servers answer and hand out, as values: loaded with the first answer, which a start does not need."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from caliban_mcp_client.values import Json


class PromptArgument(Struct, frozen=True, kw_only=True):
    """One argument of a prompt; its value is text."""

    name: str
    description: str = ""
    required: bool = False


class McpPrompt(Struct, frozen=True, kw_only=True):
    """A prompt that a person may choose."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class McpResource(Struct, frozen=True, kw_only=True):
    """Something that can be read by its URI."""

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size_bytes: int | None = None


class ResourceTemplate(Struct, frozen=True, kw_only=True):
    """A family of resources: a URI template (RFC 6570)."""

    uri_template: str
    name: str = ""
    title: str = ""
    description: str = ""
    mime_type: str = ""


class TextContent(Struct, frozen=True, kw_only=True):
    """Text."""

    text: str


class ImageContent(Struct, frozen=True, kw_only=True):
    """An image: `data` is base64 that was checked to be that."""

    data: str
    mime_type: str


class AudioContent(Struct, frozen=True, kw_only=True):
    """A sound: `data` is base64 that was checked to be that."""

    data: str
    mime_type: str


class ResourceContents(Struct, frozen=True, kw_only=True):
    """What a resource holds: `text`, or `blob` in base64."""

    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: str | None = None


class EmbeddedResource(Struct, frozen=True, kw_only=True):
    """A resource that comes with the result."""

    resource: ResourceContents


class ResourceLink(Struct, frozen=True, kw_only=True):
    """A resource that can be read later; nobody fetches it by itself."""

    resource: McpResource


class UnknownContent(Struct, frozen=True, kw_only=True):
    """Content of a kind that is not known, or that lacks what its kind has; `words` say which."""

    kind: str
    words: str


Content: TypeAlias = (
    TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink | UnknownContent
)


class CallResult(Struct, frozen=True, kw_only=True):
    """What a tool answered.

    `structured` is any JSON, and only there where `has_structured` says so. `problems` are words on what
    does not fit its schema or was left out; the value is kept all the same.
    """

    content: tuple[Content, ...] = ()
    structured: Any = None
    has_structured: bool = False
    is_error: bool = False
    meta: Json = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class PromptMessage(Struct, frozen=True, kw_only=True):
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    content: Content


class PromptMessages(Struct, frozen=True, kw_only=True):
    """A prompt with its arguments filled in."""

    description: str = ""
    messages: tuple[PromptMessage, ...] = ()


class Completions(Struct, frozen=True, kw_only=True):
    """What an argument may be, at most 100 values; `total` and `has_more` by the server's word."""

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False
