"""Tool calls of one reply: prepare, gate, execute, finalize.

The gate is asked call by call, in the model's order. What it allows runs in parallel, bounded by a limit;
calls with the same conflict key run one after the other, in order. `ToolCallEnd` comes in the order calls
finish, the results enter the history in the order the model made the calls.
"""

from __future__ import annotations

from time import perf_counter
from typing import Literal

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from caliban_agent_core.gate import Gate, judge
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.overflow import cap_output
from caliban_agent_core.progress import CallProgress
from caliban_agent_core.state import RunState
from caliban_agent_core.toolset import ToolSnapshot
from caliban_common.arguments import ArgumentError
from caliban_common.event import ToolCallEnd, ToolCallReady
from caliban_common.history import INTERRUPTED, interrupted
from caliban_common.message import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolContext, ToolOutput

Outcome = Literal["ran", "denied", "invalid", "interrupted"]


class Allowed(Struct, frozen=True, kw_only=True):
    """A call that may run, with the tool that runs it; `place` is the place of the call in its reply.

    `context` is what hooks want the model to read beside the result.
    """

    place: int
    call: ToolUseBlock
    tool: Tool
    key: str | None
    context: str


class CallEnding(Struct, frozen=True, kw_only=True):
    """How a call came to its result; `context` is what hooks want the model to read beside it."""

    outcome: Outcome = "ran"
    reason: str = ""
    duration_ms: float = 0.0
    context: str = ""


INVALID = CallEnding(outcome="invalid")


class ToolBatch(Struct, kw_only=True):
    """The calls of one reply on their way to results, with the tools that the model was offered.

    `results` fills as calls finish, by the call's place in the reply (two calls may carry one id). When the
    run is cancelled meanwhile, `settled` still answers every call.
    """

    calls: tuple[ToolUseBlock, ...]
    turn: int
    tools: ToolSnapshot
    results: dict[int, ToolResultBlock] = field(default_factory=dict)
    edited: bool = False

    def settled(self) -> tuple[ToolResultBlock, ...]:
        """One result per call in call order; a call without one was interrupted."""
        return tuple(self.results.get(place) or interrupted(call.id) for place, call in enumerate(self.calls))

    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls that have no result yet."""
        return tuple(call for place, call in enumerate(self.calls) if place not in self.results)


class Dispatcher:
    """Runs tool calls through one gate."""

    def __init__(self, gate: Gate, hooks: HookCaller, options: AgentOptions, state: RunState) -> None:
        self._gate = gate
        self._hooks = hooks
        self._options = options
        self._state = state

    async def run(self, work: ToolBatch) -> None:
        """Give every call of `work` its result. Raises nothing for what a model or a tool did."""
        allowed = []
        for place, call in enumerate(work.calls):
            await self._state.emit(ToolCallReady(turn=work.turn, call=call))
            prepared = await self._prepare(place, call, work)
            if prepared is not None:
                allowed.append(prepared)
        if self._hooks.stop is not None:
            for item in allowed:  # a hook has ended the run: what was allowed before it spoke does not begin
                await self._deny(item.place, self._hooks.stop.message, work, item.context)
            allowed = []
        limiter = anyio.Semaphore(max(1, self._options.parallel_limit))
        async with anyio.create_task_group() as group:
            for chain in _chains(allowed):
                group.start_soon(self._run_chain, chain, work, limiter)
        for call in work.open_calls():
            # A tool that cancelled itself: nothing was raised, and there is no result.
            await self._state.emit(interruption(call, work.turn))

    async def _prepare(self, place: int, call: ToolUseBlock, work: ToolBatch) -> Allowed | None:
        """Look the tool up and pass the gate; a call that may not run gets its result here."""
        tool = work.tools.by_name.get(call.name)
        if tool is None:
            text = f"Error: invalid input: tool not found: {one_line(call.name, max_chars=80)}"
            await self._finish(place, ToolOutput.of(text, is_error=True), work, INVALID)
            return None
        if call.raw_input is not None:
            sent = one_line(call.raw_input, max_chars=200)
            text = f"Error: invalid input: the arguments of {call.name} are not a JSON object: {sent}"
            await self._finish(place, ToolOutput.of(text, is_error=True), work, INVALID)
            return None
        if self._hooks.stop is not None:
            await self._deny(place, self._hooks.stop.message, work)
            return None
        verdict = await judge(self._gate, self._hooks, call, tool, work.turn)
        if verdict.decision.action != "allow":
            await self._deny(place, verdict.decision.reason or "not permitted", work, verdict.context)
            return None
        key = _conflict_key(tool, verdict.call)
        return Allowed(place=place, call=verdict.call, tool=tool, key=key, context=verdict.context)

    async def _deny(self, place: int, reason: str, work: ToolBatch, context: str = "") -> None:
        output = ToolOutput.of(f"Tool call denied: {reason}", is_error=True)
        await self._finish(place, output, work, CallEnding(outcome="denied", reason=reason, context=context))

    async def _run_chain(self, chain: list[Allowed], work: ToolBatch, limiter: anyio.Semaphore) -> None:
        for item in chain:
            async with limiter:
                await self._execute(item, work)

    async def _execute(self, item: Allowed, work: ToolBatch) -> None:
        progress = CallProgress(self._state, item.call.id)
        context = ToolContext(
            session_id=self._options.session_id,
            turn=work.turn,
            tool_use_id=item.call.id,
            agent=self._options.agent,
            emit=progress.emit,
        )
        started = perf_counter()
        try:
            output = await invoke(item.tool, item.call, context)
        finally:
            progress.close()
        elapsed_ms = (perf_counter() - started) * 1000
        if item.tool.spec.kind == "edit" and not output.is_error:
            work.edited = True
        ending = CallEnding(duration_ms=elapsed_ms, context=item.context)
        await self._finish(item.place, output, work, ending)

    async def _finish(self, place: int, output: ToolOutput, work: ToolBatch, ending: CallEnding) -> None:
        call = work.calls[place]
        result = work.results[place] = self._result(call, output, ending.context)
        verdict, more = await self._hooks.after_tool(call, result, work.turn)
        if verdict.updated_output is not None:
            output = replace(output, content=verdict.updated_output)
        if verdict.updated_output is not None or more:
            context = "\n".join(filter(None, (ending.context, more)))
            result = work.results[place] = self._result(call, output, context)
        await self._state.emit(
            ToolCallEnd(
                turn=work.turn,
                name=call.name,
                result=result,
                outcome=ending.outcome,
                reason=ending.reason,
                duration_ms=ending.duration_ms,
                details=output.details,
            )
        )

    def _result(self, call: ToolUseBlock, output: ToolOutput, context: str) -> ToolResultBlock:
        """What the model reads: `output` within its cap, and `context` after it."""
        options = self._options
        capped = cap_output(
            output,
            cap_chars=options.tool_result_cap_chars,
            directory=options.overflow_dir,
            session_id=options.session_id,
            tool_use_id=call.id,
        )
        content: tuple[TextBlock | ImageBlock, ...] = capped.content
        if context:
            content = (*content, TextBlock(text=context))
        return ToolResultBlock(tool_use_id=call.id, content=content, is_error=output.is_error)


async def invoke(tool: Tool, call: ToolUseBlock, context: ToolContext) -> ToolOutput:
    """Run one call. The wall: whatever a tool raises becomes an output that the model can read."""
    try:
        output = await tool.invoke(call.input, context)
        if not isinstance(output, ToolOutput):
            raise TypeError(f"the tool returned {type(output).__name__}, not a ToolOutput")
        return output
    except ArgumentError as error:
        return ToolOutput.of(f"Error: invalid input: {call.name}: {error.message}", is_error=True)
    except (Exception, SystemExit) as error:
        said = one_line(str(error), max_chars=2000)
        return ToolOutput.of(f"Error: execution failed: {type(error).__name__}: {said}", is_error=True)


def interruption(call: ToolUseBlock, turn: int) -> ToolCallEnd:
    """The event for a call that a cancelled run leaves without a result."""
    return ToolCallEnd(
        turn=turn, name=call.name, result=interrupted(call.id), outcome="interrupted", reason=INTERRUPTED
    )


def _conflict_key(tool: Tool, call: ToolUseBlock) -> str | None:
    try:
        return tool.conflict_key(call.input)
    except ArgumentError:
        return None  # the tool itself will tell the model what is wrong
    except Exception:
        return f"every call of {tool.spec.name}"  # nobody knows what it touches: one at a time


def _chains(allowed: list[Allowed]) -> list[list[Allowed]]:
    """Calls that conflict, in order, as one chain; every other call is a chain of its own."""
    chains: list[list[Allowed]] = []
    by_key: dict[str, list[Allowed]] = {}
    for item in allowed:
        if item.key is not None and item.key in by_key:
            by_key[item.key].append(item)
            continue
        chain = [item]
        chains.append(chain)
        if item.key is not None:
            by_key[item.key] = chain
    return chains
