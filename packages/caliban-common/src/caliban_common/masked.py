"""Messages, results and plain data without secrets: the same object comes back where there was none in it."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, TypeVar

from msgspec.structs import replace

from caliban_common.mask import Masker
from caliban_common.message import Block, Message, ResultPart, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.tool import ToolOutput

T = TypeVar("T", bound=Block)
Parts = tuple[ResultPart, ...]


def masked_message(message: Message, masker: Masker) -> Message:
    """`message` without the secrets that `masker` knows; what is signed or opaque stays as it was signed."""
    content = tuple(_masked_block(block, masker) for block in masked_texts(message.content, masker))
    return message if all(map(is_, content, message.content)) else replace(message, content=content)


def masked_output(output: ToolOutput, masker: Masker) -> ToolOutput:
    """What a tool gave, without the secrets."""
    content, details = masked_texts(output.content, masker), masked_data(output.details, masker)
    if content is output.content and details is output.details:
        return output
    return replace(output, content=content, details=details)


def masked_texts(content: tuple[T, ...], masker: Masker) -> tuple[T, ...]:
    """Blocks with the text among them masked as one: a secret may lie across two of them."""
    before = [block.text for block in content if isinstance(block, TextBlock)]
    after = masker.texts(before)
    if all(map(is_, before, after)):
        return content
    texts = iter(after)
    return tuple(
        replace(block, text=next(texts)) if isinstance(block, TextBlock) else block for block in content
    )


def masked_data(value: Any, masker: Masker) -> Any:
    """JSON data without the secrets in its texts; names of members stay."""
    if isinstance(value, str):
        return masker.text(value)
    if isinstance(value, Mapping):
        members = {name: masked_data(member, masker) for name, member in value.items()}
        return value if all(map(is_, members.values(), value.values())) else members
    if isinstance(value, list | tuple):
        items = [masked_data(item, masker) for item in value]
        return value if all(map(is_, items, value)) else type(value)(items)
    return value


def _masked_block(block: Block, masker: Masker) -> Block:
    match block:
        case ToolResultBlock():
            content = masked_texts(block.content, masker)
            return block if content is block.content else replace(block, content=content)
        case ToolUseBlock():
            input = masked_data(block.input, masker)
            raw = None if block.raw_input is None else masker.text(block.raw_input)
            if input is block.input and raw is block.raw_input:
                return block
            return replace(block, input=input, raw_input=raw)
        case _:
            return block
