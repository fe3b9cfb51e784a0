"""Keeps a conversation up: connects, shakes hands, starts again what has ended, and closes in order."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct
from msgspec.structs import replace

from caliban_mcp_client.errors import ConnectError, ServerGone
from caliban_mcp_client.groups import PlainGroup
from caliban_mcp_client.handshake import Anew, Handshake, Outcome
from caliban_mcp_client.lazyevent import LazyEvent
from caliban_mcp_client.link import Link, LinkParts
from caliban_mcp_client.parts import ClientParts
from caliban_mcp_client.target import (
    LEGACY,
    HostedTarget,
    HttpKind,
    HttpTarget,
    ServerOptions,
    StdioTarget,
    Target,
    Verdict,
)
from caliban_mcp_client.values import ServerInfo, ServerLost, ServerRestarted

if TYPE_CHECKING:
    from caliban_mcp_client.ports import Carrier
    from caliban_mcp_client.subscription import Subscription

_MINUTE_S: Final = 60.0
_MOST_ROUNDS: Final = 4
OLD: Final = Verdict(era="legacy", protocol_version=LEGACY[-1], kind="sse")
_OUTDATED: Final = ("not_mcp", "version", "unreachable", "exited")
_CLOSED: Final = "the conversation was closed"


class _Open(Struct, frozen=True, kw_only=True):
    """A carrier, the tasks of what goes on beside the conversation, and what its other end has said."""

    carrier: Carrier
    tasks: TaskGroup
    said: Callable[[], str]
    ended: Callable[[], str] = str


class Keeper:
    """The owner of one server's connection: `run` is one task, and everybody else asks for the `link`."""

    def __init__(self, target: Target, parts: ClientParts, link_parts: LinkParts) -> None:
        self._target = target
        self._parts = parts
        self._link_parts = link_parts
        self._options: ServerOptions = link_parts.options
        self._link: Link | None = None
        self._ready = LazyEvent()
        self._gone = ""
        self._is_closing = False
        self._restarts: deque[float] = deque()
        self._verdict = parts.verdict
        self._has_forgotten = False
        self._start: anyio.CancelScope | None = None
        self._said: Callable[[], str] = str
        self._refused = ""
        self._subscription: Subscription | None = None
        self.info: ServerInfo | None = None

    @property
    def subscription(self) -> Subscription:
        """What is followed, from the first time on that somebody asks."""
        if self._subscription is None:
            from caliban_mcp_client.subscription import Subscription

            self._subscription = Subscription(self._link_parts.options, self._link_parts.changes)
        return self._subscription

    @property
    def verdict(self) -> Verdict | None:
        return self._verdict

    async def run(self, *, task_status: TaskStatus[ServerInfo]) -> None:
        """Keep the conversation up until `close`, or until the server is given up. Raises `ConnectError`."""
        try:
            while not self._is_closing:
                try:
                    reason = await self._once(task_status)
                except ConnectError as error:
                    if not self._forgets(error):
                        raise
                    continue
                if not self._is_closing and not self._may_restart():
                    self._gone = f"the server ended again and again, the last time because {reason}"
                    break
        except ConnectError as error:
            self._gone = error.message
            if self.info is None:
                raise
        finally:
            self._gone = self._gone or _CLOSED
            if not self._is_closing and self.info is not None:
                self._link_parts.changes.put(ServerLost(reason=self._gone))
            self._link_parts.changes.close()
            self._link = None
            self._ready.set()

    def close(self) -> None:
        """Let `run` end in order; a connection that is not there yet is given up."""
        self._is_closing = True
        if self._link is None and self._start is not None:
            self._start.cancel()
        if self._link is not None:
            self._link.end(_CLOSED)

    @property
    def said(self) -> str:
        return self._said()

    async def link(self) -> Link:
        """The conversation, waited for while the server starts again. Raises `ServerGone`."""
        while not self._gone:
            if self._link is not None and not self._link.ended.is_set():
                return self._link
            if self._is_closing:
                break
            await self._ready.wait()
            await anyio.lowlevel.checkpoint()  # it may have ended since
        raise ServerGone(self._gone or _CLOSED)

    async def _once(self, task_status: TaskStatus[ServerInfo]) -> str:
        """One connection from its beginning to its end, and why it ended."""
        with anyio.CancelScope() as start:
            self._start = start
            start.deadline = anyio.current_time() + self._options.start_timeout_s
            for _ in range(_MOST_ROUNDS):
                reason = await self._connection(start, task_status)
                if reason is not None:
                    return reason
        if self._is_closing:
            if self.info is None:
                raise ConnectError("refused", _CLOSED)
            return _CLOSED
        error = ConnectError(
            "timed_out",
            f"the server was not ready in {self._options.start_timeout_s:g} s",
            hint="start_timeout_s in its entry gives it more time",
            stderr=self._said(),
        )
        error.problems = self._link_parts.oddities.lines()
        raise error

    async def _connection(self, start: anyio.CancelScope, task_status: TaskStatus[ServerInfo]) -> str | None:
        """Connect and stay; `None` where it has to be tried in another way."""
        link = Link(self._link_parts)
        ended: Callable[[], str] = str
        try:
            async with self._opened(link) as opened:
                self._said, ended = opened.said, opened.ended
                link.start(opened.carrier, opened.tasks)
                try:
                    outcome = await self._conversation(link, start, task_status)
                finally:
                    link.leave(_CLOSED)
                    if self._ready.is_set():  # else somebody waits for it, whatever becomes of this attempt
                        self._ready = LazyEvent()
        except ConnectError as error:
            raise self._told(error, ended()) from error
        return None if isinstance(outcome, Anew) else link.reason

    def _told(self, error: ConnectError, ended: str) -> ConnectError:
        """`error` with all that is known of how it came about."""
        if self._refused and error.kind == "unreachable":
            words = f"nothing at this address speaks the protocol: {self._refused}; {error.message}"
            error.message, error.hint = words, "look at the path of its url: many end in /mcp, or in /sse"
        elif ended and error.kind == "exited":
            error.message = f"{error.message} ({ended})"
        error.stderr = self._said()
        error.problems = self._link_parts.oddities.lines()
        return error

    async def _conversation(
        self, link: Link, start: anyio.CancelScope, task_status: TaskStatus[ServerInfo]
    ) -> Outcome:
        """Shake hands, and stay until the conversation has ended."""
        verdict = OLD if self._is_old() else self._verdict
        outcome = await Handshake(link, self._options, verdict, may_be_old=self._may_be_old()).run()
        if isinstance(outcome, Anew):
            self._verdict, self._refused = outcome.verdict, outcome.why
            return outcome
        start.deadline = float("inf")
        self._begin(link, outcome, task_status)
        if self._has_work(link) and self.subscription.has_work(link):
            link.spawn(self.subscription.follow, link, outcome)
        if self._is_closing:
            link.end(_CLOSED)
        await link.ended.wait()
        return outcome

    def _begin(self, link: Link, info: ServerInfo, task_status: TaskStatus[ServerInfo]) -> None:
        is_first, self.info = self.info is None, info
        kind: HttpKind = "sse" if self._is_old() else "auto"
        self._verdict = Verdict(era=info.era, protocol_version=info.protocol_version, kind=kind)
        self._link = link
        self._ready.set()
        if is_first:
            task_status.started(info)
        else:
            self._link_parts.changes.put(ServerRestarted())

    def _has_work(self, link: Link) -> bool:
        """Whether there may be something to follow: most legacy servers are never asked for it."""
        return link.is_modern or self._subscription is not None or self._options.log_level is not None

    def _forgets(self, error: ConnectError) -> bool:
        """Drop a verdict of before that the server does not live up to, so that it is asked anew; once."""
        is_old_word = self._parts.verdict is not None and self.info is None and not self._has_forgotten
        if not is_old_word or self._is_closing or error.kind not in _OUTDATED:
            return False
        self._verdict, self._has_forgotten = None, True
        return True

    def _may_restart(self) -> bool:
        """Whether it may be started once more; counts that it is."""
        now = anyio.current_time()
        while self._restarts and self._restarts[0] <= now - _MINUTE_S:
            self._restarts.popleft()
        self._restarts.append(now)
        return len(self._restarts) <= self._options.max_restarts_per_minute

    def _may_be_old(self) -> bool:
        target = self._target
        return isinstance(target, HttpTarget) and target.kind == "auto" and not self._is_old()

    def _is_old(self) -> bool:
        """Whether the address is spoken to in the older way over HTTP, which only legacy servers have."""
        target, verdict = self._target, self._verdict
        if not isinstance(target, HttpTarget) or target.kind == "http":
            return False
        return target.kind == "sse" or (verdict is not None and verdict.kind == "sse")

    @asynccontextmanager
    async def _opened(self, link: Link) -> AsyncIterator[_Open]:
        """A carrier of the kind that the target has. Raises `ConnectError`."""
        match self._target:
            case StdioTarget():
                if self._parts.runner is None:
                    raise ConnectError(
                        "refused",
                        "programs are not started here",
                        hint="hand in a runner: ClientParts(runner=)",
                    )
                from caliban_mcp_client.stdio import opened_program

                async with PlainGroup() as tasks:
                    parts = self._parts.runner, link, tasks
                    async with opened_program(self._target, self._options, parts) as program:
                        yield _Open(
                            carrier=program.carrier,
                            tasks=tasks,
                            said=lambda: program.said,
                            ended=lambda: program.ended,
                        )
                    if link.has_spawned:  # what attends the program ends with it
                        tasks.cancel_scope.cancel()
            case HttpTarget():
                if self._parts.http is None:
                    raise ConnectError(
                        "refused", "addresses are not asked here", hint="hand in a client: ClientParts(http=)"
                    )
                from caliban_mcp_client.address import opened_address

                target = replace(self._target, kind="sse" if self._is_old() else "http")
                client, authorization = self._parts.http(), self._parts.authorization
                opened = opened_address(target, self._options, client, authorization, link)
                async with opened as carrier, PlainGroup() as tasks:
                    yield _Open(carrier=carrier, tasks=tasks, said=str)
                    tasks.cancel_scope.cancel()
            case HostedTarget():
                if self._parts.host is None:
                    raise ConnectError("refused", "there is no host that servers could live in")
                from caliban_mcp_client.hosted import opened_host

                async with opened_host(self._parts.host, link) as hosted, PlainGroup() as tasks:
                    yield _Open(carrier=hosted, tasks=tasks, said=str)
                    tasks.cancel_scope.cancel()
            case _:
                raise ConnectError(
                    "refused",
                    "servers over WebSocket are not spoken to: no version of the protocol has that transport",
                    hint="ask the server's owner for an address of the Streamable HTTP transport",
                )
