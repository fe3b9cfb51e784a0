"""When and how a run shortens its history: before the window is full, and once after it was."""

from __future__ import annotations

from msgspec import Struct, field

from caliban_agent_core.compact.trigger import Trigger
from caliban_agent_core.errors import CompactionFailed
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.learned import Learned
from caliban_agent_core.ports import Compactor
from caliban_agent_core.state import RunState
from caliban_agent_core.toolset import ToolSnapshots
from caliban_agent_core.window import window_after
from caliban_common.estimate import Estimator
from caliban_common.event import Warned
from caliban_common.message import NewId
from caliban_provider.errors import ContextTooLong
from caliban_provider.provider import Provider

TARGET_SHARE = 0.7


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

    async def _shorten(self, state: RunState) -> bool:
        superseded = self.micro and await self._supersede(state)
        if superseded and not self._due(state):
            return True
        return await self._compact(state) or superseded

    async def _permitted(self) -> bool:
        """Whether no hook objects."""
        return not (await self.hooks.before_compaction()).denies and self.hooks.stop is None

    @property
    def window_tokens(self) -> int | None:
        """The window of the model, as far as it is known: what a refusal stated counts most."""
        stated = self.learned.windows.get(self.model)
        return stated or self.provider.capabilities(self.model).prompt_tokens

    def _due(self, state: RunState) -> bool:
        window_tokens = self.window_tokens
        if window_tokens is None:
            return False
        return self.trigger.due(self.estimator.tokens(state.messages), window_tokens)

    async def _supersede(self, state: RunState) -> bool:
        from caliban_agent_core.compact.micro import supersede

        before = tuple(state.messages)
        after = supersede(before, self.tools.take().specs)
        if after is before:
            return False
        await state.rewrite(after, "older tool results gave way to newer ones", compacted=True)
        return True

    async def _compact(self, state: RunState) -> bool:
        window = self.window_tokens or self.estimator.tokens(state.messages)
        try:
            shorter = await self._compactor(state.new_id).compact(
                tuple(state.messages),
                model=self.model,
                provider=self.provider,
                target_tokens=int(window * TARGET_SHARE),
                spent=state.spend,
            )
        except CompactionFailed as error:
            self.trigger.failed()
            text = f"the conversation could not be summarised: {error.message}"
            await state.emit(Warned(subtype="compaction_failed", message=text))
            return False
        self.trigger.succeeded()
        await state.rewrite(shorter, "the conversation was summarised", compacted=True)
        return True

    def _compactor(self, new_id: NewId) -> Compactor:
        if self.compactor is None:
            from caliban_agent_core.compact.summarize import Summarizer

            self.compactor = Summarizer(new_id=new_id)
        return self.compactor
