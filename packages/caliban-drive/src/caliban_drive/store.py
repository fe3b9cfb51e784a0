"""What a session is remembered in, and the fold that writes it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, assert_never

import anyio
import anyio.to_thread

from caliban_agent_core.prefix import PrefixWatch
from caliban_common.errors import CalibanError
from caliban_common.event import (
    AgentEvent,
    ApiRetry,
    ApprovalAsked,
    ApprovalGiven,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    TaskChanged,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.message import Message, ToolResultBlock
from caliban_common.usage import Usage
from caliban_drive.notice import Notice
from caliban_drive.remedies import advice


class Store(Protocol):
    """What a session is remembered in; each call raises `CalibanError`.

    What a call has written outlives this process when it returns, and the system with the next `sync`.
    """

    @property
    def unsynced(self) -> bool:
        """Whether `sync` has something to wait for."""
        ...

    def sync(self) -> None:
        """Wait until the disk has everything. Called from a worker thread, beside the other calls."""
        ...

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """Remember that `message` follows; `usage` is what it cost."""
        ...

    def keep_result(self, result: ToolResultBlock) -> None:
        """Remember the result of a call of the last message, which a message with all of them will follow."""
        ...

    def replace(self, messages: tuple[Message, ...]) -> None:
        """Remember that the history is now `messages`."""
        ...

    def add_usage(self, usage: Usage) -> None:
        """Remember what was spent."""
        ...

    def note(
        self,
        *,
        prefix: Mapping[str, str] | None = None,
        todos: tuple[Mapping[str, Any], ...] | None = None,
        plan_mode: bool | None = None,
    ) -> None:
        """Remember what prompts begin with (digests by part), the list of tasks, whether plan mode is on."""
        ...

    def note_pending(self, ids: tuple[str, ...]) -> None:
        """Remember which calls of the last reply wait for a person."""
        ...

    def transcript(self) -> tuple[Message, ...] | None:
        """All that was said, what was summarised too, but system messages; `None` if some of it is lost."""
        ...

    def close(self) -> None:
        """Put everything in its final form and let go."""
        ...


class Recorder:
    """Folds events into a store. One that fails is not written to again: `error` says why, and a notice once.

    `watch` knows what prompts begin with.
    """

    def __init__(self, store: Store | None, watch: PrefixWatch) -> None:
        self.error: CalibanError | None = None
        self._store = store
        self._watch = watch
        self._noted = watch.fingerprint

    def record(self, event: AgentEvent) -> Notice | None:
        """Fold `event` in; what to tell a person when that failed for the first time."""
        match event:
            case MessageAdded():
                return self._write(lambda store: store.append(event.message))
            case HistoryReplaced():
                failure = self._write(lambda store: store.replace(event.messages))
                return failure or self._forget_prefix()
            case TurnEnd():
                return self._write(lambda store: store.add_usage(event.usage)) or self._note_prefix()
            case ToolCallEnd():
                if event.outcome == "interrupted":
                    return None
                return self._write(lambda store: store.keep_result(event.result))
            case ChildEvent():
                return self._record_child(event.event)
            case (
                TurnStart()
                | AssistantTextDelta()
                | AssistantThinkingDelta()
                | ToolCallStart()
                | ToolCallInputDelta()
                | ToolCallReady()
                | ApprovalAsked()
                | ApprovalGiven()
                | ToolProgress()
                | TaskChanged()
                | ReplyDiscarded()
                | ApiRetry()
                | Warned()
                | HookFired()
                | RunEnd()
            ):
                return None
            case _:
                assert_never(event)

    def _record_child(self, event: AgentEvent) -> Notice | None:
        """A child's messages are no part of this conversation; what it spends is."""
        if isinstance(event, ChildEvent):
            return self._record_child(event.event)
        if not isinstance(event, TurnEnd):
            return None
        usage = event.usage
        return self._write(lambda store: store.add_usage(usage))

    @property
    def unsynced(self) -> bool:
        """Whether `sync` has something to wait for."""
        return self._store is not None and self.error is None and self._store.unsynced

    async def sync(self) -> Notice | None:
        """Wait until the store has everything for good; what to tell a person when that failed.

        Nothing but the caller waits: a run goes on meanwhile.
        """
        store = self._store
        if store is None or not self.unsynced:
            return None
        try:
            await anyio.to_thread.run_sync(store.sync)
        except CalibanError as error:
            return self._failed(error)
        return None

    def record_rest(
        self, messages: tuple[Message, ...], recorded: Sequence[Message], usage: Usage
    ) -> Notice | None:
        """Remember what no event told: the history is `messages`, of which `recorded` is remembered already.

        `usage` is what no turn that came to its end has cost.
        """
        known = len(recorded)
        if messages[:known] == tuple(recorded):
            failures = [self.record(MessageAdded(message=message)) for message in messages[known:]]
        else:
            failures = [self.record(HistoryReplaced(messages=messages, reason="nobody read the events"))]
        if usage != Usage():
            failures.append(self._write(lambda store: store.add_usage(usage)))
        return next((failure for failure in failures if failure is not None), None)

    def note(self, *, todos: tuple[Mapping[str, Any], ...] | None, plan_mode: bool | None) -> Notice | None:
        """Remember what a tool has changed of the session; what to tell a person when that failed."""
        return self._write(lambda store: store.note(todos=todos, plan_mode=plan_mode))

    def note_pending(self, ids: tuple[str, ...]) -> Notice | None:
        """Remember which calls wait for a person, likewise."""
        return self._write(lambda store: store.note_pending(ids))

    def transcript(self) -> tuple[Message, ...] | None:
        """All that was ever said here, as far as there is a store that knows. Raises `CalibanError`."""
        return None if self._store is None or self.error is not None else self._store.transcript()

    def close(self) -> Notice | None:
        """Let go of the store; what to tell a person when that failed."""
        store, self._store = self._store, None
        if store is None:
            return None
        try:
            store.close()
        except CalibanError as error:
            return self._failed(error)
        return None

    def _forget_prefix(self) -> Notice | None:
        """A rewritten history may begin otherwise: nothing is known of it until its first turn has ended."""
        self._noted = {}
        return self._write(lambda store: store.note(prefix={}))

    def _note_prefix(self) -> Notice | None:
        prefix = self._watch.fingerprint
        if prefix is self._noted:
            return None
        self._noted = prefix
        return self._write(lambda store: store.note(prefix=prefix))

    def _write(self, action: Callable[[Store], None]) -> Notice | None:
        if self._store is None or self.error is not None:
            return None
        try:
            action(self._store)
        except CalibanError as error:
            return self._failed(error)
        return None

    def _failed(self, error: CalibanError) -> Notice | None:
        if self.error is not None:
            return None
        self.error = error
        text = f"the session is not saved any more: {error.message}"
        hint = advice(error.hint, error.remedy) or ""
        return Notice(subtype="session_write_failed", message=text, details={"hint": hint})
