"""Tool calls of one reply: prepare, gate, execute, finalize.

Hooks and rules are asked call by call, in the model's order. What they allow starts at once and runs in
parallel, bounded by a limit; what they leave to a person is asked side by side meanwhile. Calls with the same
conflict key run one after the other, in order; those behind one that begins plan mode are judged once it is
over. `ToolCallEnd` comes in the order calls finish, the results enter the history in the model's order.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from caliban_agent_core.gate import Gate, ask_approver, judge
from caliban_agent_core.hooks import NO_OBJECTION, HookCaller
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.overflow import cap_output, own_id
from caliban_agent_core.ports import ApprovalRequest, JudgedCall
from caliban_agent_core.progress import CallProgress
from caliban_agent_core.state import RunState
from caliban_agent_core.tasks import RunTasks
from caliban_agent_core.toolset import ToolSnapshot
from caliban_agent_core.walled import Outcome, conflict_key_of, walled
from caliban_common.canonical import canonical_arguments
from caliban_common.event import ApprovalAsked, ApprovalGiven, ToolCallEnd, ToolCallReady
from caliban_common.history import INTERRUPTED, interrupted
from caliban_common.hook import HookVerdict
from caliban_common.masked import masked_output
from caliban_common.message import ResultPart, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolContext, ToolOutput


class Passed(Struct, frozen=True, kw_only=True):
    """A call that hooks and rules let pass, with the tool that runs it; `place` is its place in the reply.

    Where the `decision` is an ask, a person has to allow it first. `context` is what hooks want the model to
    read beside the result. It begins when the call `after`, which conflicts with it, is over.
    """

    place: int
    call: ToolUseBlock
    tool: Tool
    key: str | None
    context: str
    decision: Decision
    after: Passed | None = None
    over: anyio.Event = field(default_factory=anyio.Event)


class CallEnding(Struct, frozen=True, kw_only=True):
    """How a call came to its result; `context` is what hooks want the model to read beside it.

    `ran` is the call as it ran, where that is another than the model's; `server` is that of its tool.
    """

    outcome: Outcome = "ran"
    reason: str = ""
    duration_ms: float = 0.0
    context: str = ""
    ran: ToolUseBlock | None = None
    server: str = ""


INVALID = CallEnding(outcome="invalid")
INTERRUPTED_CALL: Outcome = "interrupted"
STOPPED = "[stopped: the user ended this call]"


class ToolBatch(Struct, kw_only=True):
    """The calls of one reply on their way to results, with the tools that the model was offered.

    `deferred` are the places of calls whose approval comes later; `changed` says that a tool which does more
    than read has run without an error.

    `results` fills as calls finish, by the call's place in the reply (two calls may carry one id). When the
    run is cancelled meanwhile, `settled` still answers every call.
    """

    calls: tuple[ToolUseBlock, ...]
    turn: int
    tools: ToolSnapshot
    results: dict[int, ToolResultBlock] = field(default_factory=dict)
    deferred: set[int] = field(default_factory=set)
    edited: bool = False
    changed: bool = False

    def settled(self) -> tuple[ToolResultBlock, ...]:
        """One result per call in call order; a call without one was interrupted, or waits for an approval."""
        return tuple(
            self.results.get(place) or interrupted(call.id)
            for place, call in enumerate(self.calls)
            if place not in self.deferred
        )

    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls that have no result yet and wait for nobody."""
        waiting = self.deferred
        return tuple(
            call
            for place, call in enumerate(self.calls)
            if place not in self.results and place not in waiting
        )

    def pending(self) -> tuple[ToolUseBlock, ...]:
        """The calls that wait for an approval."""
        return tuple(self.calls[place] for place in sorted(self.deferred))

    def failed(self) -> tuple[ToolUseBlock, ...]:
        """The calls whose result is an error."""
        return tuple(
            call
            for place, call in enumerate(self.calls)
            if (result := self.results.get(place)) is not None and result.is_error
        )


class Dispatcher:
    """Runs tool calls through one gate. `context` is what tools are given of the program around the run."""

    def __init__(
        self,
        gate: Gate,
        hooks: HookCaller,
        options: AgentOptions,
        state: RunState,
        tasks: RunTasks,
        *,
        context: Any = None,
    ) -> None:
        self._gate = gate
        self._hooks = hooks
        self._options = options
        self._state = state
        self._tasks = tasks
        self._context = context

    async def run(self, batch: ToolBatch) -> None:
        """Give every call of `batch` its result, or leave it waiting. Raises nothing for what a tool did."""
        last: dict[str | None, Passed] = {}
        for stretch in batch.tools.stretches(batch.calls):
            await self._run_stretch(stretch, batch, last)
        for call in batch.open_calls():
            # A tool that cancelled itself: nothing was raised, and there is no result.
            await self._state.emit(interruption(call, batch.turn))

    async def _run_stretch(self, places: range, batch: ToolBatch, last: dict[str | None, Passed]) -> None:
        """Judge the calls at `places` one by one, then run them; `last` has one for each conflict key."""
        passed: list[Passed] = []
        for place in places:
            await self._state.emit(ToolCallReady(turn=batch.turn, call=batch.calls[place]))
            item = await self._prepare(place, batch.calls[place], batch)
            if item is not None:
                passed.append(replace(item, after=last.get(item.key)))
                if item.key is not None:
                    last[item.key] = passed[-1]
        if self._hooks.stop is not None:
            for item in passed:  # a hook has ended the run: what was allowed before it spoke does not begin
                await self._deny(item.place, self._hooks.stop.message, batch, item.context)
            passed = []
        if self._options.parallel_limit <= 1:
            for item in passed:
                await self._pass(item, batch, anyio.Semaphore(1))
        else:
            limiter = anyio.Semaphore(self._options.parallel_limit, fast_acquire=True)
            async with anyio.create_task_group() as group:
                for item in passed:
                    group.start_soon(self._pass, item, batch, limiter)

    async def tell_batch(self, batch: ToolBatch) -> None:
        """Tell the hooks of calls that are all over; not of a reply whose calls wait for somebody."""
        if not batch.deferred and self._hooks.stop is None:
            await self._hooks.after_batch(batch.calls, batch.settled(), batch.turn)

    async def _prepare(self, place: int, call: ToolUseBlock, batch: ToolBatch) -> Passed | None:
        """Look the tool up, ask hooks and rules; a call that may not run gets its result here."""
        tool = batch.tools.by_name.get(call.name)
        wrong = self._wrong(place, call, tool)
        if wrong is not None or tool is None:
            self._record(call, Decision(action="deny", reason=wrong or "", by="check"), batch)
            await self._finish(place, ToolOutput.of(f"Error: {wrong}", is_error=True), batch, INVALID)
            return None
        if self._hooks.stop is not None:
            reason = self._hooks.stop.message
            self._record(call, Decision(action="deny", reason=reason, by="hook"), batch)
            await self._deny(place, reason, batch)
            return None
        arguments = canonical_arguments(tool.spec, call.input)
        if arguments is not call.input:
            call = replace(call, input=arguments)
        verdict = await judge(self._gate, self._hooks, call, tool, batch.turn)
        decision = self._recorded(verdict.call, verdict.decision, batch)
        if decision.action == "deny":
            await self._deny(place, decision.reason or "not permitted", batch, verdict.context)
            return None
        return Passed(
            place=place,
            call=verdict.call,
            tool=tool,
            key=conflict_key_of(tool, verdict.call),
            context=verdict.context,
            decision=decision,
        )

    def _recorded(self, call: ToolUseBlock, decision: Decision, batch: ToolBatch) -> Decision:
        """`decision`, logged where it is the last word; a deny where it had to be logged and was not."""
        if decision.action == "ask":
            return decision
        missed = self._record(call, decision, batch)
        if missed is None or decision.action == "deny":
            return decision
        return Decision(action="deny", reason=missed, by="check")

    def _record(self, call: ToolUseBlock, decision: Decision, batch: ToolBatch) -> str | None:
        """Keep the last word on `call`; why it must not run, where that had to be kept and was not."""
        log, options = self._gate.log, self._options
        if log is None:
            return None
        id, agent = options.session_id, options.agent
        judged = JudgedCall(session_id=id, agent=agent, turn=batch.turn, call=call, decision=decision)
        return log.record(judged)

    def _wrong(self, place: int, call: ToolUseBlock, tool: Tool | None) -> str | None:
        """What keeps a call from being judged at all."""
        most = self._options.max_calls_per_reply
        if 0 < most <= place:
            return f"not run: a reply may make {most} calls at most, and this is number {place + 1}"
        if tool is None:
            return f"invalid input: tool not found: {one_line(call.name, max_chars=80)}"
        if call.raw_input is not None:
            sent = one_line(call.raw_input, max_chars=200)
            return f"invalid input: the arguments of {call.name} are not a JSON object: {sent}"
        return None

    async def _pass(self, item: Passed, batch: ToolBatch, limiter: anyio.Semaphore) -> None:
        """Ask whoever has to allow the call, wait for its turn, and run it."""
        running = item
        try:
            if item.decision.action == "ask":
                approved = await self._approved(item, batch)
                if approved is None:
                    return
                running = approved
            if item.after is not None:
                await item.after.over.wait()
                if item.after.place in batch.deferred:
                    batch.deferred.add(item.place)
                    return
            async with limiter:
                await self._execute(running, batch)
        finally:
            item.over.set()

    async def _approved(self, item: Passed, batch: ToolBatch) -> Passed | None:
        """The call as a person lets it run, or nothing."""
        reason = item.decision.reason
        asked = ApprovalAsked(turn=batch.turn, call=item.call, reason=reason)
        await self._state.emit(asked)
        await self._hooks.notify(f"a person has to decide on a call of {item.call.name}")
        verdict = await ask_approver(
            self._gate,
            ApprovalRequest(
                call=item.call,
                tool=item.tool.spec,
                reason=reason,
                agent=self._options.agent,
                suggestions=item.decision.suggestions,
            ),
        )
        answer = replace(verdict.decision, match=verdict.decision.match or item.decision.match)
        if answer.action == "ask":
            self._record(item.call, answer, batch)
        else:
            answer = self._recorded(verdict.call, answer, batch)
        await self._state.emit(
            ApprovalGiven(
                turn=batch.turn, tool_use_id=item.call.id, action=answer.action, reason=answer.reason
            )
        )
        if answer.action == "ask":
            batch.deferred.add(item.place)
        elif answer.action != "allow":
            await self._deny(item.place, answer.reason or "not permitted", batch, item.context)
        if answer.action != "allow":
            return None
        judged = item.decision.paths if verdict.call is item.call else answer.paths
        return replace(item, call=verdict.call, decision=replace(answer, paths=judged))

    async def _deny(self, place: int, reason: str, batch: ToolBatch, context: str = "") -> None:
        output = ToolOutput.of(f"Tool call denied: {reason}", is_error=True)
        await self._finish(place, output, batch, CallEnding(outcome="denied", reason=reason, context=context))

    async def _execute(self, item: Passed, batch: ToolBatch) -> None:
        progress = CallProgress(self._state, item.call.id)
        context = ToolContext(
            session_id=self._options.session_id,
            turn=batch.turn,
            tool_use_id=item.call.id,
            agent=self._options.agent,
            emit=progress.emit,
            context=self._context,
            start_background=partial(self._tasks.start, item.call),
            paths=item.decision.paths,
        )
        output, outcome = ToolOutput.of(STOPPED, is_error=True), INTERRUPTED_CALL
        clock = self._options.timing.clock
        started = clock()
        try:
            with self._tasks.stoppable(item.call.id):
                output, outcome = await walled(
                    item.call.name, lambda: item.tool.invoke(item.call.input, context)
                )
        finally:
            progress.close()
        elapsed_ms = (clock() - started) * 1000
        if output.refused:
            self._record(item.call, Decision(action="deny", reason=output.text, by="fence"), batch)
        if not output.is_error:
            batch.edited = batch.edited or item.tool.spec.kind == "edit"
            batch.changed = batch.changed or item.tool.spec.kind != "read"
        facts = CallEnding(context=item.context, ran=item.call, server=item.tool.spec.server)
        ending = replace(facts, outcome=outcome, duration_ms=elapsed_ms)
        await self._finish(item.place, output, batch, ending)

    async def _finish(self, place: int, output: ToolOutput, batch: ToolBatch, ending: CallEnding) -> None:
        call = batch.calls[place]
        output = self._masked(output)
        result = batch.results[place] = self._result(place, batch, output, ending)
        verdict, more = await self._told(call, result, batch.turn, ending)
        if verdict.updated_output is not None:
            output = self._masked(replace(output, content=verdict.updated_output))
        if verdict.updated_output is not None or more:
            context = "\n".join(filter(None, (ending.context, more)))
            result = batch.results[place] = self._result(
                place, batch, output, replace(ending, context=context)
            )
        await self._state.emit(
            ToolCallEnd(
                turn=batch.turn,
                name=call.name,
                result=result,
                outcome=ending.outcome,
                reason=ending.reason,
                duration_ms=ending.duration_ms,
                details=output.details,
            )
        )

    async def _told(
        self, call: ToolUseBlock, result: ToolResultBlock, turn: int, ending: CallEnding
    ) -> tuple[HookVerdict, str]:
        """Tell the hooks how a call ended; what they say to that."""
        if ending.outcome == "denied":
            await self._hooks.after_denial(call, turn, ending.reason)
            return NO_OBJECTION, ""
        is_cut = ending.outcome == INTERRUPTED_CALL
        return await self._hooks.after_tool(
            ending.ran or call, result, turn, duration_ms=ending.duration_ms, interrupted=is_cut
        )

    def _result(
        self, place: int, batch: ToolBatch, output: ToolOutput, ending: CallEnding
    ) -> ToolResultBlock:
        """What the model reads: `output` within its cap, and the context of `ending` after it."""
        options, id, earlier = self._options, batch.calls[place].id, self._state.messages
        alone = options.is_alone and not self._state.generation  # what was rewritten had ids as well
        context = ending.context if options.masker is None else options.masker.text(ending.context)
        capped = cap_output(
            output,
            cap_chars=options.cap_of(ending.server),
            directory=options.overflow_dir,
            session_id=options.session_id,
            tool_use_id=lambda text: own_id(id, text, earlier, batch.calls[:place], is_alone=alone),
            stores=options.keeps_overflow,
        )
        content: tuple[ResultPart, ...] = capped.content
        if context:
            content = (*content, TextBlock(text=context))
        return ToolResultBlock(tool_use_id=id, content=content, is_error=output.is_error)

    def _masked(self, output: ToolOutput) -> ToolOutput:
        masker = self._options.masker
        return output if masker is None else masked_output(output, masker)


def interruption(call: ToolUseBlock, turn: int) -> ToolCallEnd:
    """The event for a call that a cancelled run leaves without a result."""
    return ToolCallEnd(
        turn=turn, name=call.name, result=interrupted(call.id), outcome="interrupted", reason=INTERRUPTED
    )
