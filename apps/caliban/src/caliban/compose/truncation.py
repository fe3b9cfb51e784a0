"""A conversation as it was before one of its prompts: pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from caliban.compose.recorder import is_hook_context
from caliban_agent_core.compact.summary import is_reminder, system_prompt
from caliban_agent_core.tasks import is_background_result
from caliban_common.message import Message


class Cut(Struct, frozen=True, kw_only=True):
    """What stays of a history, and how many messages go."""

    kept: tuple[Message, ...]
    removed: int


def cut_before(
    messages: Sequence[Message], prompt_id: str, transcript: Sequence[Message] | None
) -> Cut | None:
    """`messages` before the prompt `prompt_id`, and before what was said to the model along with it.

    Of a prompt that was summarised the `transcript` knows, and what stays is whole again. `None` where nobody
    knows it.
    """
    place = _place(messages, prompt_id)
    if place is not None:
        return Cut(kept=tuple(messages[:place]), removed=len(messages) - place)
    place = None if transcript is None else _place(transcript, prompt_id)
    if transcript is None or place is None:
        return None
    kept = (
        *system_prompt(messages),
        *(message for message in transcript[:place] if not is_reminder(message.text)),
    )
    return Cut(kept=kept, removed=max(len(messages) - len(kept), 0))


def _place(messages: Sequence[Message], prompt_id: str) -> int | None:
    place = next((n for n, message in enumerate(messages) if message.id == prompt_id), None)
    while place and _goes_along(messages[place - 1]):
        place -= 1
    return place


def _goes_along(message: Message) -> bool:
    """Whether a message was put before a prompt because of it."""
    if message.role != "user" or message.tool_results:
        return False
    return is_hook_context(message) or is_background_result(message.text)
