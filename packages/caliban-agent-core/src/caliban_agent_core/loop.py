"""The loop: turn after turn until something ends the run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.answer import MAX_REPAIRS, OutputType, repair_prompt
from caliban_agent_core.compact.summary import is_update
from caliban_agent_core.compaction import Compaction
from caliban_agent_core.dispatch import ToolBatch
from caliban_agent_core.doom import STOP_AFTER, Repeats, advice, after_calls
from caliban_agent_core.errors import AnswerMismatch
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.images import check_prompt, names_image, unseen_warning, without_images
from caliban_agent_core.learned import Learned
from caliban_agent_core.nudge import Nudges, TurnFacts, after_turn
from caliban_agent_core.options import DEFAULT_MAX_TOKENS, AgentOptions
from caliban_agent_core.ports import Boundary, InputSource
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.reply import Reply, ThinkingOverflow
from caliban_agent_core.state import RunState
from caliban_agent_core.tasks import RunTasks, is_background_result
from caliban_agent_core.toolset import ToolSnapshot, ToolSnapshots
from caliban_agent_core.turn import Turn, TurnOutcome, last_answer, waiting_calls, waiting_for
from caliban_common.event import TurnStart, Warned
from caliban_common.history import Repairer
from caliban_common.message import Message, ToolUseBlock
from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_common.text import one_line, plural
from caliban_provider.errors import (
    BadResponse,
    BudgetSpent,
    ContextTooLong,
    InvalidRequest,
    ProviderError,
    RequestTooLarge,
    ServerError,
    StreamIdle,
)
from caliban_provider.request import CompletionRequest

MAX_CONTINUATIONS = 3
"""How often hooks can keep one run going past its end (behaviours 2.4)."""
GO_ON = "Go on: the task is not done yet."


class Loop(Struct, kw_only=True):
    """What one run's loop works with, and its memory between turns.

    `continuations` counts how often hooks have kept the run going past its end, `repairs` how often an answer
    was not of the `output_type`. With `resumes` the calls that the history leaves open are made first.
    """

    model: str
    tools: ToolSnapshots
    options: AgentOptions
    state: RunState
    turn: Turn
    repairer: Repairer
    compaction: Compaction
    hooks: HookCaller
    tasks: RunTasks
    nudges: Nudges
    prefix: PrefixWatch
    learned: Learned
    inputs: InputSource | None = None
    continuations: int = 0
    output_type: OutputType | None = None
    resumes: bool = False
    offered: ToolSnapshot | None = None
    output: Any = None
    pending: tuple[ToolUseBlock, ...] = ()
    repairs: int = 0
    unfit: Stop | None = None
    repeats: Repeats = Repeats()
    images_left_out: bool = False

    async def run(self) -> Stop:
        """Turn after turn; the reason why there is no further one."""
        if self.resumes and (stop := await self._resume()) is not None:
            return stop
        while self.state.turns < self.options.max_turns:
            if (stop := await self._step()) is not None:
                return stop
        limit = self.options.max_turns
        return Stop(
            kind="max_turns",
            message=f"the run reached its limit of {plural(limit, 'turn')}",
            hint="allow more turns, or go on with another prompt",
            remedy=Remedy(kind="turn_limit"),
        )

    async def _resume(self) -> Stop | None:
        """Make the calls that wait for an approval; how the run ends where they still do, or none did."""
        calls = waiting_calls(self.state.messages)
        if not calls and (answer := last_answer(self.state.messages)):
            self.state.text = answer  # resumed before, and the model has said all: it is not asked again
            return None if await self._lacks_output() else self.unfit or Stop(kind="end_of_turn")
        batch = await self.turn.finish(calls, self.state.turns, await self._offer())
        self.pending = batch.pending()
        return self.hooks.stop or waiting_for(batch)

    async def _step(self) -> Stop | None:
        number = self.state.turns
        if number:
            await self._listen("turn")
            await self._take_results()
        await self.compaction.before_turn(self.state)
        stop = self.hooks.stop or await self.hooks.before_turn(number)
        if stop is not None:
            return stop
        await self.state.emit(TurnStart(turn=number, model=self.model))
        try:
            outcome = await self._play(number)
        except ThinkingOverflow:
            cap = self.options.thinking_cap_chars
            return Stop(
                kind="thinking_budget",
                message=f"the model thought for more than {cap:,} characters",
                hint="ask for less at once, or for less effort",
            )
        except ProviderError as error:
            return self.hooks.stop or stop_for(error)
        self.state.turns += 1
        await self.hooks.after_turn(number)
        return self.hooks.stop or await self._after(outcome)

    async def _play(self, number: int) -> TurnOutcome:
        """One turn; a prompt that is too long for the window is compacted and tried again."""
        while True:
            try:
                if (outcome := await self._ask(number)) is not None:
                    return outcome
            except ContextTooLong as error:
                if not await self.compaction.react(self.state, error):
                    raise

    async def _ask(self, number: int) -> TurnOutcome | None:
        """One turn, with an eye on the beginning of its prompt; `None` where it is to be played again."""
        tools = self.offered = await self._offer()
        await self._look()
        request = self._request(tools)
        await self._tell(self.prefix.ask(request, self.state.generation))
        try:
            outcome = await self._run_turn(request, number, tools)
        except (InvalidRequest, ServerError) as error:
            if isinstance(error, ContextTooLong | RequestTooLarge):
                raise
            if isinstance(error, InvalidRequest) and await self._without_images(error):
                return None
            if request.response_schema is None or not _may_be_the_schema(error):
                raise
            await self._tell(_unheld(error))
            outcome = await self._run_turn(replace(request, response_schema=None), number, tools)
            self.learned.holds_schema = False
        if outcome is not None:
            await self._tell(self.prefix.answered(outcome.reply.message, outcome.reply.usage))
        return outcome

    async def _run_turn(
        self, request: CompletionRequest, number: int, tools: ToolSnapshot
    ) -> TurnOutcome | None:
        return await self.turn.run(
            request, number, tools, make_room=partial(self.compaction.react, self.state)
        )

    async def _without_images(self, error: InvalidRequest) -> bool:
        """Leave out the images that were refused with `error`, once in a run; whether there were any."""
        if self.images_left_out or not names_image(error.message):
            return False
        messages = without_images(tuple(self.state.messages), one_line(error.message, max_chars=300))
        if messages is None:
            return False
        self.images_left_out = True
        text = f"the provider refused an image, and the model is told so instead: {one_line(error.message)}"
        await self._tell(Warned(subtype="image_refused", message=text))
        await self.state.rewrite(messages, "an image that the provider refused was left out")
        return True

    async def _look(self) -> None:
        """Refuse a prompt that the model cannot see, and tell once of what it is told in words."""
        messages, target = self.state.messages, self.repairer.reader
        if self.options.strict_media and messages:
            check_prompt(messages[-1], target)
        if not self.learned.told_unseen:
            warning = unseen_warning(tuple(messages), target)
            self.learned.told_unseen = warning is not None
            await self._tell(warning)

    async def _tell(self, warning: Warned | None) -> None:
        if warning is not None:
            await self.state.emit(warning)

    async def _after(self, outcome: TurnOutcome) -> Stop | None:
        message, batch = outcome.reply.message, outcome.batch
        facts = TurnFacts(
            output_tokens=outcome.reply.usage.output_tokens,
            has_text=bool(message.text.strip()) and not _lacks_call(outcome.reply),
            has_tool_calls=bool(message.tool_uses),
            edited=batch is not None and batch.edited,
            refused=(outcome.stop is not None and outcome.stop.kind in ("refusal", "content_filter"))
            or _unknown_end(outcome.reply) is not None,
        )
        self.nudges, nudge = after_turn(
            self.nudges,
            facts,
            max_empty_nudges=self.options.max_empty_nudges,
            no_edit_turns=self.options.no_edit_nudge_turns if self._can_edit() else 0,
        )
        self.pending = () if batch is None else batch.pending()
        if outcome.stop is not None and outcome.stop.kind != "end_of_turn":
            return outcome.stop
        if outcome.stop is not None and await self._awaits_results():
            return None
        if outcome.stop is not None and (nudge is None or nudge.kind != "empty_turn"):
            broken = broken_end(outcome.reply)
            if broken is not None or await self._lacks_output():
                return broken
            return self.unfit or await self._end(outcome.stop, message)
        for text in (outcome.say, nudge.text if nudge is not None else None):
            if text is not None:
                await self.state.tell(text)
        return None if batch is None else await self._notice_doom(batch)

    async def _lacks_output(self) -> bool:
        """Whether the answer was not of the type that was asked for, and the model was told so."""
        if self.output_type is None:
            return False
        try:
            self.output, self.unfit = self.output_type.check(self.state.text), None
            return False
        except AnswerMismatch as error:
            self.repairs += 1
            if self.repairs > MAX_REPAIRS:
                self.unfit = Stop(kind="schema_mismatch", message=f"the answer does not fit: {error.message}")
                return False
            await self.state.tell(repair_prompt(error.message))
            return True

    async def _notice_doom(self, batch: ToolBatch) -> Stop | None:
        """Tell a model that makes the same failing call again and again; the end, when it does not listen."""
        self.repeats, verdict, name = after_calls(
            self.repeats, batch.calls, batch.failed(), changed=batch.changed
        )
        match verdict:
            case "go":
                return None
            case "tell":
                await self.state.tell(advice(name))
                return None
            case "stop":
                called = one_line(name) or "a tool without a name"
                return Stop(
                    kind="doom_loop",
                    message=f"the model made the same failing call {STOP_AFTER} times: {called}",
                    hint="say what it should do instead, or try another model",
                )

    def _schema(self) -> Mapping[str, Any] | None:
        if self.options.response_schema is not None or self.output_type is None:
            return self.options.response_schema
        capabilities = self.compaction.provider.capabilities(self.model)
        return self.output_type.native if capabilities.structured_output else None

    def _can_edit(self) -> bool:
        return self.offered is not None and any(tool.kind == "edit" for tool in self.offered.specs)

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
            text = message.text
            await self.state.add(message, injected=is_background_result(text) or is_update(text))
        return bool(messages)

    async def _awaits_results(self) -> bool:
        """Whether the run goes on for work in the background: what that comes to is waited for and read."""
        return await self.tasks.wait() and await self._take_results()

    async def _take_results(self) -> bool:
        """Let the model read what has come of background work; whether that was anything."""
        results = self.tasks.take()
        for message in results:
            await self.state.add(message, injected=True)
        return bool(results)

    async def _offer(self) -> ToolSnapshot:
        """The tools of a turn. A name that is there twice is told of once."""
        tools = self.tools.take()
        for name in tools.hidden:
            if name not in self.learned.hidden_tools:
                self.learned.hidden_tools.add(name)
                await self._tell(_hidden(name))
        return tools

    def _request(self, tools: ToolSnapshot) -> CompletionRequest:
        options = self.options
        return CompletionRequest(
            model=self.model,
            messages=self.repairer.view(self.state.messages),
            max_tokens=options.max_tokens or DEFAULT_MAX_TOKENS,
            tools=tools.specs,
            temperature=options.temperature,
            thinking_tokens=options.thinking_tokens,
            effort=options.effort,
            response_schema=self._schema() if self.learned.holds_schema else None,
            cache=options.prompt_cache,
            min_cache_tokens=options.min_cache_tokens,
        )


def _lacks_call(reply: Reply) -> bool:
    """Whether a reply says that it ends with a call, and has none."""
    return reply.stop_reason == "tool_use" and not reply.message.tool_uses


def broken_end(reply: Reply) -> Stop | None:
    """The end for a model whose last reply is no answer: empty, without its call, or cut."""
    detail = one_line(reply.detail) if reply.detail else ""
    if _lacks_call(reply):
        what = "the model announced a tool call and made none"
    elif not reply.message.text.strip():
        what = f"the model wrote nothing: {detail}" if detail else "the model wrote nothing"
    elif reply.stop_reason == "other":
        what = f"the reply ended for a reason that is not known: {detail or 'the provider named none'}"
    else:
        return None
    return stop_for(BadResponse(what, hint="ask again, or try another model"))


def _may_be_the_schema(error: ProviderError) -> bool:
    """Whether a request may have failed for its schema: some servers fall over it instead of refusing it."""
    if isinstance(error, ServerError):
        return error.status is not None and error.status >= 500
    return not isinstance(error, ContextTooLong | RequestTooLarge)


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
        remedy=error.remedy,
    )
