"""The loop: turn after turn until something ends the run."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.compaction import Compaction
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.learned import Learned
from caliban_agent_core.nudge import Nudges, TurnFacts, after_turn
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.reply import Reply, ThinkingOverflow
from caliban_agent_core.state import RunState
from caliban_agent_core.turn import Turn, TurnOutcome
from caliban_common.event import TurnStart, Warned
from caliban_common.history import Repairer
from caliban_common.message import user
from caliban_common.stop import Stop
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec
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


class Loop(Struct, kw_only=True):
    """What one run's loop works with; `nudges` is its only memory between turns."""

    model: str
    specs: tuple[ToolSpec, ...]
    options: AgentOptions
    state: RunState
    turn: Turn
    repairer: Repairer
    compaction: Compaction
    hooks: HookCaller
    nudges: Nudges
    prefix: PrefixWatch
    learned: Learned

    async def run(self) -> Stop:
        """Turn after turn; the reason why there is no further one."""
        while self.state.turns < self.options.max_turns:
            stop = await self._step()
            if stop is not None:
                return stop
        limit = self.options.max_turns
        return Stop(kind="max_turns", message=f"the run reached its limit of {limit} turns")

    async def _step(self) -> Stop | None:
        await self.compaction.before_turn(self.state, self.specs)
        number = self.state.turns
        verdict = await self.hooks.before_turn(number)
        if verdict.deny:
            reason = verdict.reason or "no reason given"
            return Stop(kind="hook_denied", message=f"a hook denied turn {number}: {reason}")
        await self.state.emit(TurnStart(turn=number, model=self.model))
        try:
            outcome = await self._play(number)
        except ThinkingOverflow:
            cap = self.options.thinking_cap_chars
            return Stop(kind="thinking_budget", message=f"the model thought for more than {cap:,} characters")
        except ProviderError as error:
            return stop_for(error)
        self.state.turns += 1
        await self.hooks.after_turn(number)
        return await self._after(outcome)

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
        request = self._request()
        await self._tell(self.prefix.ask(request, self.state.generation))
        try:
            outcome = await self.turn.run(request, number)
        except InvalidRequest as error:
            if request.response_schema is None or isinstance(error, ContextTooLong | RequestTooLarge):
                raise
            await self._tell(_unheld(error))
            outcome = await self.turn.run(replace(request, response_schema=None), number)
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
            return self._silence(outcome.reply) or outcome.stop
        for text in (outcome.say, nudge.text if nudge is not None else None):
            if text is not None:
                await self.state.add(user(text), injected=True)
        return None

    def _silence(self, reply: Reply) -> Stop | None:
        """The end for a model that ends a run without a word.

        One that has said something before, or was urged on in vain, has ended its turn: unless its provider
        has a reason of its own.
        """
        unknown = _unknown_end(reply)
        if unknown is None and (reply.message.content or self.state.said or self.nudges.empty_in_a_row > 0):
            return None
        why = f": {one_line(unknown)}" if unknown else ""
        hint = "Ask again, or try another model."
        return stop_for(BadResponse(f"the model wrote nothing{why}", hint=hint))

    def _request(self) -> CompletionRequest:
        options = self.options
        return CompletionRequest(
            model=self.model,
            messages=self.repairer.view(self.state.messages),
            max_tokens=options.max_tokens,
            tools=self.specs,
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
