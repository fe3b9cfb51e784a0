"""What servers have and answer, as values; every schema and `raw` entry stays as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from caliban_mcp_client.target import Era

Json: TypeAlias = Mapping[str, Any]
"""An object of JSON, which nobody changes."""


class ServerInfo(Struct, frozen=True, kw_only=True):
    """Whom we speak with, by its own word: nothing of it may name the server to a model or to rules."""

    era: Era
    protocol_version: str
    capabilities: Json
    instructions: str = ""
    name: str = ""
    title: str = ""
    version: str = ""

    def offers(self, *path: str) -> bool:
        """Whether it declares a capability, such as `("tools",)` or `("tools", "listChanged")`."""
        at: Any = self.capabilities
        for step in path:
            at = at.get(step) if isinstance(at, Mapping) else None
        return at is not None and at is not False


class ToolAnnotations(Struct, frozen=True, kw_only=True):
    """What a server claims of a tool; `None` where it says nothing. Claims may only tighten rules."""

    title: str = ""
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class McpTool(Struct, frozen=True, kw_only=True):
    """A tool. `raw` is the entry of the list as it came: what digests are made of."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Json
    output_schema: Json | None = None
    annotations: ToolAnnotations = ToolAnnotations()
    meta: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict)


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


class CallUpdate(Struct, frozen=True, kw_only=True):
    """How far a call has come, by the server's word."""

    progress: float
    total: float | None = None
    message: str = ""


class ToolsChanged(Struct, frozen=True, kw_only=True):
    """The list of tools is another: list it again, whole."""


class PromptsChanged(Struct, frozen=True, kw_only=True):
    """The list of prompts is another."""


class ResourcesChanged(Struct, frozen=True, kw_only=True):
    """The list of resources is another."""


class ResourceUpdated(Struct, frozen=True, kw_only=True):
    """What one resource holds has changed."""

    uri: str


class ServerRestarted(Struct, frozen=True, kw_only=True):
    """The server was started again, or its session was begun anew: every list may be another."""


class ServerLost(Struct, frozen=True, kw_only=True):
    """The server has ended and is not started again; every later call raises `ServerGone`."""

    reason: str


Change: TypeAlias = (
    ToolsChanged | PromptsChanged | ResourcesChanged | ResourceUpdated | ServerRestarted | ServerLost
)
