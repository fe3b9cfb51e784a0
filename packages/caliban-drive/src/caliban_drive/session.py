"""One conversation, for every face: a history, an agent that continues it, and a store that remembers it.

Recording is a fold over the run's events: a message is durable before the face that reads the events can show
it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from caliban_agent_core.agent import Agent
from caliban_agent_core.compact.summary import is_summary
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.run import Run
from caliban_common.errors import CalibanError
from caliban_common.event import AgentEvent, HistoryReplaced, MessageAdded, RunEnd, TurnEnd, Warned
from caliban_common.history import close_open_calls
from caliban_common.message import Message
from caliban_common.usage import Usage


class Store(Protocol):
    """What a session is remembered in. Each call is durable when it returns; it raises `CalibanError`."""

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """Remember that `message` follows; `usage` is what it cost."""
        ...

    def replace(self, messages: tuple[Message, ...]) -> None:
        """Remember that the history is now `messages`."""
        ...

    def add_usage(self, usage: Usage) -> None:
        """Remember what was spent."""
        ...

    def note(self, *, prefix: Mapping[str, str]) -> None:
        """Remember what prompts begin with, as digests by part."""
        ...

    def close(self) -> None:
        """Put everything in its final form and let go."""
        ...


class Session:
    """A conversation. `id` names it in frames; `messages` is the history, system messages first.

    `prefix` is what an earlier process noted of the beginning of its prompts. Without a `store` the session
    lives in memory. A store that fails is not written to again: `store_error` says why, the conversation
    goes on.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        id: str,
        messages: tuple[Message, ...] = (),
        store: Store | None = None,
        prefix: Mapping[str, str] | None = None,
    ) -> None:
        self.agent = agent
        self.id = id
        self.messages = messages
        self.store_error: CalibanError | None = None
        self._store = store
        self._untold: Warned | None = None
        self._watch = PrefixWatch(prefix)
        self._noted = self._watch.fingerprint
        closed = close_open_calls(messages)
        if len(closed) != len(messages):
            self.messages = closed
            self.record(MessageAdded(message=closed[-1], injected=True))

    def set_system(self, system: Message | None) -> None:
        """Put `system` in the place of the system prompt; `None` takes it away. Summaries stay."""
        rest = tuple(message for message in self.messages if message.role != "system" or is_summary(message))
        there = tuple(
            message.content
            for message in self.messages
            if message.role == "system" and not is_summary(message)
        )
        messages = (system, *rest) if system is not None else rest
        if there != (() if system is None else (system.content,)):
            self.messages = messages
            self.record(HistoryReplaced(messages=messages, reason="the system prompt changed"))

    def submit(self, prompt: Message) -> Submission:
        """Continue the conversation with `prompt`: enter the result with `async with`, one at a time."""
        self.messages = (*self.messages, prompt)
        failure = self.record(MessageAdded(message=prompt))
        return Submission(self, self.agent.run(self.messages, prefix=self._watch), failure)

    def record(self, event: AgentEvent) -> Warned | None:
        """Fold `event` into the store; the event to show when that failed for the first time."""
        match event:
            case MessageAdded():
                return self._write(lambda store: store.append(event.message))
            case HistoryReplaced():
                failure = self._write(lambda store: store.replace(event.messages))
                return failure or self._forget_prefix()
            case TurnEnd():
                return self._write(lambda store: store.add_usage(event.usage)) or self._note_prefix()
            case _:
                return None

    def record_rest(self, messages: tuple[Message, ...], recorded: Sequence[Message], usage: Usage) -> None:
        """Remember what no event told: the history is `messages`, of which `recorded` is remembered already.

        `usage` is what no turn that came to its end has cost. A failure is told by `close`.
        """
        known = len(recorded)
        if messages[:known] == tuple(recorded):
            failures = [self.record(MessageAdded(message=message)) for message in messages[known:]]
        else:
            failures = [self.record(HistoryReplaced(messages=messages, reason="nobody read the events"))]
        if usage != Usage():
            failures.append(self._write(lambda store: store.add_usage(usage)))
        self._untold = next((failure for failure in failures if failure is not None), None)

    def close(self) -> Warned | None:
        """Let go of the store; the event to show when the last write failed."""
        store, self._store = self._store, None
        if store is None:
            return None
        try:
            store.close()
        except CalibanError as error:
            return self._failed(error)
        return self._untold

    def _forget_prefix(self) -> Warned | None:
        """A rewritten history may begin otherwise: nothing is known of it until its first turn has ended."""
        self._noted = {}
        return self._write(lambda store: store.note(prefix={}))

    def _note_prefix(self) -> Warned | None:
        prefix = self._watch.fingerprint
        if prefix is self._noted:
            return None
        self._noted = prefix
        return self._write(lambda store: store.note(prefix=prefix))

    def _write(self, action: Callable[[Store], None]) -> Warned | None:
        if self._store is None or self.store_error is not None:
            return None
        try:
            action(self._store)
        except CalibanError as error:
            return self._failed(error)
        return None

    def _failed(self, error: CalibanError) -> Warned | None:
        if self.store_error is not None:
            return None
        self.store_error = error
        text = f"the session is not saved any more: {error.message}"
        return Warned(subtype="session_write_failed", message=text, details={"hint": error.hint or ""})


class Submission:
    """One prompt on its way to an answer; read `events` to the end, then look at `outcome`."""

    def __init__(self, session: Session, run: Run, failure: Warned | None) -> None:
        self._session = session
        self._run = run
        self._failure = failure
        self._recorded = list(session.messages)
        self._spent = Usage()

    @property
    def outcome(self) -> RunEnd:
        """How it ended; raises `RunNotFinished` before that."""
        return self._run.outcome

    @property
    def buffered(self) -> int:
        """How many events can be read without waiting."""
        return len(self._run.events)

    def cancel(self) -> None:
        """End it soon; the events still come to their end."""
        self._run.cancel()

    @property
    def events(self) -> AsyncIterator[AgentEvent]:
        """The run's events, each recorded before it is given."""
        return self._events()

    async def _events(self) -> AsyncIterator[AgentEvent]:
        if self._failure is not None:
            yield self._failure
        async for event in self._run.events:
            kind = type(event)
            if kind is MessageAdded or kind is HistoryReplaced or kind is TurnEnd:
                failure = self._record(event)
                if failure is not None:
                    yield failure
            yield event

    def _record(self, event: AgentEvent) -> Warned | None:
        match event:
            case MessageAdded():
                self._recorded.append(event.message)
            case HistoryReplaced():
                self._recorded = list(event.messages)
            case TurnEnd():
                self._spent += event.usage
            case _:
                pass
        return self._session.record(event)

    async def __aenter__(self) -> Submission:
        await self._run.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._run.__aexit__(kind, error, traceback)
        finally:
            outcome = self._run.outcome
            self._session.messages = outcome.messages
            self._session.record_rest(outcome.messages, self._recorded, outcome.usage - self._spent)
