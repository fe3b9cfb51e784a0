"""How a route is doing: its breaker, the wait it was told, and the rest it takes after a failure."""

from __future__ import annotations

from collections.abc import Callable

from caliban_model_router import breaker
from caliban_model_router.breaker import BreakerLimits, Closed, HalfOpen, Open, Ticket
from caliban_model_router.route import REST_S, Route
from caliban_provider.errors import ContextTooLong, ProviderError

MAX_TOLD_S = 3600.0
"""A provider that asks for a longer wait is asked again after this much."""

PROBE_S = 1.0
"""How soon to look again while a probe is under way."""


class Health:
    """The memory of one route, for all its callers. `clock` gives seconds that never go back.

    A wait that the provider named is kept; a rest only puts the route behind the others.
    """

    def __init__(self, route: Route, clock: Callable[[], float]) -> None:
        self._limits = route.breaker or BreakerLimits()
        self._has_breaker = route.breaker is not None
        self._rest_s = route.rest_s
        self._long_rest_s = max(route.rest_s, route.breaker.cooldown_s if route.breaker else REST_S)
        self._clock = clock
        self._state: Closed | Open | HalfOpen = Closed()
        self._told_until_s = self._rests_until_s = float("-inf")

    @property
    def is_resting(self) -> bool:
        """Whether another route should be asked first."""
        return self._clock() < self._rests_until_s

    @property
    def wait_s(self) -> float:
        """Seconds until the route may be asked at all; 0 is now."""
        now_s = self._clock()
        until_s = self._told_until_s
        if isinstance(self._state, Open):
            until_s = max(until_s, self._state.until_s)
        elif isinstance(self._state, HalfOpen) and breaker.admit(self._state, self._limits, now_s)[1] is None:
            until_s = max(until_s, now_s + PROBE_S)
        return max(0.0, until_s - now_s)

    def admit(self) -> Ticket | None:
        """The leave to ask the route once; `None` while it must not be asked."""
        if self._clock() < self._told_until_s:
            return None
        self._state, ticket = breaker.admit(self._state, self._limits, self._clock())
        return ticket

    def succeeded(self, ticket: Ticket) -> Ticket:
        """The call has content. The ticket that comes back is for reporting how the reply goes on."""
        self._state = breaker.succeeded(self._state, ticket, self._limits)
        return Ticket(generation=self._state.generation)

    def failed(self, ticket: Ticket, error: ProviderError, *, shown: bool) -> None:
        """The call failed for a reason that another route may not have; `shown` is after content.

        A reply that broke after content is asked for again by whoever reads it: the route then rests in any
        case, so that the next one gets its turn. A prompt that is too long says nothing about the route.
        """
        if isinstance(error, ContextTooLong):
            self.abandoned(ticket)
            return
        now_s = self._clock()
        if self._has_breaker:
            self._state = breaker.failed(self._state, ticket, self._limits, now_s)
        self._rests_until_s = now_s + (self._long_rest_s if shown else self._rest_s)
        if error.retry_after_s:
            self._told_until_s = now_s + min(error.retry_after_s, MAX_TOLD_S)

    def abandoned(self, ticket: Ticket) -> None:
        """The call ended without a verdict on the route."""
        self._state = breaker.abandoned(self._state, ticket)

    def __str__(self) -> str:
        now_s = self._clock()
        match self._state:
            case Open(until_s=until_s) if now_s < until_s:
                text = f"open for {until_s - now_s:.0f} s"
            case Open() | HalfOpen():
                text = "half-open"
            case _:
                text = "closed" if self._has_breaker else "no breaker"
        if now_s < self._told_until_s:
            return f"{text}, told to wait {self._told_until_s - now_s:.0f} s"
        return f"{text}, resting {self._rests_until_s - now_s:.0f} s" if self.is_resting else text
