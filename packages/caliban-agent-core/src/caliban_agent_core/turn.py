"""One turn: a reply, then the tools it asks for, and what becomes of the run after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.dispatch import Dispatcher, ToolBatch
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.recovery import Continue, Escalate, Recovery, after_max_tokens
from caliban_agent_core.reply import ModelCaller, Reply
from caliban_agent_core.state import RunState
from caliban_agent_core.toolset import ToolSnapshot
from caliban_common.event import ReplyDiscarded, TurnEnd
from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, assistant
from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_common.text import plural
from caliban_provider.request import CompletionRequest

NOT_RUN = "[not run: the reply was cut off at its token limit before this call was complete]"
CUT = ("max_tokens", "context_window")
"""Ends of a reply that came too early: its calls may be incomplete."""


TOO_SHORT = Stop(
    kind="max_tokens",
    message="the reply hit its token limit",
    hint="allow more tokens for a reply, or ask for less at once",
    remedy=Remedy(kind="token_limit"),
)
FULL = Stop(
    kind="max_tokens",
    message="the reply was cut off: the model's window is full",
    hint="start a new conversation, or take a model with a larger window",
)


class TurnOutcome(Struct, frozen=True, kw_only=True):
    """How a turn went: `stop` ends the run, `say` is what the loop tells the model before the next turn.

    `batch` has the calls that were made.
    """

    reply: Reply
    stop: Stop | None = None
    say: str | None = None
    batch: ToolBatch | None = None


class Turn:
    """The steps of one turn. `batch` has the calls in progress, for a run that is cut off."""

    def __init__(
        self, caller: ModelCaller, dispatcher: Dispatcher, state: RunState, options: AgentOptions
    ) -> None:
        self._caller = caller
        self._dispatcher = dispatcher
        self._state = state
        self._options = options
        self._recovery = Recovery()
        self.batch: ToolBatch | None = None

    async def run(
        self,
        request: CompletionRequest,
        turn: int,
        tools: ToolSnapshot,
        *,
        make_room: Callable[[], Awaitable[bool]] | None = None,
    ) -> TurnOutcome | None:
        """Play turn number `turn`, whose request offers `tools`.

        A reply that filled the window is taken back where `make_room` shortens the history: then nothing is
        given, and the turn is to be played again. Raises `ProviderError`; the history stays valid in every
        case.
        """
        before = self._state.usage
        api_before = self._caller.api_ms
        reply, step = await self._reply(request, turn)
        if reply.stop_reason == "context_window" and make_room is not None and await make_room():
            reason = "the model's window was full; asking again with a shorter conversation"
            await self._state.emit(ReplyDiscarded(turn=turn, reason=reason))
            return None
        outcome = await self._conclude(reply, step, turn, tools)
        await self._state.emit(
            TurnEnd(
                turn=turn,
                message=outcome.reply.message,
                results=self.batch.settled() if self.batch is not None else (),
                stop_reason=reply.stop_reason,
                usage=self._state.usage - before,
                api_ms=self._caller.api_ms - api_before,
                first_token_ms=reply.first_token_ms,
            )
        )
        self.batch = None
        return outcome

    async def finish(self, calls: tuple[ToolUseBlock, ...], turn: int, tools: ToolSnapshot) -> ToolBatch:
        """Make `calls` of an earlier reply, which have no results in the history yet."""
        batch = self.batch = ToolBatch(calls=calls, turn=turn, tools=tools)
        await self._dispatcher.run(batch)
        if results := batch.settled():
            await self._state.add(self._results(results))
        await self._dispatcher.tell_batch(batch)
        self.batch = None
        return batch

    async def _reply(self, request: CompletionRequest, turn: int) -> tuple[Reply, Continue | Stop | None]:
        """A reply, asked for a second time with more room when it hit its limit without a tool call."""
        while True:
            reply = await self._caller.ask(request, turn)
            if reply.stop_reason != "max_tokens":
                self._recovery = Recovery()
                return reply, None
            step = after_max_tokens(
                self._recovery,
                self._options.recovery,
                has_tool_calls=bool(reply.message.tool_uses),
                max_tokens=request.max_tokens,
                limit=self._options.max_tokens,
            )
            match step:
                case Escalate():
                    self._recovery = step.state
                    await self._state.emit(
                        ReplyDiscarded(
                            turn=turn, reason="the reply hit its token limit; asking with more room"
                        )
                    )
                    request = replace(request, max_tokens=step.max_tokens)
                case Continue():
                    self._recovery = step.state
                    return reply, step
                case _:
                    return reply, TOO_SHORT

    async def _conclude(
        self, reply: Reply, step: Continue | Stop | None, turn: int, tools: ToolSnapshot
    ) -> TurnOutcome:
        refusal = _refused(reply)
        if refusal is not None:
            note = assistant(f"[{refusal.message}]", id=self._state.new_id())
            await self._state.add(note, injected=True)
            return TurnOutcome(reply=replace(reply, message=note), stop=refusal)
        await self._keep(reply.message)
        calls = reply.message.tool_uses
        if reply.stop_reason == "context_window":
            await self._answer_cut_calls(reply)
            return TurnOutcome(reply=reply, stop=FULL)
        if reply.stop_reason == "max_tokens":
            await self._answer_cut_calls(reply)
            stop = step if isinstance(step, Stop) else None
            return TurnOutcome(reply=reply, stop=stop, say=step.text if isinstance(step, Continue) else None)
        if calls:
            batch = self.batch = ToolBatch(calls=calls, turn=turn, tools=tools)
            await self._dispatcher.run(batch)
            if results := batch.settled():
                await self._state.add(self._results(results))
            await self._dispatcher.tell_batch(batch)
            return TurnOutcome(reply=reply, batch=batch, stop=waiting_for(batch))
        if reply.stop_reason == "pause_turn":
            self._state.pause()
            return TurnOutcome(reply=reply)
        return TurnOutcome(reply=reply, stop=Stop(kind="end_of_turn"))

    async def _keep(self, message: Message) -> None:
        """An empty reply is nothing to remember: most wires refuse to be shown one."""
        if message.content:
            await self._state.add(message)

    async def _answer_cut_calls(self, reply: Reply) -> None:
        """Calls of a cut reply may be incomplete: they are answered, never run."""
        calls = reply.message.tool_uses
        if not calls:
            return
        results = tuple(
            ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=NOT_RUN),), is_error=True)
            for call in calls
        )
        await self._state.add(self._results(results), injected=True)

    def _results(self, results: tuple[ToolResultBlock, ...]) -> Message:
        return Message(role="user", content=results, id=self._state.new_id())


def waiting_calls(messages: Sequence[Message]) -> tuple[ToolUseBlock, ...]:
    """The calls of the last reply that nothing in the history answers."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return tuple(call for call in message.tool_uses if call.id not in answered)
        answered.update(result.tool_use_id for result in message.tool_results)
    return ()


def last_answer(messages: Sequence[Message]) -> str:
    """What a history ends with that has come to its end; empty for any other."""
    last = messages[-1] if messages else None
    return "" if last is None or last.role != "assistant" or last.tool_uses else last.text


def waiting_for(batch: ToolBatch) -> Stop | None:
    """The end of a run whose calls wait for somebody who answers later."""
    if not batch.deferred:
        return None
    names = ", ".join(sorted({call.name for call in batch.pending()}))
    return Stop(
        kind="approval", message=f"{plural(len(batch.deferred), 'call')} to be approved later: {names}"
    )


def _refused(reply: Reply) -> Stop | None:
    if reply.stop_reason == "refusal":
        return Stop(kind="refusal", message=_with_detail("the model refused to answer", reply.detail))
    if reply.stop_reason == "content_filter":
        return Stop(
            kind="content_filter", message=_with_detail("the provider filtered the answer", reply.detail)
        )
    return None


def _with_detail(text: str, detail: str | None) -> str:
    return f"{text}: {detail}" if detail else text
