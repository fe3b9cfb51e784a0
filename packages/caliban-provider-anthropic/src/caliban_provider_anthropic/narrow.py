"""What clouds take less of than the vendor does: shorter names of tools, no addresses of images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.message import Block, ImageBlock, Message, ToolResultBlock, ToolUseBlock
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.names import short_name


class Limits(Struct, frozen=True, kw_only=True):
    """What a service takes: tool names of up to `name_chars`, and `image_urls` where it fetches images.

    `cache_ttl` is how long its cache is asked to keep a prompt, empty for its own time. `server_tools` are
    those of its own tools that it may use.
    """

    name_chars: int = 128
    image_urls: bool = True
    cache_ttl: str = ""
    server_tools: tuple[str, ...] = ()


ROOMY = Limits()
"""Those of the vendor."""


def within(request: CompletionRequest, limits: Limits) -> tuple[CompletionRequest, Mapping[str, str]]:
    """`request` with names that fit, and what they stand for.

    Raises `InvalidRequest` for an image's address where the service fetches none.
    """
    if not limits.image_urls and any(_has_address(message) for message in request.messages):
        raise InvalidRequest(
            "this service does not fetch images by their address",
            hint="give the image itself, as a file, instead of its URL",
        )
    long = {spec.name for spec in request.tools if len(spec.name) > limits.name_chars}
    uses = (use for message in request.messages for use in message.tool_uses)
    long |= {use.name for use in uses if len(use.name) > limits.name_chars}
    if not long:
        return request, {}
    names = {name: short_name(name, limits.name_chars) for name in long}
    changed: dict[str, Any] = {
        "tools": tuple(replace(spec, name=names.get(spec.name, spec.name)) for spec in request.tools),
        "messages": tuple(_renamed(message, names) for message in request.messages),
        "tool_choice": names.get(request.tool_choice, request.tool_choice),
    }
    return replace(request, **changed), {short: name for name, short in names.items()}


def _renamed(message: Message, names: Mapping[str, str]) -> Message:
    if not any(use.name in names for use in message.tool_uses):
        return message
    content: tuple[Block, ...] = tuple(
        replace(block, name=names.get(block.name, block.name)) if isinstance(block, ToolUseBlock) else block
        for block in message.content
    )
    return replace(message, content=content)


def _has_address(message: Message) -> bool:
    parts = [
        part
        for block in message.content
        for part in (block.content if isinstance(block, ToolResultBlock) else (block,))
    ]
    return any(isinstance(part, ImageBlock) and part.url is not None for part in parts)
