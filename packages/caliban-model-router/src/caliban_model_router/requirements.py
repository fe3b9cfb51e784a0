"""What a request needs of a model, read off the request itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_provider.capabilities import Capabilities
from caliban_provider.request import CompletionRequest

ToolNeed: TypeAlias = Literal["none", "basic", "parallel_calls"]

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1500
"""About what a picture costs, whichever vendor counts."""

DOCUMENT_BYTES_PER_TOKEN = 8


class Requirements(Struct, frozen=True, kw_only=True):
    """What a model must be able to do. `context_tokens` is an estimate of the prompt; 0 is unknown."""

    vision: bool = False
    documents: bool = False
    tool_use: ToolNeed = "none"
    thinking: bool = False
    context_tokens: int = 0


def needs_of(request: CompletionRequest) -> Requirements:
    """The needs of `request`: pictures and documents anywhere in it, its tools, its thinking budget."""
    vision = documents = False
    chars = sum(len(tool.description) + _size(tool.input_schema) for tool in request.tools)
    tokens = 0
    for message in request.messages:
        for block in message.content:
            for part in (block, *_parts(block)):
                if isinstance(part, ImageBlock):
                    vision = True
                    tokens += IMAGE_TOKENS
                elif isinstance(part, DocumentBlock):
                    documents = True
                    tokens += len(part.data) // DOCUMENT_BYTES_PER_TOKEN
                else:
                    chars += _chars(part)
    return Requirements(
        vision=vision,
        documents=documents,
        tool_use="basic" if request.tools else "none",
        thinking=bool(request.thinking_tokens),
        context_tokens=tokens + chars // CHARS_PER_TOKEN,
    )


def shows_pictures(request: CompletionRequest) -> bool:
    """Whether the latest words of the user come with pictures or documents: what they ask is about these.

    Older ones, and those that a tool brought, must not be the end of a conversation.
    """
    last = request.messages[-1].content if request.messages else ()
    return any(isinstance(block, ImageBlock | DocumentBlock) for block in last)


def missing_capabilities(required: Requirements, capabilities: Capabilities) -> tuple[str, ...]:
    """What a model of `capabilities` cannot do of `required`, in words; the size of the prompt aside."""
    missing = (
        ("vision", required.vision and not capabilities.vision),
        ("documents", required.documents and not capabilities.documents),
        ("tool use", required.tool_use != "none" and not capabilities.tools),
        ("parallel tool calls", required.tool_use == "parallel_calls" and not capabilities.parallel_tools),
        ("thinking", required.thinking and not capabilities.thinking),
    )
    return tuple(name for name, is_missing in missing if is_missing)


def fits(required: Requirements, capabilities: Capabilities) -> bool:
    """Whether the prompt, as far as it can be estimated, fits the window; an unknown window fits all."""
    return capabilities.context_tokens is None or required.context_tokens < capabilities.context_tokens


def _parts(block: Block) -> tuple[TextBlock | ImageBlock, ...]:
    return block.content if isinstance(block, ToolResultBlock) else ()


def _chars(block: Block) -> int:
    if isinstance(block, TextBlock | ThinkingBlock):
        return len(block.text)
    if isinstance(block, ToolUseBlock):
        return len(block.name) + (_size(block.input) if block.raw_input is None else len(block.raw_input))
    return 0


def _size(value: object) -> int:
    """About how many characters a JSON value has."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, Mapping):
        return sum(len(str(key)) + 4 + _size(item) for key, item in value.items()) + 2
    if isinstance(value, Sequence):
        return sum(_size(item) + 1 for item in value) + 2
    return 4
