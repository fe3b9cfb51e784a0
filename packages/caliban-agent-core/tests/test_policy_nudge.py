from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from caliban_agent_core.nudge import EMPTY_TURN, Nudge, Nudges, TurnFacts, after_turn, is_nudge

EMPTY = TurnFacts(output_tokens=7, has_text=False, has_tool_calls=False, edited=False)
TOOL = replace(EMPTY, has_tool_calls=True)
EDIT = replace(TOOL, edited=True)
ANSWER = replace(EMPTY, has_text=True)


def play(turns: Sequence[TurnFacts], *, empty: int = 2, no_edit: int = 3) -> tuple[Nudges, list[str]]:
    """The state after `turns`, and the kinds of the nudges on the way, `-` for none."""
    state, kinds = Nudges(), list[str]()
    for facts in turns:
        state, nudge = after_turn(state, facts, max_empty_nudges=empty, no_edit_turns=no_edit)
        kinds.append("-" if nudge is None else nudge.kind)
    return state, kinds


def test_a_turn_of_thought_alone_is_nudged_a9() -> None:
    state, nudge = after_turn(Nudges(), EMPTY, max_empty_nudges=2, no_edit_turns=0)
    assert nudge == Nudge(kind="empty_turn", text=EMPTY_TURN)
    assert state == Nudges(empty_in_a_row=1, turns_without_edit=1)


def test_empty_turns_are_nudged_twice_in_a_row_and_again_after_a_full_one_a9() -> None:
    turns = [EMPTY, EMPTY, EMPTY, TOOL, EMPTY]
    assert play(turns, no_edit=0)[1] == ["empty_turn", "empty_turn", "-", "-", "empty_turn"]
    assert play(turns, empty=0, no_edit=0)[1] == ["-"] * 5


def test_a_turn_that_cost_nothing_is_not_empty_but_absent() -> None:
    assert play([replace(EMPTY, output_tokens=0)]) == (Nudges(turns_without_edit=1), ["-"])


def test_turns_without_edit_are_nudged_once_a10() -> None:
    state, kinds = play([TOOL] * 5)
    assert kinds == ["-", "-", "no_edit", "-", "-"]
    assert state == Nudges(turns_without_edit=5, armed=False, no_edit_emitted=True)


def test_the_nudge_says_how_long_nothing_was_edited_a10() -> None:
    state = Nudges(turns_without_edit=9)
    _, nudge = after_turn(state, TOOL, max_empty_nudges=2, no_edit_turns=10)
    assert nudge is not None
    assert "10 turns without editing any files" in nudge.text


def test_an_edit_resets_and_arms_again_a10() -> None:
    state, kinds = play([TOOL, TOOL, TOOL, EDIT, TOOL, TOOL, TOOL])
    assert kinds == ["-", "-", "no_edit", "-", "-", "-", "no_edit"]
    assert state.turns_without_edit == 3


def test_a_threshold_of_zero_never_nudges_but_counts_a10() -> None:
    assert play([TOOL] * 20, no_edit=0) == (Nudges(turns_without_edit=20), ["-"] * 20)


def test_a_refusal_is_never_masked_a10() -> None:
    refused = [replace(facts, refused=True) for facts in (EMPTY, TOOL, TOOL)]
    assert play(refused, no_edit=1)[1] == ["-", "-", "-"]


def test_an_answer_is_not_held_up_and_the_nudge_stays_armed() -> None:
    state, kinds = play([TOOL, TOOL, ANSWER])
    assert kinds == ["-", "-", "-"]
    assert (state.armed, state.no_edit_emitted) == (True, False)


def test_nudges_are_told_from_what_a_user_says() -> None:
    _, nudge = after_turn(Nudges(turns_without_edit=2), TOOL, max_empty_nudges=0, no_edit_turns=1)
    assert nudge is not None
    cases = [EMPTY_TURN, nudge.text, "You have taken my bread", "answer without editing any files"]
    assert list(map(is_nudge, cases)) == [True, True, False, False]


facts = st.sampled_from([EMPTY, TOOL, EDIT, ANSWER, replace(TOOL, refused=True)])


@given(st.lists(facts, max_size=40), st.integers(0, 3), st.integers(0, 5))
def test_nudges_keep_their_bounds(turns: list[TurnFacts], empty: int, no_edit: int) -> None:
    state, kinds = play(turns, empty=empty, no_edit=no_edit)
    in_a_row = longest = 0
    for kind in kinds:
        in_a_row = in_a_row + 1 if kind == "empty_turn" else 0
        longest = max(longest, in_a_row)
    edits = sum(turn.edited for turn in turns)
    assert longest <= empty
    assert kinds.count("no_edit") <= (edits + 1 if no_edit else 0)
    assert state.no_edit_emitted is ("no_edit" in kinds)
