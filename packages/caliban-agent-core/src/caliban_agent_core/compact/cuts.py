"""Where a history can be cut in two so that its end stands by itself, and what must survive a cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from caliban_agent_core.compact.summary import is_reminder, is_update
from caliban_agent_core.nudge import is_nudge
from caliban_agent_core.recovery import MARK
from caliban_agent_core.tasks import is_background_result
from caliban_common.message import Message


def cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """The positions before which a cut orphans no result: before a reply, or before a user's own words."""
    positions = []
    unanswered: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "assistant":
            positions.append(number)
            unanswered = {call.id for call in message.tool_uses}
        elif message.role == "user":
            results = message.tool_results
            if not results and not unanswered:
                positions.append(number)
            unanswered.difference_update(result.tool_use_id for result in results)
    return tuple(positions)


def is_request(message: Message) -> bool:
    """Whether a user asked for something here: no tool results, and no words of ours to the model."""
    if message.role != "user" or message.tool_results:
        return False
    text = message.text
    ours = (is_nudge, is_background_result, is_reminder, is_update)
    return not (text.startswith(MARK) or any(predicate(text) for predicate in ours))


def requests(messages: Sequence[Message]) -> tuple[int, ...]:
    """The positions of the requests."""
    return tuple(number for number, message in enumerate(messages) if is_request(message))


def request_at_work(requests: Sequence[int], cut: int) -> int | None:
    """The request before `cut` that the messages after it work on; `None` when they begin with a request."""
    place = bisect_left(requests, cut)
    if place < len(requests) and requests[place] == cut:
        return None
    return requests[place - 1] if place else None
