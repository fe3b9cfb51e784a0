"""A word to a model that stalls: an empty turn, or many turns without an edit (behaviours 2.4, A9, A10).

Pure: state and facts in, state and perhaps a nudge out.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

EMPTY_TURN = (
    "Your last turn had neither text nor a tool call. Go on with the task: call a tool, "
    "or say what you found."
)
NO_EDIT_MARK = "without editing any files"


class Nudges(Struct, frozen=True, kw_only=True):
    """What nudging remembers of a run.

    `empty_in_a_row` counts nudged empty turns, `turns_without_edit` the turns since the last edit. `armed`
    says that the no-edit nudge may come; `no_edit_emitted`, that it came at least once in this run.
    """

    empty_in_a_row: int = 0
    turns_without_edit: int = 0
    armed: bool = True
    no_edit_emitted: bool = False


class TurnFacts(Struct, frozen=True, kw_only=True):
    """What a turn came to. `edited` means that a tool of kind `edit` ran without an error.

    `refused` means that the model or the provider declined: such a turn is never nudged.
    """

    output_tokens: int
    has_text: bool
    has_tool_calls: bool
    edited: bool
    refused: bool = False


class Nudge(Struct, frozen=True, kw_only=True):
    """A user message to inject before the next turn."""

    kind: Literal["empty_turn", "no_edit"]
    text: str


def after_turn(
    state: Nudges, facts: TurnFacts, *, max_empty_nudges: int, no_edit_turns: int
) -> tuple[Nudges, Nudge | None]:
    """The state after a turn, and what to tell the model.

    `max_empty_nudges` bounds the nudged empty turns in a row, `no_edit_turns` is the number of turns without
    an edit after which the model is reminded once; 0 switches either off. The no-edit nudge only speaks into
    a run that goes on by itself (the turn had tool calls): an answer is never held up by it.
    """
    without_edit = 0 if facts.edited else state.turns_without_edit + 1
    state = replace(state, turns_without_edit=without_edit, armed=state.armed or facts.edited)
    if facts.refused:
        return state, None
    if facts.has_text or facts.has_tool_calls or facts.output_tokens <= 0:
        state = replace(state, empty_in_a_row=0)
    elif state.empty_in_a_row < max_empty_nudges:
        state = replace(state, empty_in_a_row=state.empty_in_a_row + 1)
        return state, Nudge(kind="empty_turn", text=EMPTY_TURN)
    if facts.has_tool_calls and state.armed and 0 < no_edit_turns <= without_edit:
        state = replace(state, armed=False, no_edit_emitted=True)
        return state, Nudge(kind="no_edit", text=_no_edit(without_edit))
    return state, None


def _no_edit(turns: int) -> str:
    return (
        f"You have taken {turns} turns {NO_EDIT_MARK}. If the task asks for changes, make the "
        "first one now; if it does not, or if something is in the way, say so."
    )


def is_nudge(text: str) -> bool:
    """Whether `text` is one of ours, and so not what a user asked for."""
    return text == EMPTY_TURN or (text.startswith("You have taken") and NO_EDIT_MARK in text)
