"""Blocks as the wire takes them, one at a time; what it would refuse is left out or said in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, assert_never

from caliban_common.codec import dumps
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_provider_anthropic.models import FAMILY
from caliban_provider_anthropic.names import wire_id, wire_name

NO_OUTPUT = "(no output)"
"""Stands where a tool had nothing to say."""

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def encode_block(block: Block, *, role: str, own: bool) -> bytes | None:
    """`block` as JSON, or `None` where it is not sent.

    `own` says that the model that reads wrote the block: signed and opaque blocks go back to it byte for byte
    and to nobody else. Blank text is never sent; images and documents go only with the user's role.
    """
    match block:
        case TextBlock():
            return dumps(_text(block.text)) if block.text.strip() else None
        case ImageBlock():
            return dumps(_image(block)) if role == "user" else None
        case DocumentBlock():
            return dumps(_document(block)) if role == "user" else None
        case ThinkingBlock():
            if not own or block.signature is None:
                return None
            return dumps({"type": "thinking", "thinking": block.text, "signature": block.signature})
        case RedactedThinkingBlock():
            return dumps({"type": "redacted_thinking", "data": block.data}) if own else None
        case ToolUseBlock():
            return _tool_use(block) if role == "assistant" else None
        case ToolResultBlock():
            return dumps(_tool_result(block)) if role == "user" else None
        case OpaqueBlock():
            return _strict(block.data) if own and block.family == FAMILY and block.data else None
        case _:
            assert_never(block)


def displaced(block: Block) -> list[bytes]:
    """The images and documents of a failed result, which the wire takes beside the result and not in it."""
    if not isinstance(block, ToolResultBlock) or not block.is_error:
        return []
    return [dumps(_shown(part)) for part in block.content if not isinstance(part, TextBlock)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _shown(block: ImageBlock | DocumentBlock) -> dict[str, Any]:
    return _image(block) if isinstance(block, ImageBlock) else _document(block)


def _image(block: ImageBlock) -> dict[str, Any]:
    if block.url is not None:
        return {"type": "image", "source": {"type": "url", "url": block.url}}
    if block.media_type not in _IMAGE_TYPES or not block.data:
        return _text(f"[an image of type {block.media_type!r} that this model cannot see]")
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "image", "source": source}


def _document(block: DocumentBlock) -> dict[str, Any]:
    if block.media_type == "application/pdf" and block.data:
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    else:
        text = block.text
        if text is None:
            return _text(f"[a document of type {block.media_type!r} that this model cannot read]")
        source = {"type": "text", "media_type": "text/plain", "data": text}
    out: dict[str, Any] = {"type": "document", "source": source}
    if block.title and block.title.strip():
        out["title"] = block.title
    return out


def _tool_use(block: ToolUseBlock) -> bytes:
    call = dumps({"type": "tool_use", "id": wire_id(block.id), "name": wire_name(block.name)})
    return b'%b,"input":%b}' % (call[:-1], _strict(block.input))


def _tool_result(block: ToolResultBlock) -> dict[str, Any]:
    content = [
        _text(part.text) if isinstance(part, TextBlock) else _shown(part)
        for part in block.content
        if (part.text.strip() if isinstance(part, TextBlock) else not block.is_error)
    ]
    out = {"type": "tool_result", "tool_use_id": wire_id(block.tool_use_id)}
    return {**out, "content": content or [_text(NO_OUTPUT)], **({"is_error": True} if block.is_error else {})}


def _strict(value: Mapping[str, Any]) -> bytes:
    """`value` as JSON without the numbers that only Python's reader takes: they become null."""
    try:
        data = dumps(dict(value))
        return dumps(_finite(dict(value))) if b"NaN" in data or b"Infinity" in data else data
    except RecursionError:
        return b"{}"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
