"""What to do about an image that a provider refuses: words take its place, or it would end each later run."""

from __future__ import annotations

import re

from msgspec.structs import replace

from caliban_common.message import Block, ImageBlock, Message, TextBlock, ToolResultBlock

ABOUT_IMAGES = r"(?i)\b(?:image|picture|png|jpe?g|gif|webp)"


def names_image(text: str) -> bool:
    """Whether a refusal speaks of an image."""
    return re.search(ABOUT_IMAGES, text) is not None


def without_images(messages: tuple[Message, ...], reason: str) -> tuple[Message, ...] | None:
    """`messages` with words for images that no reply has come after; for all, where there are none such.

    `None` where there is no image at all.
    """
    note = TextBlock(text=f"[an image was left out: the provider refused it: {reason}]")
    replies = [number for number, message in enumerate(messages) if message.role == "assistant"]
    for start in (replies[-1] if replies else 0, 0):
        rest = tuple(_noted(message, note) for message in messages[start:])
        if rest != messages[start:]:
            return (*messages[:start], *rest)
    return None


def _noted(message: Message, note: TextBlock) -> Message:
    content = tuple(_words(block, note) for block in message.content)
    return message if content == message.content else replace(message, content=content)


def _words(block: Block, note: TextBlock) -> Block:
    if isinstance(block, ImageBlock):
        return note
    if isinstance(block, ToolResultBlock) and any(isinstance(part, ImageBlock) for part in block.content):
        parts = tuple(note if isinstance(part, ImageBlock) else part for part in block.content)
        return replace(block, content=parts)
    return block
