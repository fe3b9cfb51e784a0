"""A history as plain text, for a model that is to read about it and not to live in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from caliban_common.codec import dumps
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
)

TEXT_CHARS = 6000
INPUT_CHARS = 600
RESULT_CHARS = 1500
SPEAKERS: Mapping[str, str] = {"system": "System", "user": "User", "assistant": "Assistant"}


def transcript(messages: Sequence[Message], *, max_chars: int) -> str:
    """`messages` as text of at most `max_chars` ≥ 100; what is too long loses its middle, thinking goes."""
    parts = []
    for message in messages:
        lines = [line for block in message.content if (line := _line(block))]
        if lines:
            parts.append(f"{SPEAKERS[message.role]}:\n" + "\n".join(lines))
    return middle_out("\n\n".join(parts), max_chars)


def middle_out(text: str, max_chars: int) -> str:
    """`text` if it has at most `max_chars`, else its beginning and its end around a note."""
    if len(text) <= max_chars:
        return text
    note = f"\n[… {len(text) - max_chars} characters or more left out …]\n"
    room = max(0, max_chars - len(note))
    head = room // 3
    tail = room - head
    return text[:head] + note + (text[-tail:] if tail else "")


def _line(block: Block) -> str:
    match block:
        case TextBlock(text=text):
            return middle_out(text.strip(), TEXT_CHARS)
        case ToolUseBlock():
            sent = block.raw_input if block.raw_input is not None else _json(block.input)
            return f"[calls {block.name} with {middle_out(sent, INPUT_CHARS)}]"
        case ToolResultBlock():
            parts = (part.text if isinstance(part, TextBlock) else "[image]" for part in block.content)
            text = middle_out("\n".join(parts).strip(), RESULT_CHARS)
            return f"[{'error' if block.is_error else 'result'}: {text}]"
        case ImageBlock():
            return "[image]"
        case DocumentBlock():
            return f"[document {block.title or block.media_type}]"
        case ThinkingBlock() | RedactedThinkingBlock() | OpaqueBlock():
            return ""
        case _:
            assert_never(block)


def _json(value: Mapping[str, Any]) -> str:
    try:
        return dumps(dict(value)).decode()
    except DataError:
        return "arguments nested too deeply to show"
