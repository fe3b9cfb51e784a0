from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.errors import (
    AuthenticationError,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.retry import NO_RETRIES, RetryPolicy

POLICY = RetryPolicy()


def waits(
    errors: list[ProviderError], *, policy: RetryPolicy = POLICY, rand: float = 0.0
) -> list[float | None]:
    """The waits that a caller makes for one call that fails like this, up to giving up."""
    made: list[float | None] = []
    named = 0
    for attempt, error in enumerate(errors, start=1):
        made.append(policy.delay(attempt, error, rand, told=named))
        if made[-1] is None:
            break
        named += error.retry_after_s is not None
    return made


def test_a_plain_failure_gets_three_attempts() -> None:
    assert waits([ServerError("x")] * 5) == [0.25, 0.5, None]


def test_guessed_waits_double_up_to_the_longest() -> None:
    policy = RetryPolicy(max_retries=9)
    almost = 1.0
    assert waits([Overloaded("x")] * 9, policy=policy, rand=almost) == [
        0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0,
    ]  # fmt: skip


def test_five_told_waits_in_a_row_are_waited_for_in_full() -> None:
    errors = [RateLimited("x", retry_after_s=wait_s) for wait_s in (3.0, 2.5, 0.7, 3.0, 3.0)]
    assert waits([*errors]) == [3.0, 2.5, 0.7, 3.0, 3.0]


def test_told_waits_do_not_use_up_the_guessed_ones() -> None:
    wait = RateLimited("x", retry_after_s=1.0)
    assert waits([wait, wait, ServerError("y"), wait, ServerError("y"), ServerError("y")]) == [
        1.0, 1.0, 0.25, 1.0, 0.5, None,
    ]  # fmt: skip


def test_even_told_waits_end() -> None:
    assert waits([RateLimited("x", retry_after_s=1.0)] * 20) == [1.0] * 10 + [None]


@pytest.mark.parametrize("wait_s", [60.1, 86400.0, float("inf")])
def test_an_absurd_told_wait_is_given_up_at_once(wait_s: float) -> None:
    assert POLICY.delay(1, RateLimited("x", retry_after_s=wait_s), 0.5) is None


@pytest.mark.parametrize("wait_s", [0.0, -5.0, float("nan"), None])
def test_a_told_wait_that_is_none_is_guessed(wait_s: float | None) -> None:
    assert POLICY.delay(1, RateLimited("x", retry_after_s=wait_s), 0.0) == 0.25


def test_what_cannot_succeed_later_is_not_retried() -> None:
    assert POLICY.delay(1, AuthenticationError("x", retry_after_s=1.0), 0.5) is None


def test_a_server_may_say_otherwise() -> None:
    stubborn, hopeful = ServerError("x"), AuthenticationError("x")
    stubborn.retryable, hopeful.retryable = False, True
    assert (POLICY.delay(1, stubborn, 0.0), POLICY.delay(1, hopeful, 0.0)) == (None, 0.25)
    assert ServerError("y").retryable and not AuthenticationError("y").retryable


def test_no_retries_means_none() -> None:
    assert NO_RETRIES.delay(1, StreamInterrupted("x"), 0.5) is None
    assert NO_RETRIES.delay(1, RateLimited("x", retry_after_s=1.0), 0.5) is None


@given(
    attempt=st.integers(1, 10_000),
    told=st.integers(0, 10_000),
    rand=st.floats(0, 1, exclude_max=True),
    wait_s=st.none() | st.floats(allow_nan=True, allow_infinity=True),
    retries=st.integers(0, 20_000),
)
def test_a_wait_is_never_shorter_than_told_nor_longer_than_the_limits(
    attempt: int, told: int, rand: float, wait_s: float | None, retries: int
) -> None:
    policy = RetryPolicy(max_retries=retries)
    delay_s = policy.delay(attempt, RateLimited("x", retry_after_s=wait_s), rand, told=min(told, attempt - 1))
    if delay_s is None:
        return
    if wait_s is not None and wait_s > 0:
        assert wait_s <= delay_s <= policy.max_told_s + policy.first_delay_s
    else:
        assert policy.first_delay_s / 2 <= delay_s <= policy.max_delay_s


def test_no_attempt_is_counted_beyond_those_that_are_allowed() -> None:
    policy = RetryPolicy()
    busy, wait = Overloaded("x"), RateLimited("x", retry_after_s=1.0)
    shown, named = [], 0
    for attempt, error in enumerate([busy, wait, wait, wait, busy], start=1):
        named += error is wait
        shown.append((attempt, policy.allowed(attempt, error, told=named)))
    assert shown == [(1, 2), (2, 11), (3, 11), (4, 11), (5, 5)]
