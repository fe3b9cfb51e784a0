"""A circuit breaker as a pure state machine: state and time in, state and verdict out.

    Closed ──enough failures in the window──▶ Open ──cool-down over──▶ HalfOpen ──probes pass──▶ Closed
                                               ▲                          │
                                               └──────a probe fails───────┘

Each change of state begins a new generation. A ticket belongs to the generation that gave it out, and what
is reported on a ticket of an earlier one changes nothing: a late success cannot close an open breaker.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace


class BreakerLimits(Struct, frozen=True, kw_only=True):
    """When a breaker opens and how it closes.

    `failure_threshold` ≥ 1 failures within `window_s` open it for `cooldown_s` ≥ 1. Then `half_open_probes`
    ≥ 1 calls are let through, no more at once, and all must pass.
    """

    failure_threshold: int = 5
    window_s: float = 60.0
    cooldown_s: float = 30.0
    half_open_probes: int = 1


class Closed(Struct, frozen=True, kw_only=True):
    """Calls pass. `failures_s` are the times of the recent failures, oldest first."""

    generation: int = 0
    failures_s: tuple[float, ...] = ()


class Open(Struct, frozen=True, kw_only=True):
    """No call passes before `until_s`."""

    generation: int
    until_s: float


class HalfOpen(Struct, frozen=True, kw_only=True):
    """Probes pass: `probing` are under way, `passed` have succeeded."""

    generation: int
    probing: int = 0
    passed: int = 0


BreakerState: TypeAlias = Closed | Open | HalfOpen


class Ticket(Struct, frozen=True, kw_only=True):
    """The leave to make one call: its outcome is reported with it."""

    generation: int


def admit(state: BreakerState, limits: BreakerLimits, now_s: float) -> tuple[BreakerState, Ticket | None]:
    """A ticket, or `None` where no call may be made now."""
    match state:
        case Closed():
            return state, Ticket(generation=state.generation)
        case Open():
            if now_s < state.until_s:
                return state, None
            return admit(HalfOpen(generation=state.generation + 1), limits, now_s)
        case HalfOpen():
            if state.probing + state.passed >= limits.half_open_probes:
                return state, None
            return replace(state, probing=state.probing + 1), Ticket(generation=state.generation)
        case _:
            assert_never(state)


def succeeded(state: BreakerState, ticket: Ticket, limits: BreakerLimits) -> BreakerState:
    """The state after the call of `ticket` was answered."""
    if not isinstance(state, HalfOpen) or ticket.generation != state.generation:
        return state
    if state.passed + 1 >= limits.half_open_probes:
        return Closed(generation=state.generation + 1)
    return replace(state, probing=state.probing - 1, passed=state.passed + 1)


def failed(state: BreakerState, ticket: Ticket, limits: BreakerLimits, now_s: float) -> BreakerState:
    """The state after the call of `ticket` failed at `now_s`."""
    if ticket.generation != state.generation:
        return state
    match state:
        case Closed():
            recent = (*(time for time in state.failures_s if now_s - time < limits.window_s), now_s)
            if len(recent) < limits.failure_threshold:
                return replace(state, failures_s=recent)
            return Open(generation=state.generation + 1, until_s=now_s + limits.cooldown_s)
        case HalfOpen():
            return Open(generation=state.generation + 1, until_s=now_s + limits.cooldown_s)
        case Open():
            return state
        case _:
            assert_never(state)


def abandoned(state: BreakerState, ticket: Ticket) -> BreakerState:
    """The state after the call of `ticket` ended without a verdict on the route: its probe is free again."""
    if isinstance(state, HalfOpen) and ticket.generation == state.generation:
        return replace(state, probing=state.probing - 1)
    return state
