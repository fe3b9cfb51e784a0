"""What a summary of older messages, and the reminder behind it, look like in a history."""

from __future__ import annotations

from collections.abc import Iterable

from caliban_common.message import Message

PREFIX = "Summary of earlier conversation:"
REMINDER = "<after_compaction>"
"""How a message begins that tells the model what a summary does not hold."""

UPDATE = "<context_update>"
"""How a message begins that adds to what the model was told at the start: it holds after a summary, too."""


def is_summary(message: Message) -> bool:
    """Whether `message` stands for older ones: it leads with the system prompt, and is not it."""
    return message.role == "system" and message.text.startswith(PREFIX)


def system_prompt(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The system messages of a history but for summaries, which take the place of older messages."""
    return tuple(message for message in messages if message.role == "system" and not is_summary(message))


def is_reminder(text: str) -> bool:
    """Whether `text` reminds of what was summarised, and so is not what a user asked for."""
    return text.startswith(REMINDER)


def is_update(text: str) -> bool:
    """Whether `text` adds to what the model was told at the start, and so is not what a user asked for."""
    return text.startswith(UPDATE)


def update_text(text: str) -> str:
    """A message that tells the model of `text`, which holds for the rest of the conversation."""
    return f"{UPDATE}\n{text}\n</context_update>"
