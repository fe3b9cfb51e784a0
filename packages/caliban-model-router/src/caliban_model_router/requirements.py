"""What a request needs of a model, read off the request itself."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.estimate import Estimator, tool_tokens
from caliban_common.message import Block, DocumentBlock, ImageBlock, ResultPart, ToolResultBlock
from caliban_provider.capabilities import Capabilities
from caliban_provider.request import CompletionRequest

ToolNeed: TypeAlias = Literal["none", "basic", "parallel_calls"]


class Requirements(Struct, frozen=True, kw_only=True):
    """What a model must be able to do. `context_tokens` is an estimate of the prompt; 0 is unknown."""

    vision: bool = False
    documents: bool = False
    tool_use: ToolNeed = "none"
    thinking: bool = False
    context_tokens: int = 0


def needs_of(request: CompletionRequest, estimator: Estimator | None = None) -> Requirements:
    """The needs of `request`: pictures and documents anywhere in it, its tools, its thinking budget.

    An `estimator` that has seen the conversation before looks at what is new in it only.
    """
    vision = documents = False
    for message in request.messages:
        for block in message.content:
            for part in (block, *_parts(block)):
                vision = vision or isinstance(part, ImageBlock)
                documents = documents or isinstance(part, DocumentBlock)
    return Requirements(
        vision=vision,
        documents=documents,
        tool_use="basic" if request.tools else "none",
        thinking=bool(request.thinking_tokens),
        context_tokens=(estimator or Estimator()).tokens(request.messages) + tool_tokens(request.tools),
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
    limit = capabilities.prompt_tokens
    return limit is None or required.context_tokens < limit


def _parts(block: Block) -> tuple[ResultPart, ...]:
    return block.content if isinstance(block, ToolResultBlock) else ()
