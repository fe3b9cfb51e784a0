"""One request on its way along its chain of routes: who is asked next, and what becomes of a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import Struct

from caliban_model_router.attempt import Attempt
from caliban_model_router.breaker import Ticket
from caliban_model_router.errors import Failure, FallbackExhausted, NoRouteFits, RoutesResting
from caliban_model_router.health import Health
from caliban_model_router.route import Route
from caliban_model_router.switch import Outcome
from caliban_provider.errors import (
    BadResponse,
    BeyondRate,
    ContextTooLong,
    ModelUnavailable,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamIdle,
    StreamInterrupted,
)
from caliban_provider.stream import StreamEvent

FALLS_BACK = (
    ModelUnavailable,
    ContextTooLong,
    RateLimited,
    Overloaded,
    ServerError,
    NetworkError,
    StreamInterrupted,
    StreamIdle,
    BadResponse,
)
"""What another route may answer, before content: a closed list (behaviours 2.12)."""

BREAKS = (Overloaded, RateLimited, ServerError, NetworkError, StreamInterrupted, StreamIdle)
"""What another route may answer although a reader has seen content, which it takes back (docs/adr/0010)."""


class Ports(Struct, frozen=True, kw_only=True):
    """What a dispatch asks of its surroundings.

    `make` prepares the call of a route; `window` is how many tokens its model takes, if known. `turn_to` is
    told the route that will answer or is asked next, why, and in which category; `ended` how each
    attempt ended.
    """

    make: Callable[[Route, Ticket], Attempt]
    window: Callable[[Route], int | None]
    turn_to: Callable[[Route, str, str], None]
    ended: Callable[[Attempt, Outcome], None]


class RouteAttempts:
    """The way of one request. `chain` is not empty; `health` knows every route of it."""

    def __init__(self, chain: tuple[Route, ...], health: Callable[[Route], Health], ports: Ports) -> None:
        self._left = sorted(chain, key=lambda route: health(route).is_resting)
        self._is_only = len(chain) == 1
        self._chain = chain
        self._health = health
        self._ports = ports
        self._failures: list[Failure] = []
        self._answering: Attempt | None = None

    def first(self) -> Attempt:
        """The call of the first route that may be asked. Raises `RoutesResting` where none may."""
        attempt = self.next()
        if attempt is not None:
            self._ports.turn_to(attempt.route, "", "")
            return attempt
        wait_s = min(self._health(route).wait_s for route in self._chain)
        raise RoutesResting(
            f"no route may be asked for another {wait_s:.1f} s: "
            + "; ".join(f"{route.id} is {self._health(route)}" for route in self._chain),
            retry_after_s=max(wait_s, 0.05),
            hint="another route for this purpose would bridge this",
        ).with_remedy("other_route")

    def next(self) -> Attempt | None:
        """The call of the next route that may be asked; `None` where none is left."""
        while self._left:
            route = self._left.pop(0)
            ticket = self._health(route).admit()
            if ticket is not None:
                attempt = self._ports.make(route, ticket)
                attempt.must_answer = not self._is_only
                return attempt
        return None

    def following(self, attempt: Attempt, error: ProviderError) -> Attempt:
        """The call to make after `attempt` failed before content. Raises what ends the request."""
        self.failed(attempt, error)
        if not self.may_fall_back(error):
            raise error
        if isinstance(error, ContextTooLong) and not isinstance(error, BeyondRate):
            self._left = [route for route in self._left if self._is_wider(route, attempt.route)]
        following = self.next()
        if following is None:
            raise self.exhausted() from error
        self._ports.turn_to(following.route, error.message, error.category)
        return following

    def failed(self, attempt: Attempt, error: ProviderError) -> None:
        """Write down that `attempt` failed before content."""
        self._failures.append(Failure(route_id=attempt.route.id, error=error))
        self._report(attempt, error, shown=False)
        self._end(attempt, "failed")

    def may_fall_back(self, error: ProviderError) -> bool:
        """Whether another route may answer what failed with `error` before content."""
        return isinstance(error, FALLS_BACK)

    def turned(self, attempt: Attempt, error: ProviderError) -> None:
        """Write down that `attempt`, which runs already, takes the place of one that failed with `error`."""
        self._ports.turn_to(attempt.route, error.message, error.category)

    def exhausted(self) -> ProviderError:
        """What all failures together mean; the only route's error is its own."""
        failures = tuple(self._failures)
        if self._is_only:
            return failures[0].error
        if any(isinstance(failure.error, ContextTooLong) for failure in failures):
            return NoRouteFits(failures)
        return FallbackExhausted(failures)

    def began(self, attempt: Attempt, reason: str = "", category: str = "") -> None:
        """Write down that `attempt` has content, and so is the one that answers."""
        self._answering = attempt
        attempt.ticket = self._health(attempt.route).succeeded(attempt.ticket)
        self._ports.turn_to(attempt.route, reason, category)

    def broke(self, attempt: Attempt, error: ProviderError) -> ProviderError:
        """What to tell the reader of `attempt`, which failed with `error` after content.

        Where another route can take over, the reader need not wait for this one.
        """
        self._report(attempt, error, shown=True)
        self._end(attempt, "broken")
        others = (route for route in self._chain if route is not attempt.route)
        if not isinstance(error, BREAKS) or not any(self._health(route).wait_s == 0 for route in others):
            return error
        return _without_wait(error)

    def completed(self, attempt: Attempt) -> None:
        """Write down that `attempt` was read to its end."""
        self._end(attempt, "answered")

    def close(self, attempt: Attempt) -> None:
        """Write down that `attempt` is over, unless that was done: nobody waits for it any more."""
        if attempt.outcome is None:
            self._health(attempt.route).abandoned(attempt.ticket)
            outcome: Outcome = "left" if attempt is self._answering else "lost"
            self._end(attempt, "answered" if attempt.is_complete else outcome)

    def _is_wider(self, route: Route, than: Route) -> bool:
        """Whether `route` may take a prompt that was too long for the route `than`."""
        window, narrow = self._ports.window(route), self._ports.window(than)
        return window is None or narrow is None or window > narrow

    def _report(self, attempt: Attempt, error: ProviderError, *, shown: bool) -> None:
        health = self._health(attempt.route)
        if isinstance(error, FALLS_BACK):
            health.failed(attempt.ticket, error, shown=shown)
        else:
            health.abandoned(attempt.ticket)

    def _end(self, attempt: Attempt, outcome: Outcome) -> None:
        if attempt.outcome is None:
            attempt.outcome = outcome
            self._ports.ended(attempt, outcome)


def _without_wait(error: ProviderError) -> ProviderError:
    """The same error, for a reader who will be answered by another route."""
    kind = type(error)
    again = kind.__new__(kind, *error.args)
    again.__dict__.update(error.__dict__, retryable=True, retry_after_s=None)
    return again


class Reading:
    """The stream of the attempt that answers, as its reader gets it."""

    def __init__(self, events: AsyncIterator[StreamEvent], attempt: Attempt, dispatch: RouteAttempts) -> None:
        self._events = events
        self._attempt = attempt
        self._dispatch = dispatch

    def __aiter__(self) -> Reading:
        return self

    async def __anext__(self) -> StreamEvent:
        try:
            return await self._events.__anext__()
        except StopAsyncIteration:
            self._dispatch.completed(self._attempt)
            raise
        except ProviderError as error:
            error_to_raise = self._dispatch.broke(self._attempt, error)
            if error_to_raise is error:
                raise
            raise error_to_raise from error


@asynccontextmanager
async def in_turn(dispatch: RouteAttempts) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """The reply of the first route that gives one, asked one after the other."""
    attempt = dispatch.first()
    while True:
        async with AsyncExitStack() as stack:
            stack.callback(dispatch.close, attempt)
            try:
                await stack.enter_async_context(attempt.open())
            except ProviderError as error:
                attempt = dispatch.following(attempt, error)
                continue
            dispatch.began(attempt)
            yield Reading(attempt, attempt, dispatch)
            return
