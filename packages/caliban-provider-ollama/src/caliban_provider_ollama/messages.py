"""Messages as the wire takes them: one of ours may be several of its."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from msgspec import Struct

from caliban_common.codec import dumps
from caliban_common.errors import DataError
from caliban_common.message import (
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
from caliban_provider_ollama.window import IMAGE_TOKENS, estimate_tokens

NO_OUTPUT = "(no output)"
"""Stands where a tool had nothing to say."""

_IMAGE = "(see the image)"
_MESSAGE_TOKENS = 8


class Piece(Struct, frozen=True, kw_only=True):
    """One message as it is sent: its JSON, joined; about how many tokens; and its calls, name by id."""

    data: bytes
    tokens: int
    calls: Mapping[str, str]


def encode_message(message: Message, calls: Mapping[str, str], *, sees: bool) -> Piece:
    """`message` for the wire; `calls` are those before it, `sees` says that the model takes images."""
    match message.role:
        case "assistant":
            return _reply(message)
        case "system":
            return _piece([{"role": "system", "content": text}] if (text := _texts(message)) else [], {})
        case "user":
            return _piece(_said(message, calls, sees=sees), calls)
        case _:
            assert_never(message.role)


def _reply(message: Message) -> Piece:
    calls = message.tool_uses
    text = _texts(message)
    if not text and not calls:
        return _piece([], {})
    out: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        out["tool_calls"] = [
            {"function": {"name": call.name, "arguments": _arguments(call)}} for call in calls
        ]
    return _piece([out], {call.id: call.name for call in calls})


def _said(message: Message, calls: Mapping[str, str], *, sees: bool) -> list[dict[str, Any]]:
    """A user message: its results one by one, then its text with every image, those of results included."""
    out: list[dict[str, Any]] = []
    texts: list[str] = []
    images: list[str] = []
    for block in message.content:
        match block:
            case ToolResultBlock():
                out.append(_result(block, calls))
                for part in block.content:
                    if isinstance(part, ImageBlock):
                        _show(part, texts, images, sees=sees)
                    elif isinstance(part, DocumentBlock):
                        texts.append(_document(part))
            case TextBlock():
                texts.append(block.text)
            case ImageBlock():
                _show(block, texts, images, sees=sees)
            case DocumentBlock():
                texts.append(_document(block))
            case ThinkingBlock() | RedactedThinkingBlock() | ToolUseBlock() | OpaqueBlock():
                pass
            case _:
                assert_never(block)
    text = "\n\n".join(text for text in texts if text.strip())
    if images:
        out.append({"role": "user", "content": text or _IMAGE, "images": images})
    elif text:
        out.append({"role": "user", "content": text})
    return out


def _result(block: ToolResultBlock, calls: Mapping[str, str]) -> dict[str, Any]:
    texts = [part.text for part in block.content if isinstance(part, TextBlock) and part.text.strip()]
    has_image = any(isinstance(part, ImageBlock) for part in block.content)
    text = "\n".join(texts) or ("(an image, shown below)" if has_image else NO_OUTPUT)
    content = f"Error: {text}" if block.is_error else text
    return {"role": "tool", "content": content, "tool_name": calls.get(block.tool_use_id, "unknown")}


def _show(block: ImageBlock, texts: list[str], images: list[str], *, sees: bool) -> None:
    if block.data and sees:
        images.append(block.data)
    elif block.data:
        texts.append(f"[an image of type {block.media_type!r} that this model cannot see]")
    else:
        texts.append("[an image behind a URL, which this server does not fetch]")


def _document(block: DocumentBlock) -> str:
    if text := block.text:
        return f"{block.title}:\n{text}" if block.title and block.title.strip() else text
    return f"[a document of type {block.media_type!r} that this model cannot read]"


def _texts(message: Message) -> str:
    texts = (block.text for block in message.content if isinstance(block, TextBlock))
    return "\n\n".join(text for text in texts if text.strip())


def _arguments(call: ToolUseBlock) -> dict[str, Any]:
    arguments = dict(call.input)
    try:
        dumps(arguments)
    except DataError:
        return {}
    return arguments


def _piece(messages: Iterable[dict[str, Any]], calls: Mapping[str, str]) -> Piece:
    """The messages as JSON; pictures are reckoned by their number, not by their bytes."""
    parts: list[bytes] = []
    tokens = 0
    for message in messages:
        images = message.get("images", [])
        bare = dumps({**message, "images": []} if images else message)
        tokens += estimate_tokens(bare) + _MESSAGE_TOKENS + IMAGE_TOKENS * len(images)
        parts.append(dumps(message) if images else bare)
    return Piece(data=b",".join(parts), tokens=tokens, calls=calls)
