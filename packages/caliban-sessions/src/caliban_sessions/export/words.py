"""What exports say of numbers, times and blocks, in one style."""

from __future__ import annotations

import json
from datetime import datetime
from typing import assert_never

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
from caliban_common.terminal import visible
from caliban_common.text import clean
from caliban_common.usage import Usage

MAX_CHARS = 1_000_000
"""How much of one text a page or a Markdown file holds; JSON holds all."""


def safe(text: str) -> str:
    """`text` with what steers terminals, or hides or turns text, as visible escapes; cut where it is huge."""
    if len(text) > MAX_CHARS:
        note = f"\n[… {len(text) - MAX_CHARS:,} more characters are left out here; the JSON export has them]"
        text = text[:MAX_CHARS] + note
    return visible(clean(text))


def moment(at: datetime | None) -> str:
    """`at` to the second."""
    return "" if at is None else at.isoformat(" ", "seconds").removesuffix("+00:00") + " UTC"


def seconds(begun: datetime | None, ended: datetime | None) -> str:
    """How long it took, where both ends are known."""
    if begun is None or ended is None or ended < begun:
        return ""
    return f"{(ended - begun).total_seconds():.1f} s"


def dollars(amount: float | None) -> str:
    """A cost."""
    if amount is None:
        return "unknown price"
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${max(amount, 0.0001):.4f}"


def tokens(usage: Usage) -> str:
    """Tokens in and out, and how many of the former a cache held."""
    cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
    return f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out"


def arguments(block: ToolUseBlock) -> str:
    """The input of a call as JSON."""
    if block.raw_input is not None:
        return block.raw_input
    return json.dumps(dict(block.input), ensure_ascii=False, indent=2, default=str)


def stand_in(block: Block) -> str:
    """A line for a block that is no text, empty for one that is."""
    match block:
        case ImageBlock() if block.url is not None:
            return f"[image at {block.url}]"
        case ImageBlock():
            return f"[image, {block.media_type}]"
        case DocumentBlock():
            return f"[document {block.title or ''}, {block.media_type}]"
        case RedactedThinkingBlock():
            return "[reasoning that the vendor encrypted]"
        case OpaqueBlock():
            return f"[state of {block.family}]"
        case TextBlock() | ThinkingBlock() | ToolUseBlock() | ToolResultBlock():
            return ""
        case _:
            assert_never(block)
