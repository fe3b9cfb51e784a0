"""The calls that wait for an answer: which is whose, how long each waits, what ends all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import anyio

from caliban_mcp_client.errors import CallError, CallLost, CallRefused, McpError, ProtocolError
from caliban_mcp_client.frames import Frame, Scrap, matched_id
from caliban_mcp_client.lazyevent import LazyEvent
from caliban_mcp_client.values import CallUpdate

OnUpdate = Callable[[CallUpdate], None]


class Call:
    """One request under way. `result` is there, or `error` is, once `done` is set."""

    def __init__(self, number: int, method: str, idle_s: float, on_update: OnUpdate | None) -> None:
        self.number = number
        self.method = method
        self.done: LazyEvent = LazyEvent()
        self.result: Any = None
        self.error: McpError | None = None
        self.idle_s = idle_s
        self._on_update = on_update
        self._scope: anyio.CancelScope | None = None
        self._limit = float("inf")

    def finish(self, result: Any = None, error: McpError | None = None) -> bool:
        """Answer it; False where it was answered before."""
        if self.done.is_set():
            return False
        self.result, self.error = result, error
        self.done.set()
        return True

    def renew(self, update: CallUpdate) -> None:
        """It has come further: its time begins anew, up to the limit of the whole."""
        if self._scope is not None:
            self._scope.deadline = min(self._limit, anyio.current_time() + self.idle_s)
        if self._on_update is not None:
            self._on_update(update)

    async def wait(self, limit_s: float) -> bool:
        """Wait for the answer; False where time ran out."""
        if limit_s == self.idle_s == math.inf:
            await self.done.wait()
            return True
        now = anyio.current_time()
        self._limit = now + limit_s
        with anyio.CancelScope(deadline=min(self._limit, now + self.idle_s)) as self._scope:
            await self.done.wait()
        return self.done.is_set()


class InFlight:
    """The table of calls. `say` is told of answers that nobody waits for."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._calls: dict[int, Call] = {}
        self._last = 0

    def begin(self, method: str, idle_s: float, on_update: OnUpdate | None = None) -> Call:
        """A call with the next number, from 1."""
        self._last += 1
        call = self._calls[self._last] = Call(self._last, method, idle_s, on_update)
        return call

    def drop(self, call: Call) -> None:
        """It waits no more: an answer that comes later is a stray one."""
        self._calls.pop(call.number, None)

    def get(self, number: object) -> Call | None:
        """The call that a number, a progress token or a subscription id means."""
        own = matched_id(number)
        return None if own is None else self._calls.get(own)

    def answer(self, frame: Frame) -> None:
        """Hand an answer to its call. An error without a number is that of the only call there is."""
        call = self.get(frame.get("id"))
        if call is None and frame.get("id") is None and "error" in frame and len(self._calls) == 1:
            call = next(iter(self._calls.values()))
        if call is None:
            self._say("an answer to a call that does not wait, or has its answer already")
            return
        error = frame.get("error")
        if error is None:
            is_first = call.finish(frame.get("result"))
        else:
            is_first = call.finish(error=refusal(call.method, error))
        if not is_first:
            self._say("a second answer to one call")

    def fail(self, scrap: Scrap) -> None:
        """Something that nobody can read has come in the place of an answer: no call may wait for it."""
        if not scrap.is_frame:
            return
        calls = [call for number in scrap.ids if (call := self._calls.get(number))]
        if not calls and not scrap.ids:
            calls = list(self._calls.values())
        for call in calls:
            call.finish(error=ProtocolError(f"{call.method}: the server answered with {scrap.why}"))

    def fail_all(self, words: str) -> None:
        """Nobody answers any more."""
        for call in list(self._calls.values()):
            call.finish(error=CallLost(f"{call.method}: {words}"))


def refusal(method: str, error: Any) -> CallError | ProtocolError:
    """The error of a frame as ours."""
    if not isinstance(error, dict):
        return ProtocolError(f"{method}: the server answered with an error that is no object")
    code = matched_id(error.get("code"))
    words = error.get("message")
    return CallRefused(
        method,
        0 if code is None else code,
        words[:2000] if isinstance(words, str) and words else "the server gave no reason",
        error.get("data"),
    )
