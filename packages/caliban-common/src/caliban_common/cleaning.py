"""One message made fit to be sent: blocks where their role can hold them, none empty, none unencodable."""

from __future__ import annotations

from operator import is_
from typing import assert_never

from msgspec.structs import replace

from caliban_common.codec import nearest
from caliban_common.errors import DataError
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.text import clean

NO_OUTPUT = "(no output)"
NAMELESS = "unknown"


def cleaned(message: Message, *, own: bool, family: str) -> Message:
    """`message` without the blocks that cannot be sent; its content may then be empty.

    `own` says that the reader, of `family`, wrote the message: only then signed and opaque blocks stay, the
    latter of any family where `family` is empty. The same object comes back when there is nothing to change.
    """
    content: list[Block] = []
    changed = False
    for block in message.content:
        kept = _kept_block(block, message.role, own=own, family=family)
        changed = changed or kept is not block
        if kept is not None:
            content.append(kept)
    return replace(message, content=tuple(content)) if changed else message


def _kept_block(block: Block, role: Role, *, own: bool, family: str) -> Block | None:
    match block:
        case TextBlock():
            return _kept_text(block)
        case ToolUseBlock():
            return _plain_call(block) if role == "assistant" else None
        case ToolResultBlock():
            return _plain_result(block) if role == "user" else None
        case ThinkingBlock():
            return block if own and block.signature is not None else None
        case RedactedThinkingBlock():
            return block if own else None
        case OpaqueBlock():
            return block if own and family in ("", block.family) else None
        case ImageBlock() | DocumentBlock():
            return block if role != "system" else None
        case _:
            assert_never(block)


def _kept_text(block: TextBlock) -> TextBlock | None:
    if not block.text or block.text.isspace():
        return None
    text = clean(block.text)
    return block if text is block.text else replace(block, text=text)


def _plain_call(block: ToolUseBlock) -> ToolUseBlock:
    id = clean(block.id)
    name = clean(block.name) if block.name.strip() else NAMELESS
    raw_input = None if block.raw_input is None else clean(block.raw_input)
    given = dict(block.input)
    try:
        input = nearest(given)
    except DataError:
        input = {}
    if id is block.id and name is block.name and raw_input is block.raw_input and input is given:
        return block
    return replace(block, id=id, name=name, raw_input=raw_input, input=input)


def _plain_result(block: ToolResultBlock) -> ToolResultBlock:
    id = clean(block.tool_use_id)
    parts: list[ResultPart] = []
    for part in block.content:
        kept = _kept_text(part) if isinstance(part, TextBlock) else part
        if kept is not None:
            parts.append(kept)
    if not parts:
        parts.append(TextBlock(text=NO_OUTPUT))
    if id is block.tool_use_id and len(parts) == len(block.content) and all(map(is_, parts, block.content)):
        return block
    return replace(block, tool_use_id=id, content=tuple(parts))
