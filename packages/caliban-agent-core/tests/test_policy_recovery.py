from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_agent_core.recovery import (
    CALL_CUT,
    MARK,
    TEXT_CUT,
    Continue,
    Escalate,
    GateVerdict,
    GiveUp,
    Recovery,
    RecoveryLimits,
    after_max_tokens,
)

LIMITS = RecoveryLimits()


def play(cut_calls: int, limits: RecoveryLimits = LIMITS) -> tuple[int, int, list[GateVerdict]]:
    """Calls and turns of a run whose first `cut_calls` replies are cut, and the verdicts on them."""
    state, turns, verdicts = Recovery(), 1, list[GateVerdict]()
    for calls in range(1, cut_calls + 1):
        verdict = after_max_tokens(state, limits, has_tool_calls=False)
        verdicts.append(verdict)
        if isinstance(verdict, GiveUp):
            return calls, turns, verdicts
        state = verdict.state
        turns += isinstance(verdict, Continue)
    return cut_calls + 1, turns, verdicts


def test_a_cut_reply_is_asked_for_again_with_more_room_in_the_same_turn_a1() -> None:
    escalate = Escalate(max_tokens=16_384, state=Recovery(escalated=True))
    assert play(1) == (2, 1, [escalate])


def test_a_second_cut_is_told_to_the_model_once_a2() -> None:
    calls, turns, (first, second) = play(2)
    assert (calls, turns) == (3, 2)
    assert isinstance(first, Escalate)
    assert second == Continue(text=TEXT_CUT, state=Recovery(continuations=1))
    assert TEXT_CUT.startswith("Output token limit hit")


def test_after_three_continuations_the_fourth_turn_gives_up_at_the_eighth_call_a3() -> None:
    calls, turns, verdicts = play(10)
    assert (calls, turns) == (8, 4)
    assert [type(verdict) for verdict in verdicts] == [*[Escalate, Continue] * 3, Escalate, GiveUp]


def test_without_recovery_the_first_cut_ends_the_run_a4() -> None:
    assert play(1, RecoveryLimits(enabled=False)) == (1, 1, [GiveUp()])


def test_a_cut_tool_call_is_never_retried_in_silence_but_told_to_the_model() -> None:
    verdict = after_max_tokens(Recovery(), LIMITS, has_tool_calls=True)
    assert verdict == Continue(text=CALL_CUT, state=Recovery(continuations=1))
    assert CALL_CUT.startswith(MARK)
    last = Recovery(continuations=3)
    assert after_max_tokens(last, LIMITS, has_tool_calls=True) == GiveUp()


@pytest.mark.parametrize(("max_tokens", "kind"), [(16_383, Escalate), (16_384, Continue), (32_000, Continue)])
def test_no_second_attempt_is_made_that_has_no_more_room(max_tokens: int, kind: type) -> None:
    verdict = after_max_tokens(Recovery(), LIMITS, has_tool_calls=False, max_tokens=max_tokens)
    assert isinstance(verdict, kind)


@given(st.integers(0, 5), st.lists(st.booleans(), max_size=30))
def test_recovery_ends_within_two_calls_for_each_turn(max_continuations: int, cut_calls: list[bool]) -> None:
    limits = RecoveryLimits(max_continuations=max_continuations)
    state, calls = Recovery(), 0
    for has_tool_calls in [*cut_calls, *[False] * 20]:
        calls += 1
        verdict = after_max_tokens(state, limits, has_tool_calls=has_tool_calls)
        if isinstance(verdict, GiveUp):
            break
        state = verdict.state
    assert calls <= 2 * (max_continuations + 1)
