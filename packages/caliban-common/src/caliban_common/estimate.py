"""How many tokens a history has, roughly: four characters make one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import is_
from typing import assert_never

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
from caliban_common.tool import ToolSpec

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1600
"""Of any image: what vendors count for one of the size they scale images down to."""

_ENCODER = json.JSONEncoder(default=str)
MESSAGE_TOKENS = 4
"""What a message costs beside its content."""


def message_tokens(message: Message) -> int:
    """The estimate for one message: never 0. Text outside ASCII counts by its bytes in UTF-8."""
    return MESSAGE_TOKENS + sum(_block_tokens(block) for block in message.content)


def tokens(messages: Iterable[Message]) -> int:
    """The estimate for `messages` together."""
    return sum(message_tokens(message) for message in messages)


def tool_tokens(tools: Iterable[ToolSpec]) -> int:
    """The estimate for the descriptions of tools."""
    chars = sum(
        len(tool.name) + len(tool.description) + len(_ENCODER.encode(tool.input_schema)) for tool in tools
    )
    return -(-chars // CHARS_PER_TOKEN)


class Estimator:
    """Estimates one history again and again as it grows or is rewritten at its end.

    What it knows of the messages it has seen holds as long as the very same objects come first.
    """

    def __init__(self) -> None:
        self._seen: list[Message] = []
        self._totals: list[int] = []

    def tokens(self, messages: Sequence[Message]) -> int:
        """What `tokens` gives for `messages`, in time that grows with what is new."""
        same = len(self._seen)
        if len(messages) < same or not all(map(is_, self._seen, messages)):
            same = next(
                (n for n, (old, new) in enumerate(zip(self._seen, messages, strict=False)) if old is not new),
                min(same, len(messages)),
            )
            del self._seen[same:], self._totals[same:]
        new = messages[same:]
        start = self._totals[-1] if self._totals else 0
        self._seen.extend(new)
        self._totals.extend(list(accumulate(map(message_tokens, new), initial=start))[1:])
        return self._totals[-1] if self._totals else 0


def _block_tokens(block: Block) -> int:
    match block:
        case TextBlock(text=text):
            return text_tokens(text)
        case ToolResultBlock(content=parts):
            return MESSAGE_TOKENS + sum(_block_tokens(part) for part in parts)
        case ToolUseBlock():
            return MESSAGE_TOKENS + text_tokens(block.name) + _data_tokens(block.input)
        case ThinkingBlock():
            return text_tokens(block.text) + text_tokens(block.signature or "")
        case RedactedThinkingBlock(data=data):
            return text_tokens(data)
        case ImageBlock():
            return IMAGE_TOKENS
        case DocumentBlock():
            return max(IMAGE_TOKENS, len(block.data) // 40)
        case OpaqueBlock():
            return _data_tokens(block.data)
        case _:
            assert_never(block)


def text_tokens(text: str) -> int:
    """The estimate for a text. Outside ASCII it counts by its bytes."""
    return -(-text_size(text) // CHARS_PER_TOKEN)


def text_size(text: str) -> int:
    """What a text weighs in an estimate: `CHARS_PER_TOKEN` of it make a token."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _data_tokens(data: object) -> int:
    try:
        return text_tokens(json.dumps(data, ensure_ascii=False, default=str))
    except RecursionError:
        return 0  # what is nested this deeply is never sent: history.repair empties it
