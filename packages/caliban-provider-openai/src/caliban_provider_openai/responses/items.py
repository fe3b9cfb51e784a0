"""Blocks as input items of Responses; what the wire would refuse is left out or said in words.

Encrypted reasoning goes back as it came, and only with the item that it led to: the vendor refuses it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from caliban_common.codec import dumps
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_provider_openai.body import (
    document_text,
    image_url,
    pdf_url,
    result_text,
    unseen,
)
from caliban_provider_openai.models import FAMILY
from caliban_provider_openai.names import IdRule, wire_name

PHASE = "phase"
"""The type of an opaque block that says which phase the text before it belongs to."""

IDS = IdRule(chars=64)
"""What a call's id looks like on this wire."""


def message_items(message: Message, *, own: bool, own_ids: frozenset[str] = frozenset()) -> list[bytes]:
    """The items of one message, in order.

    `own` says that the model that reads wrote it; ids that are in `own_ids` are its own and stay as they are.
    """
    if message.role == "assistant":
        return _assistant_items(message.content, own=own, own_ids=own_ids)
    items: list[bytes] = []
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            items.append(dumps(_result(block, own_ids)))
        elif (part := _user_part(block)) is not None:
            parts.append(part)
    if parts:
        items.append(dumps({"type": "message", "role": "user", "content": parts}))
    return items


def _assistant_items(content: Iterable[Block], *, own: bool, own_ids: frozenset[str]) -> list[bytes]:
    items: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    for block in content:
        item: dict[str, Any] | None = None
        match block:
            case TextBlock():
                if block.text.strip():
                    item = {"type": "message", "role": "assistant", "content": block.text}
            case ToolUseBlock():
                item = _call(block, own_ids)
            case OpaqueBlock():
                if not own or block.family != FAMILY:
                    continue
                if block.data.get("type") == PHASE:
                    _phase(items, block.data.get("phase"))
                elif block.data.get("type") != "reasoning":
                    item = dict(block.data)
                elif block.data.get("encrypted_content"):
                    held.append({key: value for key, value in block.data.items() if key != "status"})
            case ImageBlock() | DocumentBlock() | ThinkingBlock() | RedactedThinkingBlock():
                pass
            case ToolResultBlock():
                pass
            case _:
                assert_never(block)
        if item is not None:
            items += [*held, item]
            held = []
    return [dumps(item) for item in items]


def _phase(items: list[dict[str, Any]], phase: object) -> None:
    """Mark the text that came last."""
    if items and items[-1].get("role") == "assistant" and phase in ("commentary", "final_answer"):
        items[-1]["phase"] = phase


def _call(block: ToolUseBlock, own_ids: frozenset[str]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": IDS.apply(block.id, own_ids),
        "name": wire_name(block.name),
        "arguments": dumps(dict(block.input)).decode(),
    }


def _result(block: ToolResultBlock, own_ids: frozenset[str]) -> dict[str, Any]:
    texts = [part.text for part in block.content if isinstance(part, TextBlock) and part.text.strip()]
    text = result_text("\n".join(texts), is_error=block.is_error)
    shown = [
        _image(part) if isinstance(part, ImageBlock) else _document(part)
        for part in block.content
        if not isinstance(part, TextBlock)
    ]
    output: object = text
    if shown:
        spoken = [{"type": "input_text", "text": text}] if texts or block.is_error else []
        output = [*spoken, *shown]
    return {
        "type": "function_call_output",
        "call_id": IDS.apply(block.tool_use_id, own_ids),
        "output": output,
    }


def _user_part(block: Block) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return _text(block.text) if block.text.strip() else None
        case ImageBlock():
            return _image(block)
        case DocumentBlock():
            return _document(block)
        case _:
            return None


def _text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _image(block: ImageBlock) -> dict[str, Any]:
    url = image_url(block)
    if url is None:
        return _text(unseen(block))
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _document(block: DocumentBlock) -> dict[str, Any]:
    if (url := pdf_url(block)) is not None:
        name = (block.title or "").strip() or "document"
        name = name if name.lower().endswith(".pdf") else f"{name}.pdf"
        return {"type": "input_file", "filename": name, "file_data": url}
    return _text(document_text(block) or unseen(block))
