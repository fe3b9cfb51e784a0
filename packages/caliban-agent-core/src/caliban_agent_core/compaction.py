"""When and how a run shortens its history: before the window is full, and once after it was."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from caliban_agent_core.compact.trigger import MAX_FAILURES, Trigger
from caliban_agent_core.errors import CompactionFailed
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.learned import Learned
from caliban_agent_core.ports import Compactor
from caliban_agent_core.state import RunState
from caliban_agent_core.toolset import ToolSnapshots
from caliban_agent_core.window import window_after
from caliban_common.estimate import CHARS_PER_TOKEN, Estimator, tokens
from caliban_common.event import Warned
from caliban_common.message import Message, NewId, count_leading_system, user
from caliban_provider.errors import ContextTooLong
from caliban_provider.provider import Provider

TARGET_SHARE = 0.7
"""How much of the window a history may take that was made shorter."""


class Compaction(Struct, kw_only=True):
    """The compaction of one run; without a `compactor` the model summarises.

    The `tools` say which of their results newer ones make stale. While nobody knows the window there is no
    forethought: a refusal may state it, and a provider may come to know it during the run.
    """

    model: str
    provider: Provider
    tools: ToolSnapshots
    compactor: Compactor | None
    learned: Learned
    micro: bool
    trigger: Trigger
    hooks: HookCaller
    estimator: Estimator = field(default_factory=Estimator)

    async def before_turn(self, state: RunState) -> None:
        """Shorten the history if it is near the window. A failure is told and tolerated."""
        if self._due(state) and await self._permitted() and await self._shorten(state):
            await self.hooks.after_compaction()

    async def react(self, state: RunState, refusal: ContextTooLong | None = None) -> bool:
        """Shorten the history because the provider refused it; false when that was tried often enough.

        What the `refusal` says of the window holds for this model from now on.
        """
        if not self.trigger.react():
            return False
        if refusal is not None:
            estimated_tokens = self.estimator.tokens(state.messages)
            window = window_after(refusal.message, estimated_tokens=estimated_tokens)
            self.learned.windows[self.model] = min(window, self.window_tokens or window)
        if not (await self._permitted() and await self._compact(state)):
            return False
        await self.hooks.after_compaction()
        return self.hooks.stop is None

    async def now(self, state: RunState) -> bool:
        """Summarise because a person asks for it, however much room there is; whether anything was."""
        verdict = await self.hooks.before_compaction("manual")
        if verdict.denies or self.hooks.stop is not None:
            text = (
                f"a hook keeps the conversation from being summarised: {verdict.reason or 'no reason given'}"
            )
            await state.emit(Warned(subtype="compaction_failed", message=text))
            return False
        if not await self._compact(state, trigger="manual"):
            return False
        await self.hooks.after_compaction("manual")
        return True

    async def _shorten(self, state: RunState) -> bool:
        superseded = self._superseded(state) if self.micro else None
        if superseded is None:
            return await self._compact(state)
        if self._is_due(tokens(superseded)) and await self._compact(state, superseded):
            return True
        await state.rewrite(superseded, "older tool results gave way to newer ones", compacted=True)
        return True

    async def _permitted(self) -> bool:
        """Whether no hook objects."""
        return not (await self.hooks.before_compaction()).denies and self.hooks.stop is None

    @property
    def window_tokens(self) -> int | None:
        """The window of the model, as far as it is known: what a refusal stated counts most."""
        stated = self.learned.windows.get(self.model)
        return stated or self.provider.capabilities(self.model).prompt_tokens

    def _due(self, state: RunState) -> bool:
        return self._is_due(self.estimator.tokens(state.messages))

    def _is_due(self, size_tokens: int) -> bool:
        window_tokens = self.window_tokens
        return window_tokens is not None and self.trigger.due(size_tokens, window_tokens)

    def _superseded(self, state: RunState) -> tuple[Message, ...] | None:
        """The history without what newer results made stale; `None` where that is all of it."""
        from caliban_agent_core.compact.micro import supersede

        before = tuple(state.messages)
        after = supersede(before, self.tools.take().specs)
        return None if after is before else after

    async def _compact(
        self,
        state: RunState,
        messages: tuple[Message, ...] | None = None,
        *,
        trigger: Literal["auto", "manual"] = "auto",
    ) -> bool:
        """Put a summary in the place of what `messages`, or else the history, begins with."""
        before = tuple(state.messages)
        window = self.window_tokens or self.estimator.tokens(before)
        target = int(window * TARGET_SHARE)
        await state.emit(Warned(subtype="status", message="summarising the conversation, to make room"))
        try:
            shorter = await self._compactor(state.new_id).compact(
                messages or before,
                model=self.model,
                provider=self.provider,
                target_tokens=target,
                spent=state.spend,
            )
        except CompactionFailed as error:
            text = f"the conversation could not be summarised: {error.message}"
            await state.emit(Warned(subtype="compaction_failed", message=text))
            await self._failed(state)
            return False
        shorter = self._reminded(before, shorter, target, state.new_id)
        # Judged by the room it made: one that leaves the next turn where this one was has not worked.
        size = tokens(shorter)
        made_room = not self._is_due(size)
        await state.rewrite(shorter, "the conversation was summarised", compacted=True, trigger=trigger)
        if made_room:
            self.trigger.succeeded()
        else:
            await self._failed(state)
        return True

    async def _failed(self, state: RunState) -> None:
        self.trigger.failed()
        if self.trigger.failures == MAX_FAILURES:
            text = (
                f"the conversation is not summarised again in this run: {MAX_FAILURES} attempts made no room"
            )
            await state.emit(Warned(subtype="compaction_off", message=text))

    def _reminded(
        self, before: tuple[Message, ...], after: tuple[Message, ...], target_tokens: int, new_id: NewId
    ) -> tuple[Message, ...]:
        """`after`, and behind its summary what that lacks of lists, files and instructions in `before`."""
        from caliban_agent_core.compact.reminder import lasting_updates, reminder

        lead = count_leading_system(after)
        kept = lasting_updates(before, after, room_tokens=target_tokens - tokens(after))
        after = (*after[:lead], *kept, *after[lead:])
        room_tokens = min(target_tokens - tokens(after), (tokens(before) - tokens(after)) // 2)
        words = reminder(before, after, self.tools.take().specs, room_chars=room_tokens * CHARS_PER_TOKEN)
        note = user(words, id=new_id())
        if not words or tokens((note,)) > room_tokens:
            return after
        return (*after[:lead], note, *after[lead:])

    def _compactor(self, new_id: NewId) -> Compactor:
        if self.compactor is None:
            from caliban_agent_core.compact.summarize import Summarizer

            self.compactor = Summarizer(new_id=new_id)
        return self.compactor
