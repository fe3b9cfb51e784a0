"""The vendor's rules for messages and their blocks."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from caliban_provider_anthropic.models import ModelFacts
from caliban_provider_anthropic.testing.refusal import need, refuse

_MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "text": frozenset({"type", "text", "citations", "cache_control"}),
        "image": frozenset({"type", "source", "cache_control"}),
        "document": frozenset({"type", "source", "title", "context", "citations", "cache_control"}),
        "thinking": frozenset({"type", "thinking", "signature"}),
        "redacted_thinking": frozenset({"type", "data"}),
        "tool_use": frozenset({"type", "id", "name", "input", "caller", "cache_control"}),
        "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    }
)
_SERVER_KINDS = frozenset({"server_tool_use", "container_upload", "compaction"})
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAX_ID_CHARS = 64
_BAD_ID = "String should match pattern '^[a-zA-Z0-9_-]+$'"

Block = Mapping[str, Any]


def check_history(body: Mapping[str, Any], row: ModelFacts) -> None:
    """Raise `Refused` for messages that the vendor would refuse in the rest of the body."""
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "messages: at least one message is required")
    assert isinstance(messages, list)
    merged: list[tuple[str, list[Block]]] = []
    for place, message in enumerate(messages):
        need(
            isinstance(message, dict) and set(message) == {"role", "content"}, f"messages.{place}: wrong keys"
        )
        role = message["role"]
        need(role in ("user", "assistant"), f"messages.{place}.role: unexpected role {role!r}")
        blocks = check_blocks(message["content"], where=f"messages.{place}.content", role=role)
        need(blocks, f"messages.{place}: all messages must have non-empty content")
        if merged and merged[-1][0] == role:
            merged[-1][1].extend(blocks)
        else:
            merged.append((role, list(blocks)))
    need(merged[0][0] == "user", 'messages: first message must use the "user" role')
    _check_pairs(merged)
    _check_end(merged, body, row)
    _check_loop(merged, body)


def check_blocks(content: object, *, where: str = "content", role: str = "user") -> Sequence[Block]:
    """The blocks of `content`, each of them valid where it stands."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    need(isinstance(content, list), f"{where}: Input should be a valid list")
    assert isinstance(content, list)
    for place, block in enumerate(content):
        need(
            isinstance(block, dict) and isinstance(block.get("type"), str), f"{where}.{place}.type: required"
        )
        _check_block(block, f"{where}.{place}.{block['type']}", role)
    return content


def _check_block(block: Block, where: str, role: str) -> None:
    kind = block["type"]
    if kind in _SERVER_KINDS or kind.endswith("_tool_result"):
        need(role == "assistant", f"{where}: may only be in assistant messages")
        return
    need(kind in _MEMBERS, f"{where}: Input tag does not match any of the expected tags")
    extra = set(block) - _MEMBERS[kind]
    need(not extra, f"{where}.{extra}: Extra inputs are not permitted")
    mark = block.get("cache_control")
    need(mark is None or _is_mark(mark), f"{where}.cache_control: unexpected value")
    if kind in ("image", "document", "tool_result"):
        need(role == "user", f"{where}: `{kind}` blocks are only permitted in user messages")
    if kind in ("thinking", "redacted_thinking", "tool_use"):
        need(role == "assistant", f"{where}: `{kind}` blocks are only permitted in assistant messages")
    match kind:
        case "text":
            text = block.get("text")
            need(isinstance(text, str) and text, "text content blocks must be non-empty")
            need(str(text).strip(), "text content blocks must contain non-whitespace text")
        case "image":
            _check_image(block.get("source"), where)
        case "document":
            _check_document(block.get("source"), where)
        case "thinking":
            need(isinstance(block.get("thinking"), str), f"{where}.thinking: Field required")
            need(
                isinstance(block.get("signature"), str) and block["signature"], f"{where}.signature: required"
            )
        case "redacted_thinking":
            need(isinstance(block.get("data"), str) and block["data"], f"{where}.data: Field required")
        case "tool_use":
            need(
                is_word(block.get("id"), _MAX_ID_CHARS),
                f"{where}.id: {_BAD_ID}",
            )
            need(is_word(block.get("name"), 128), f"{where}.name: {_BAD_ID}")
            need(isinstance(block.get("input"), dict), f"{where}.input: Input should be a valid dictionary")
        case "tool_result":
            _check_result(block, where)


def _check_result(block: Block, where: str) -> None:
    need(is_word(block.get("tool_use_id"), _MAX_ID_CHARS), f"{where}.tool_use_id: {_BAD_ID}")
    need(block.get("is_error") in (None, True, False), f"{where}.is_error: Input should be a valid boolean")
    content = block.get("content")
    if content is None or content == "":
        need(not block.get("is_error"), f"{where}: content cannot be empty if `is_error` is true")
        return
    parts = check_blocks(content, where=f"{where}.content")
    need(parts, f"{where}: content cannot be empty")
    for part in parts:
        need(part["type"] in ("text", "image", "document"), f"{where}.content: unexpected {part['type']}")
        fine = part["type"] == "text" or not block.get("is_error")
        need(fine, f"{where}: all content must be type `text` if `is_error` is true")


def _check_image(source: object, where: str) -> None:
    match source:
        case {"type": "base64", "media_type": media_type, "data": str(data)}:
            need(media_type in _IMAGE_TYPES, f"{where}.source.base64.media_type: unexpected {media_type!r}")
            need(_is_base64(data), f"{where}.source.base64: invalid base64 data")
        case {"type": "url", "url": str(url)}:
            need(url.startswith(("https://", "http://")), f"{where}.source.url: no URL")
        case _:
            refuse(f"{where}.source: Field required")


def _check_document(source: object, where: str) -> None:
    match source:
        case {"type": "base64", "media_type": "application/pdf", "data": str(data)}:
            need(_is_base64(data), f"{where}.source.base64: invalid base64 data")
        case {"type": "text", "media_type": "text/plain", "data": str(data)}:
            need(data.strip(), f"{where}.source.text: must be non-empty")
        case _:
            refuse(f"{where}.source: Input tag does not match any of the expected tags")


def _check_pairs(merged: Sequence[tuple[str, list[Block]]]) -> None:
    """Every call is answered once, at the head of the next message, and no id comes twice."""
    seen: set[str] = set()
    open_ids: list[str] = []
    for place, (role, blocks) in enumerate(merged):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if role == "user":
            for name in results:
                need(
                    name in open_ids,
                    f"messages.{place}: unexpected `tool_use_id` in `tool_result`: {name}",
                )
            need(
                len(set(results)) == len(results),
                f"messages.{place}: a tool_use has several results",
            )
            heads = [block["type"] for block in blocks[: len(results)]]
            if set(open_ids) - set(results) or any(head != "tool_result" for head in heads):
                missing = sorted(set(open_ids) - set(results))
                refuse(
                    f"messages.{place - 1}: `tool_use` ids were found without `tool_result` blocks "
                    f"immediately after: {', '.join(missing)}."
                )
            open_ids = []
            continue
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for name in open_ids:
            need(name not in seen, f"messages.{place}: `tool_use` ids must be unique: {name}")
            seen.add(name)
    need(not open_ids, f"messages: `tool_use` ids were found without `tool_result` blocks: {open_ids}")


def _check_end(merged: Sequence[tuple[str, list[Block]]], body: Mapping[str, Any], row: ModelFacts) -> None:
    role, blocks = merged[-1]
    last = blocks[-1]
    if role != "assistant" or last["type"] in _SERVER_KINDS or last["type"].endswith("_tool_result"):
        return
    thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    need(row.prefill and not thinks, "This model does not support assistant message prefill.")
    if last["type"] == "text":
        text = str(last["text"])
        need(text == text.rstrip(), "messages: final assistant content cannot end with trailing whitespace")


def _check_loop(merged: Sequence[tuple[str, list[Block]]], body: Mapping[str, Any]) -> None:
    """With a thinking budget, the tool loop that is going on must have begun with thinking."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    first: str | None = None
    for role, blocks in reversed(merged):
        if role == "assistant":
            first = blocks[0]["type"]
        elif not any(block["type"] == "tool_result" for block in blocks):
            break
    need(
        first in (None, "thinking", "redacted_thinking"),
        f"Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block.",
    )


def is_word(value: object, max_chars: int) -> bool:
    """Whether `value` is made of letters, digits, `_` and `-`, 1 to `max_chars` of them."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= max_chars
        and value.isascii()
        and all(char.isalnum() or char in "_-" for char in value)
    )


def _is_mark(mark: object) -> bool:
    match mark:
        case {"type": "ephemeral", **rest}:
            return rest in ({}, {"ttl": "5m"}, {"ttl": "1h"})
        case _:
            return False


def _is_base64(data: str) -> bool:
    try:
        return bool(b64decode(data, validate=True))
    except ValueError:
        return False
