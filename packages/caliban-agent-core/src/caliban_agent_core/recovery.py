"""What to do about a reply that was cut off at its token limit (behaviours 2.4, A1 to A4).

    cut ──▶ Escalate   no tool call yet: ask for the same turn again, with more room
        └─▶ Continue   still cut, or cut in a tool call: keep the reply, tell the model, take another turn
        └─▶ GiveUp     told often enough

Pure: state in, verdict out.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

MARK = "Output token limit hit"
TEXT_CUT = (
    f"{MARK}: your last message was cut off. Go on exactly where it stopped; "
    "do not repeat or summarise what you already wrote."
)
CALL_CUT = (
    f"{MARK}: your last message was cut off in a tool call, so none of its calls were run. "
    "Make the call again with less in it, for instance a long file in several parts."
)


class RecoveryLimits(Struct, frozen=True, kw_only=True):
    """How far recovery goes.

    `escalated_max_tokens` is the room of the second attempt at a turn. `max_continuations` bounds how often
    in a row the model is told to go on; 0 never tells it. Without `enabled` a cut reply ends the run.
    """

    enabled: bool = True
    escalated_max_tokens: int = 16_384
    max_continuations: int = 3


class Recovery(Struct, frozen=True, kw_only=True):
    """Where a run stands: whether this turn had its second attempt, and the continuations in a row.

    A turn that ends in any other way starts again from `Recovery()`.
    """

    escalated: bool = False
    continuations: int = 0


class Escalate(Struct, frozen=True, kw_only=True):
    """Discard the reply, whose tokens are billed, and ask for the same turn with room for `max_tokens`."""

    max_tokens: int
    state: Recovery


class Continue(Struct, frozen=True, kw_only=True):
    """Keep the reply, add `text` as a user message, and take another turn.

    The reply's tool calls, if any, must not be run: their JSON may end too early and still decode. Each gets
    an error result, ahead of `text`, so that the history stays valid.
    """

    text: str
    state: Recovery


class GiveUp(Struct, frozen=True, kw_only=True):
    """Keep the reply, answer its tool calls with error results, and end the run."""


GateVerdict: TypeAlias = Escalate | Continue | GiveUp


def after_max_tokens(
    state: Recovery, limits: RecoveryLimits, *, has_tool_calls: bool, max_tokens: int = 0
) -> GateVerdict:
    """The verdict on a reply that ended with `max_tokens`.

    `max_tokens` is the room it had: a second attempt with no more than that would end the same way, so it is
    left out.
    """
    if not limits.enabled:
        return GiveUp()
    if not has_tool_calls and not state.escalated and max_tokens < limits.escalated_max_tokens:
        escalated = Recovery(escalated=True, continuations=state.continuations)
        return Escalate(max_tokens=limits.escalated_max_tokens, state=escalated)
    if state.continuations >= limits.max_continuations:
        return GiveUp()
    text = CALL_CUT if has_tool_calls else TEXT_CUT
    return Continue(text=text, state=Recovery(continuations=state.continuations + 1))
