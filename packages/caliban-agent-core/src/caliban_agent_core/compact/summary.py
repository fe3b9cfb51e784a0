"""What a summary of older messages looks like in a history."""

from __future__ import annotations

from caliban_common.message import Message

PREFIX = "Summary of earlier conversation:"


def is_summary(message: Message) -> bool:
    """Whether `message` stands for older ones: it leads with the system prompt, and is not it."""
    return message.role == "system" and message.text.startswith(PREFIX)
