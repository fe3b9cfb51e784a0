"""A run in progress: the loop in a task of its own, its events on this side."""

from __future__ import annotations

from types import TracebackType
from typing import Generic

import anyio

from caliban_agent_core.background import Background
from caliban_agent_core.channel import Channel
from caliban_agent_core.dispatch import interruption
from caliban_agent_core.errors import RunNotFinished
from caliban_agent_core.hooks import HookCaller, prompt_denied
from caliban_agent_core.loop import Loop
from caliban_agent_core.reply import ModelCaller
from caliban_agent_core.state import RunState
from caliban_common.event import AgentEvent, OutputT, RunEnd
from caliban_common.message import Message
from caliban_common.stop import Stop


class Run(Generic[OutputT]):
    """One run, entered with `async with`: the loop works while the body reads `events`.

    `prompt`, where there is one, enters the history once the hooks have let it in.

    Leaving the body early cancels the loop and waits for it; its tools are stopped, and the outcome is there
    in every case. The body may be left in another task than it was entered in, as that of an async generator
    is which nobody reads to its end.
    """

    def __init__(
        self,
        loop: Loop,
        caller: ModelCaller,
        channel: Channel[AgentEvent],
        hooks: HookCaller,
        *,
        prompt: Message | None,
    ) -> None:
        self.events = channel
        channel.unread = "the run was not entered: `async with agent.run(...) as run`, then read run.events"
        self._loop = loop
        self._caller = caller
        self._hooks = hooks
        self._prompt = prompt
        self._scope = anyio.CancelScope()
        self._outcome: RunEnd[OutputT] | None = None
        self._task: Background | None = None

    @property
    def outcome(self) -> RunEnd[OutputT]:
        """How the run ended. Raises `RunNotFinished` while it has not."""
        if self._outcome is None:
            raise RunNotFinished("the run has not ended yet", hint="read its events to the end first")
        return self._outcome

    def cancel(self) -> None:
        """End the run soon: running tools are stopped, the events end with a `RunEnd` of kind cancelled."""
        self._scope.cancel()

    def stop_call(self, tool_use_id: str) -> bool:
        """End one call, or what it has left to the background, and nothing else; false where nothing runs.

        The model reads that it was stopped, and the run goes on.
        """
        return self._loop.tasks.stop(tool_use_id)

    async def to_end(self) -> RunEnd[OutputT]:
        """Enter the run, let its events go by, and give the outcome."""
        async with self:
            async for _ in self.events:
                pass
        return self.outcome

    async def __aenter__(self) -> Run[OutputT]:
        if self._task is not None:
            raise RuntimeError("a run can be entered once; ask the agent for another one")
        self.events.unread = None
        self._task = Background(self._work)
        self._task.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self.events.abandon()
        self._scope.cancel()
        await self._task.wait()

    async def _work(self) -> None:
        state = self._loop.state
        stop = Stop(kind="cancelled", message="the run was cancelled")
        try:
            with self._scope:
                stop = await self._admit(state) or await self._loop.run()
                await self._hooks.after_failure(stop)
        finally:
            unread = await self._loop.tasks.close()
            self._settle(state)
            for message in unread:
                state.add_last(message)
            nudges = self._loop.nudges
            self._outcome = RunEnd(
                stop=stop,
                messages=tuple(state.messages),
                usage=state.usage,
                turns=state.turns,
                turns_without_edit=nudges.turns_without_edit,
                no_edit_nudge_emitted=nudges.no_edit_emitted,
                text=state.text,
                output=self._loop.output,
                pending=self._loop.pending,
            )
            state.put(self._outcome)
            self.events.close()

    async def _admit(self, state: RunState) -> Stop | None:
        """Ask the hooks about the prompt, which a denial keeps out of the history."""
        if self._prompt is None:
            return None
        verdict, context = await self._hooks.before_run(self._prompt.text)
        stop = prompt_denied(verdict)
        if stop is None:
            state.messages.append(self._prompt)  # no event: who gave it knows it
            if context is not None:
                await state.add(context, injected=True)
        return stop

    def _settle(self, state: RunState) -> None:
        """Make the history valid where the run was cut off: keep what was said, answer what was asked."""
        batch = self._loop.turn.batch
        if batch is not None:
            state.turns += 1
            for call in batch.open_calls():
                state.put(interruption(call, batch.turn))
            if state.messages and state.messages[-1].role == "assistant":
                state.add_last(Message(role="user", content=batch.settled(), id=state.new_id()))
            return
        partial = self._caller.partial(self._loop.model)
        if partial is not None:
            state.turns += 1
            state.add_last(partial)
