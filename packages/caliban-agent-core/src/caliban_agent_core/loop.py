"""The loop: turn after turn until something ends the run."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.compaction import Compaction
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.learned import Learned
from caliban_agent_core.nudge import Nudges, TurnFacts, after_turn
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Boundary, InputSource
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.reply import Reply, ThinkingOverflow
from caliban_agent_core.state import RunState
from caliban_agent_core.toolset import ToolSnapshot, ToolSnapshots
from caliban_agent_core.turn import Turn, TurnOutcome
from caliban_common.event import TurnStart, Warned
from caliban_common.history import Repairer
from caliban_common.message import Message
from caliban_common.stop import Stop
from caliban_common.text import one_line
from caliban_provider.errors import (
    BadResponse,
    BudgetSpent,
    ContextTooLong,
    InvalidRequest,
    ProviderError,
    RequestTooLarge,
    StreamIdle,
)
from caliban_provider.request import CompletionRequest

MAX_CONTINUATIONS = 3
"""How often hooks can keep one run going past its end (behaviours 2.4)."""
GO_ON = "Go on: the task is not done yet."


class Loop(Struct, kw_only=True):
    """What one run's loop works with; `nudges` and `continuations` are its only memory between turns.

    `continuations` counts how often hooks have kept the run going past its end.
    """

    model: str
    tools: ToolSnapshots
    options: AgentOptions
    state: RunState
    turn: Turn
    repairer: Repairer
    compaction: Compaction
    hooks: HookCaller
    nudges: Nudges
    prefix: PrefixWatch
    learned: Learned
    inputs: InputSource | None = None
    continuations: int = 0

    async def run(self) -> Stop:
        """Turn after turn; the reason why there is no further one."""
        while self.state.turns < self.options.max_turns:
            stop = await self._step()
            if stop is not None:
                return stop
        limit = self.options.max_turns
        return Stop(kind="max_turns", message=f"the run reached its limit of {limit} turns")

    async def _step(self) -> Stop | None:
        number = self.state.turns
        if number:
            await self._listen("turn")
        await self.compaction.before_turn(self.state)
        stop = self.hooks.stop or await self.hooks.before_turn(number)
        if stop is not None:
            return stop
        await self.state.emit(TurnStart(turn=number, model=self.model))
        try:
            outcome = await self._play(number)
        except ThinkingOverflow:
            cap = self.options.thinking_cap_chars
            return Stop(kind="thinking_budget", message=f"the model thought for more than {cap:,} characters")
        except ProviderError as error:
            return self.hooks.stop or stop_for(error)
        self.state.turns += 1
        await self.hooks.after_turn(number)
        return self.hooks.stop or await self._after(outcome)

    async def _play(self, number: int) -> TurnOutcome:
        """One turn; a prompt that is too long for the window is compacted and tried once more."""
        try:
            outcome = await self._ask(number)
        except ContextTooLong:
            if not await self.compaction.react(self.state):
                raise
            return await self._ask(number)
        if outcome.reply.stop_reason == "context_window" and await self.compaction.react(self.state):
            return await self._ask(number)
        return outcome

    async def _ask(self, number: int) -> TurnOutcome:
        """One turn, with an eye on the beginning of its prompt."""
        tools = await self._offer()
        request = self._request(tools)
        await self._tell(self.prefix.ask(request, self.state.generation))
        try:
            outcome = await self.turn.run(request, number, tools)
        except InvalidRequest as error:
            if request.response_schema is None or isinstance(error, ContextTooLong | RequestTooLarge):
                raise
            await self._tell(_unheld(error))
            outcome = await self.turn.run(replace(request, response_schema=None), number, tools)
            self.learned.holds_schema = False
        await self._tell(self.prefix.answered(outcome.reply.message, outcome.reply.usage))
        return outcome

    async def _tell(self, warning: Warned | None) -> None:
        if warning is not None:
            await self.state.emit(warning)

    async def _after(self, outcome: TurnOutcome) -> Stop | None:
        message = outcome.reply.message
        facts = TurnFacts(
            output_tokens=outcome.reply.usage.output_tokens,
            has_text=bool(message.text.strip()),
            has_tool_calls=bool(message.tool_uses),
            edited=outcome.edited,
            refused=(outcome.stop is not None and outcome.stop.kind in ("refusal", "content_filter"))
            or _unknown_end(outcome.reply) is not None,
        )
        self.nudges, nudge = after_turn(
            self.nudges,
            facts,
            max_empty_nudges=self.options.max_empty_nudges,
            no_edit_turns=self.options.no_edit_nudge_turns,
        )
        if outcome.stop is not None and outcome.stop.kind != "end_of_turn":
            return outcome.stop
        if outcome.stop is not None and (nudge is None or nudge.kind != "empty_turn"):
            return self._silence(outcome.reply) or await self._end(outcome.stop, message)
        for text in (outcome.say, nudge.text if nudge is not None else None):
            if text is not None:
                await self.state.tell(text)
        return None

    async def _end(self, stop: Stop, message: Message) -> Stop | None:
        """The end of a run, unless the user or a hook has more to say."""
        if await self._listen("end"):
            return None
        verdict = await self.hooks.before_end(message.text, again=self.continuations > 0)
        if self.hooks.stop is not None:
            return self.hooks.stop
        if not verdict.denies:
            return stop
        if self.continuations >= MAX_CONTINUATIONS:
            await self._tell(_held_up(verdict.reason))
            return stop
        self.continuations += 1
        await self.state.tell(verdict.reason or GO_ON)
        return None

    async def _listen(self, boundary: Boundary) -> bool:
        """Take in what the user says at `boundary`; whether that was anything."""
        messages = await self.inputs.next(boundary) if self.inputs is not None else ()
        for message in messages:
            await self.state.add(message)
        return bool(messages)

    async def _offer(self) -> ToolSnapshot:
        """The tools of a turn. A name that is there twice is told of once."""
        tools = self.tools.take()
        for name in tools.hidden:
            if name not in self.learned.hidden_tools:
                self.learned.hidden_tools.add(name)
                await self._tell(_hidden(name))
        return tools

    def _silence(self, reply: Reply) -> Stop | None:
        """The end for a model that ends a run without a word.

        One that has said something before, or was urged on in vain, has ended its turn: unless its provider
        has a reason of its own.
        """
        unknown = _unknown_end(reply)
        if unknown is None and (reply.message.content or self.state.said or self.nudges.empty_in_a_row > 0):
            return None
        why = f": {one_line(unknown)}" if unknown else ""
        hint = "ask again, or try another model"
        return stop_for(BadResponse(f"the model wrote nothing{why}", hint=hint))

    def _request(self, tools: ToolSnapshot) -> CompletionRequest:
        options = self.options
        return CompletionRequest(
            model=self.model,
            messages=self.repairer.view(self.state.messages),
            max_tokens=options.max_tokens,
            tools=tools.specs,
            temperature=options.temperature,
            thinking_tokens=options.thinking_tokens,
            effort=options.effort,
            response_schema=options.response_schema if self.learned.holds_schema else None,
            cache=options.prompt_cache,
            min_cache_tokens=options.min_cache_tokens,
        )


def _unknown_end(reply: Reply) -> str | None:
    """Why a reply without content ended, where only its provider knows what that means."""
    return reply.detail if reply.stop_reason == "other" and not reply.message.content else None


def _hidden(name: str) -> Warned:
    return Warned(
        subtype="duplicate_tool",
        message=f"more than one tool is called {name!r}: the first one is offered",
        details={"name": name},
    )


def _held_up(reason: str) -> Warned:
    why = f": {one_line(reason)}" if reason else ""
    return Warned(
        subtype="hook_continuations",
        message=f"hooks have kept the run going {MAX_CONTINUATIONS} times, and it ends now{why}",
    )


def _unheld(error: ProviderError) -> Warned:
    return Warned(
        subtype="schema_not_enforced",
        message=f"asking again without the schema, which will be checked here: {error.message}",
    )


def stop_for(error: ProviderError) -> Stop:
    """The end that a provider's failure puts to a run."""
    if isinstance(error, BudgetSpent):
        return error.stop
    kind = "stream_idle" if isinstance(error, StreamIdle) else "provider_error"
    return Stop(
        kind=kind,  # type: ignore[arg-type]
        message=error.message,
        hint=error.hint,
        category=error.category,
        status=error.status,
    )
