"""Messages and usage as JSON, in and out.

Written by hand: sessions are journaled before the first request leaves, and a validation library would cost
more than the whole of that (ADR 0004). The shapes are those of the session file; unknown members are ignored,
so that a newer file can still be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, assert_never, cast

from caliban_common.errors import DataError
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
    new_id,
)
from caliban_common.text import clean
from caliban_common.usage import Usage

_T = TypeVar("_T")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dumps(value: object) -> bytes:
    """`value` as compact JSON in UTF-8, on one line.

    What JSON or UTF-8 does not have gives way to its nearest (see `nearest`). Raises `DataError` for a value
    that is nested too deeply.
    """
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except (ValueError, RecursionError):
        return _ENCODER.encode(nearest(value)).encode("utf-8")


def nearest(value: _T) -> _T:
    """`value` itself if it can be written as JSON in UTF-8, else the nearest value that can.

    A lone surrogate becomes U+FFFD; NaN and the infinities become null. Raises `DataError` for a value that
    is nested too deeply.
    """
    try:
        _ENCODER.encode(value).encode("utf-8")
    except RecursionError as error:
        raise DataError("a value is nested too deeply to be written as JSON") from error
    except ValueError:
        text = clean(json.dumps(value, ensure_ascii=False))
        return cast(_T, json.loads(text, parse_constant=_null))
    return value


def loads(data: bytes | str) -> Any:
    """The JSON value in `data`. Raises `DataError` for anything else, deep nesting included."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from error


def message_to_json(message: Message) -> dict[str, Any]:
    """`message` as plain data."""
    content = [block_to_json(block) for block in message.content]
    out: dict[str, Any] = {"role": message.role, "content": content}
    if message.id:
        out["id"] = message.id
    for name in ("family", "model"):
        value = getattr(message, name)
        if value is not None:
            out[name] = value
    return out


def block_to_json(block: Block) -> dict[str, Any]:
    """`block` as plain data; members that are `None` are left out."""
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return {"type": "image", "source": _image_source(block)}
        case DocumentBlock():
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return _without_none({"type": "document", "source": source, "title": block.title})
        case ThinkingBlock():
            return _without_none({"type": "thinking", "thinking": block.text, "signature": block.signature})
        case RedactedThinkingBlock():
            return {"type": "redacted_thinking", "data": block.data}
        case ToolUseBlock():
            call = {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
            return _without_none({**call, "raw_input": block.raw_input})
        case ToolResultBlock():
            content = [block_to_json(part) for part in block.content]
            out = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": content}
            return {**out, "is_error": block.is_error}
        case OpaqueBlock():
            return {"type": "opaque", "family": block.family, "data": dict(block.data)}
        case _:
            assert_never(block)


def message_from_json(value: object) -> Message:
    """The message in plain data; one without an id gets one. Raises `DataError` naming what is wrong."""
    data = _object(value, "a message")
    role = data.get("role")
    if role not in ("system", "user", "assistant"):
        raise DataError(f"a message's role must be system, user or assistant, not {_shown(role)}")
    content = data.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise DataError("a message's content must be a list of blocks or a string")
    return Message(
        role=role,
        content=tuple(block_from_json(item) for item in content),
        id=_optional(data, "id") or new_id(),
        family=_optional(data, "family"),
        model=_optional(data, "model"),
    )


def block_from_json(value: object) -> Block:
    """The block in plain data. Raises `DataError` naming what is wrong."""
    data = _object(value, "a block")
    match data.get("type"):
        case "text":
            return TextBlock(text=_string(data, "text"))
        case "image":
            return _image(_object(data.get("source"), "an image's source"))
        case "document":
            source = _object(data.get("source"), "a document's source")
            title = _optional(data, "title")
            return DocumentBlock(
                media_type=_string(source, "media_type"), data=_string(source, "data"), title=title
            )
        case "thinking":
            return ThinkingBlock(text=_string(data, "thinking"), signature=_optional(data, "signature"))
        case "redacted_thinking":
            return RedactedThinkingBlock(data=_string(data, "data"))
        case "tool_use":
            return _tool_use(data)
        case "tool_result":
            return _tool_result(data)
        case "opaque":
            body = _object(data.get("data"), "an opaque block's data")
            return OpaqueBlock(family=_string(data, "family"), data=body)
        case other:
            raise DataError(f"unknown block type {_shown(other)}")


def usage_to_json(usage: Usage) -> dict[str, int]:
    """`usage` under the session file's names; counts of zero that are optional there are left out."""
    out = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if usage.cache_write_tokens:
        out["cache_creation_input_tokens"] = usage.cache_write_tokens
    if usage.cache_read_tokens:
        out["cache_read_input_tokens"] = usage.cache_read_tokens
    if usage.thinking_tokens:
        out["thinking_tokens"] = usage.thinking_tokens
    if usage.estimated:
        out["estimated"] = True
    return out


def usage_from_json(value: object) -> Usage:
    """The usage in plain data; a missing count is 0. Raises `DataError`."""
    data = _object(value, "usage")

    def count(name: str) -> int:
        number = data.get(name) or 0
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise DataError(f"usage's {name} must be a whole number ≥ 0, not {_shown(number)}")
        return number

    return Usage(
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_read_tokens=count("cache_read_input_tokens"),
        cache_write_tokens=count("cache_creation_input_tokens"),
        thinking_tokens=count("thinking_tokens"),
        estimated=data.get("estimated") is True,
    )


def _image_source(block: ImageBlock) -> dict[str, Any]:
    if block.url is not None:
        return {"type": "url", "url": block.url, "media_type": block.media_type}
    return {"type": "base64", "media_type": block.media_type, "data": block.data or ""}


def _image(source: Mapping[str, Any]) -> ImageBlock:
    if source.get("type") == "url":
        return ImageBlock(media_type=_optional(source, "media_type") or "", url=_string(source, "url"))
    return ImageBlock(media_type=_string(source, "media_type"), data=_string(source, "data"))


def _tool_use(data: Mapping[str, Any]) -> ToolUseBlock:
    raw = _optional(data, "raw_input")
    body = data.get("input")
    if not isinstance(body, dict):
        raw = raw if raw is not None else _text_of(body)
        body = {}
    return ToolUseBlock(id=_string(data, "id"), name=_string(data, "name"), input=body, raw_input=raw)


def _tool_result(data: Mapping[str, Any]) -> ToolResultBlock:
    content = data.get("content", [])
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise DataError("a tool result's content must be a list of blocks or a string")
    parts = [_object(item, "a block") for item in content]
    kept = tuple(part for item in parts if (part := _result_part(item)) is not None)
    return ToolResultBlock(
        tool_use_id=_string(data, "tool_use_id"), content=kept, is_error=bool(data.get("is_error", False))
    )


def _result_part(data: Mapping[str, Any]) -> TextBlock | ImageBlock | None:
    """A part of a tool result; `None` for a kind that results of ours do not hold."""
    match data.get("type"):
        case "text":
            return TextBlock(text=_string(data, "text"))
        case "image":
            return _image(_object(data.get("source"), "an image's source"))
        case _:
            return None


def _null(constant: str) -> None:
    """What stands for `constant` (NaN, Infinity, -Infinity), which JSON does not have."""


def _without_none(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{what} must be a JSON object, not {type(value).__name__}")
    return value


def _string(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise DataError(f"{name!r} must be a string, not {_shown(value)}")
    return value


def _text_of(value: object) -> str:
    """`value` as JSON text; empty when it is nested too deeply."""
    try:
        return json.dumps(value)
    except RecursionError:
        return ""


def _shown(value: object) -> str:
    """`value` for a message: a short scalar as it is, anything else by its type."""
    match value:
        case None | float():
            return repr(value)
        case int() if value.bit_length() < 200:
            return repr(value)
        case str() if len(value) <= 60:
            return repr(value)
        case _:
            return f"a value of type {type(value).__name__}"


def _optional(data: Mapping[str, Any], name: str) -> str | None:
    return None if data.get(name) is None else _string(data, name)
