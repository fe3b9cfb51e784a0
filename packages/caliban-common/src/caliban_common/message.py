"""Messages and their blocks: what a conversation is made of.

Every value is frozen; a history is a tuple of messages and is never edited in place. A block that only
its own model family understands (a signature, encrypted reasoning) is kept byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Plain text."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBlock:
    """An image, either base64 in `data` or behind `url`; exactly one of the two is set."""

    media_type: str
    data: str | None = None
    url: str | None = None
    type: Literal["image"] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentBlock:
    """A document (PDF or text) as base64 in `data`."""

    media_type: str
    data: str
    title: str | None = None
    type: Literal["document"] = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBlock:
    """Reasoning that the model showed; `signature` proves it to the model that wrote it."""

    text: str
    signature: str | None = None
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedThinkingBlock:
    """Reasoning that the vendor encrypted: replayed as it came, never shown."""

    data: str
    type: Literal["redacted_thinking"] = "redacted_thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUseBlock:
    """A tool call of the model.

    `input` is the decoded JSON object. When the model's JSON could not be decoded, `input` is empty and
    `raw_input` holds the text as it came, so that the model can be told what it sent.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    raw_input: str | None = None
    type: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultBlock:
    """The answer to the tool call `tool_use_id`."""

    tool_use_id: str
    content: tuple[TextBlock | ImageBlock, ...]
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """State that only `family` can read (encrypted reasoning, server tool records): replayed or dropped."""

    family: str
    data: Mapping[str, Any]
    type: Literal["opaque"] = "opaque"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of a history.

    `family` and `model` name who wrote an assistant message: signed blocks go back to that model only.
    `id` is ours (unique within a session), not the provider's.
    """

    role: Role
    content: tuple[Block, ...]
    id: str | None = None
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


def system(text: str) -> Message:
    """A system message of one text block."""
    return Message(role="system", content=(TextBlock(text=text),))


def user(text: str) -> Message:
    """A user message of one text block."""
    return Message(role="user", content=(TextBlock(text=text),))


def assistant(text: str) -> Message:
    """An assistant message of one text block."""
    return Message(role="assistant", content=(TextBlock(text=text),))
