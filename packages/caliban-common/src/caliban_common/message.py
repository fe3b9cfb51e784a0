"""Messages and their blocks: what a conversation is made of.

Every value is frozen; a history is a tuple of messages and is never edited in place. A block that only
its own model family understands (a signature, encrypted reasoning) is kept byte for byte. Names and order of
the members are those of the session file; `codec` turns these types into JSON and back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from caliban_common.tagged import Tagged

Role: TypeAlias = Literal["system", "user", "assistant"]
NewId: TypeAlias = Callable[[], str]
"""A source of ids. Inject one of your own to record and replay a run."""


def new_id() -> str:
    """Twelve random hexadecimal digits: unique among the messages of a session, also across processes."""
    return os.urandom(6).hex()  # 0.5 µs: a quarter of what a uuid takes, and no import


class TextBlock(Tagged, frozen=True, kw_only=True, tag="text"):
    """Plain text."""

    text: str


class Base64Source(Tagged, frozen=True, kw_only=True, tag="base64"):
    """Data that stands in the message itself, as base64."""

    media_type: str
    data: str


class UrlSource(Tagged, frozen=True, kw_only=True, tag="url"):
    """Data that the provider fetches; `media_type` is empty where nobody said it."""

    url: str
    media_type: str = ""


Source: TypeAlias = Base64Source | UrlSource


class ImageBlock(Tagged, frozen=True, kw_only=True, tag="image"):
    """An image, in the message or behind an address."""

    source: Source

    @classmethod
    def of(cls, media_type: str, data: str) -> ImageBlock:
        """An image that stands in the message; `data` is base64."""
        return cls(source=Base64Source(media_type=media_type, data=data))

    @property
    def media_type(self) -> str:
        """The type of the image, empty where nobody said it."""
        return self.source.media_type

    @property
    def data(self) -> str | None:
        """The image as base64; `None` where it is behind `url`."""
        return self.source.data if isinstance(self.source, Base64Source) else None

    @property
    def url(self) -> str | None:
        """Where the image is; `None` where it is in `data`."""
        return self.source.url if isinstance(self.source, UrlSource) else None


TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml"})
"""Types of documents that are text, beside those that say so."""


class DocumentBlock(Tagged, frozen=True, kw_only=True, tag="document", omit_defaults=True):
    """A document (PDF or text)."""

    source: Base64Source
    title: str | None = None

    @property
    def media_type(self) -> str:
        """The type of the document."""
        return self.source.media_type

    @property
    def data(self) -> str:
        """The document as base64."""
        return self.source.data

    @property
    def text(self) -> str | None:
        """What a document of text says; `None` for any other, and for one that says nothing."""
        if not self.media_type.startswith("text/") and self.media_type not in TEXT_TYPES:
            return None
        from base64 import b64decode

        try:
            text = b64decode(self.data, validate=True).decode("utf-8", "replace")
        except ValueError:
            return None
        return text if text.strip() else None


class ThinkingBlock(Tagged, frozen=True, kw_only=True, tag="thinking", omit_defaults=True):
    """Reasoning that the model showed; `signature` proves it to the model that wrote it."""

    text: str = field(name="thinking")
    signature: str | None = None


class RedactedThinkingBlock(Tagged, frozen=True, kw_only=True, tag="redacted_thinking"):
    """Reasoning that the vendor encrypted: replayed as it came, never shown."""

    data: str


class ToolUseBlock(Tagged, frozen=True, kw_only=True, tag="tool_use", omit_defaults=True):
    """A tool call of the model.

    `input` is the decoded JSON object. When the model's JSON could not be decoded, `input` is empty and
    `raw_input` holds the text as it came, so that the model can be told what it sent.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    raw_input: str | None = None


ResultPart: TypeAlias = TextBlock | ImageBlock | DocumentBlock
"""What a tool's result is made of."""


class ToolResultBlock(Tagged, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to the tool call `tool_use_id`."""

    tool_use_id: str
    content: tuple[ResultPart, ...]
    is_error: bool = False


class OpaqueBlock(Tagged, frozen=True, kw_only=True, tag="opaque"):
    """State that only `family` can read (encrypted reasoning, server tool records): replayed or dropped."""

    family: str
    data: Mapping[str, Any]


Block: TypeAlias = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | OpaqueBlock
)


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a history.

    `family` and `model` name who wrote an assistant message: signed blocks go back to that model only.
    `id` is ours, unique within a session and kept from birth on: it never goes to a provider. Two messages
    that say the same are equal only under one id (ADR 0021).
    """

    role: Role
    content: tuple[Block, ...]
    id: str = field(default_factory=new_id)
    family: str | None = None
    model: str | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        """The tool calls of this message, in the order the model made them."""
        return tuple(block for block in self.content if isinstance(block, ToolUseBlock))

    @property
    def tool_results(self) -> tuple[ToolResultBlock, ...]:
        """The tool results of this message."""
        return tuple(block for block in self.content if isinstance(block, ToolResultBlock))


def count_leading_system(messages: Sequence[Message]) -> int:
    """How many system messages lead."""
    return next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))


def system(text: str, *, id: str | None = None) -> Message:
    """A system message of one text block; without `id` it gets one."""
    return Message(role="system", content=(TextBlock(text=text),), id=id or new_id())


def user(text: str, *, id: str | None = None) -> Message:
    """A user message of one text block; without `id` it gets one."""
    return Message(role="user", content=(TextBlock(text=text),), id=id or new_id())


def assistant(text: str, *, id: str | None = None) -> Message:
    """An assistant message of one text block; without `id` it gets one."""
    return Message(role="assistant", content=(TextBlock(text=text),), id=id or new_id())
