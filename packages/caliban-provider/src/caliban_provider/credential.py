"""Credentials that pass: fetched when first needed, renewed while replies run, and again when refused.

What the transports of clouds need, and keys that a program hands out.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

import anyio
from msgspec import Struct

from caliban_common.secret import masked_repr
from caliban_provider.errors import AuthenticationError, InvalidRequest, ProviderError

T = TypeVar("T")
R = TypeVar("R")

EVERY_S = 300.0
"""How old credentials get before they are looked for anew, when nobody says."""

FETCH_S = 60.0
"""How long a fetch may take."""

LEAST_S = 30.0
"""What credentials must have left to begin an exchange with them, when nobody says."""

_RETRY_S = 30.0
_SOON_S = 600.0
_DURATION = r"(\d{1,9}(?:\.\d+)?)\s*(ms|s|m|h|)"
_UNITS_S = MappingProxyType({"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0})


class Credential(Struct, Generic[T], frozen=True, kw_only=True):
    """Credentials and when they pass, in seconds since the epoch; `None` is not known."""

    value: T
    expires_at_s: float | None = None

    def __repr__(self) -> str:
        return masked_repr(self, "value")


Fetch: TypeAlias = Callable[[bool], Awaitable[Credential[T]]]
"""Gets credentials; told whether those at hand were refused. Raises `ProviderError`."""


class CredentialCache(Generic[T]):
    """Keeps credentials; any number of tasks of one event loop may use them.

    Those that are older than `every_s` seconds, or pass within ten minutes, are renewed beside the next
    exchange; zero leaves them alone until they have passed. With less than `least_s` seconds left they count
    as passed. A failed renewal is tried again later, ever more seldom, while those at hand last. `clock`
    gives seconds since the epoch.
    """

    def __init__(
        self,
        fetch: Fetch[T],
        *,
        every_s: float = EVERY_S,
        least_s: float = LEAST_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fetch = fetch
        self._every_s = every_s
        self._least_s = least_s
        self._clock = clock
        self._held: Credential[T] | None = None
        self._fetched_at_s = 0.0
        self._try_at_s = 0.0
        self._failures = 0
        self._lock = anyio.Lock()

    @property
    def value(self) -> T | None:
        """The credentials at hand."""
        return None if self._held is None else self._held.value

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Around one exchange: entering waits for credentials that last. Raises `ProviderError`."""
        await self.ready()
        if not self._is_due():
            yield
            return
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._renew_beside)
                yield
                group.cancel_scope.cancel()
        except BaseExceptionGroup as errors:
            # The exchange's own error arrives wrapped by the task group; hand it on as it was raised.
            if len(errors.exceptions) == 1:
                raise errors.exceptions[0] from None
            raise

    async def ready(self) -> None:
        """Wait for credentials that last. Raises `ProviderError`."""
        if not self._lasts():
            async with self._lock:
                if not self._lasts():
                    await self._get(refused=False)

    async def ask(self, request: Callable[[], Awaitable[R]]) -> R:
        """What `request` gives; once more where the credentials were refused and there are others.

        The one rung of docs/adr/0010 that asks again after a 401 or 403. Raises `ProviderError`.
        """
        used = self.value
        try:
            return await request()
        except AuthenticationError:
            # Somebody else's request may have been refused before, and have renewed them by now.
            if self.value == used and not await self.renew():
                raise
        return await request()

    async def renew(self) -> bool:
        """Fetch anew after a refusal; whether the credentials are others. Raises `ProviderError`."""
        refused = self._held
        async with self._lock:
            if self._held is refused:
                await self._get(refused=True)
        return refused is None or self.value != refused.value

    async def _renew_beside(self) -> None:
        had = self._held
        try:
            async with self._lock:
                if self._held is had:
                    await self._get(refused=False)
        except ProviderError:
            # Those at hand still last; when they have passed, the same error reaches the caller.
            self._failures += 1
            wait_s = min(self._every_s, _RETRY_S * 2.0 ** min(self._failures, 10))
            self._try_at_s = self._clock() + wait_s

    async def _get(self, *, refused: bool) -> None:
        with anyio.move_on_after(FETCH_S) as scope:
            self._held = await self._fetch(refused)
        if scope.cancelled_caught:
            raise AuthenticationError(
                f"no credentials came within {FETCH_S:g} s",
                hint="check the profile or the service that gives them out",
            )
        self._failures = 0
        self._fetched_at_s = self._clock()
        self._try_at_s = self._fetched_at_s + min(_RETRY_S, self._every_s)

    def _left_s(self) -> float:
        """How long they last; negative when there is none."""
        if self._held is None:
            return -1.0
        passes = self._held.expires_at_s
        return float("inf") if passes is None else passes - self._clock()

    def _lasts(self) -> bool:
        return self._left_s() > self._least_s

    def _is_due(self) -> bool:
        now = self._clock()
        if self._every_s <= 0 or now < self._try_at_s or self._lock.locked():
            return False
        return now - self._fetched_at_s >= self._every_s or self._left_s() < _SOON_S


def duration_s(text: str) -> float:
    """The seconds that `90`, `90s`, `5m` or `1h` says. Raises `InvalidRequest`."""
    parts = re.fullmatch(_DURATION, text.strip())
    if parts is None:
        raise InvalidRequest(
            f"{text[:40]!r} is not a duration", hint="write a number of seconds, or `90s`, `5m`, `1h`"
        )
    return float(parts[1]) * _UNITS_S[parts[2]]
