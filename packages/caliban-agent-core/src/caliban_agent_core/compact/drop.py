"""The oldest turns left out until a history fits: no model is asked, and nothing remembers what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from caliban_agent_core.compact.cuts import cuts, request_at_work, requests
from caliban_common.estimate import message_tokens
from caliban_common.message import Message, count_leading_system


def drop_oldest(messages: tuple[Message, ...], *, target_tokens: int) -> tuple[Message, ...]:
    """`messages` without as many of the oldest turns as it takes to fit `target_tokens`.

    Leading system messages, the first message of the user and the request at work stay. The cut is before a
    request where one fits, else before a reply. When nothing fits, the last turn stays, however long. The
    same object comes back when it fits already or when nothing can go.
    """
    sizes = list(map(message_tokens, messages))
    if sum(sizes) <= target_tokens:
        return messages
    totals = list(accumulate(sizes, initial=0))
    lead = count_leading_system(messages)
    asked = requests(messages)
    starts = frozenset(asked)
    options = [(cut, _kept(lead, asked, cut)) for cut in cuts(messages)]
    options = [(cut, kept) for cut, kept in options if lead + len(kept) < cut]
    if not options:
        return messages
    fitting = [
        (cut, kept)
        for cut, kept in options
        if totals[lead] + sum(sizes[n] for n in kept) + totals[-1] - totals[cut] <= target_tokens
    ]
    at_request = [(cut, kept) for cut, kept in fitting if cut in starts]
    cut, kept = (at_request or fitting or options[-1:])[0]
    return (*messages[:lead], *(messages[number] for number in kept), *messages[cut:])


def _kept(lead: int, asked: Sequence[int], cut: int) -> tuple[int, ...]:
    """The positions from `lead` up to `cut` that stay."""
    first = asked[0] if asked and asked[0] == lead and lead < cut else None
    request = request_at_work(asked, cut)
    return tuple(sorted({number for number in (first, request) if number is not None}))
