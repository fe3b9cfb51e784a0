"""Where hooks are asked: behind a wall, with an event for every answer.

A run asks through its `HookCaller`. A session asks about prompts, and of its own begin and end, with the same
functions: `ask_hooks`, `hook_fired`, `prompt_denied`, `context_message`.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

from caliban_agent_core.state import RunState
from caliban_common.event import HookFired
from caliban_common.hook import (
    ConfigChange,
    FileChanged,
    HookEvent,
    Hooks,
    HookVerdict,
    InstructionsLoaded,
    Notification,
    PermissionDenied,
    PermissionRequest,
    PostCompact,
    PostToolBatch,
    PostToolUse,
    PostToolUseFailure,
    PostTurn,
    PreCompact,
    PreToolUse,
    PreTurn,
    QuestionAnswered,
    QuestionAsked,
    RunStop,
    SessionEnd,
    SessionStart,
    StopFailure,
    SubagentStart,
    SubagentStop,
    TaskCompleted,
    TaskCreated,
    UserPromptExpansion,
    UserPromptSubmit,
)
from caliban_common.message import Message, NewId, ToolResultBlock, ToolUseBlock, new_id, user
from caliban_common.stop import Stop
from caliban_common.text import clean, one_line

NO_OBJECTION = HookVerdict()


def listening(hooks: Hooks | None) -> Hooks | None:
    """`hooks` where somebody would be asked: those that may come later say `is_idle` until then."""
    return None if hooks is None or getattr(hooks, "is_idle", False) else hooks


async def ask_hooks(hooks: Hooks, event: HookEvent) -> HookVerdict:
    """The hooks' answer. The wall: hooks that fail object, for they would have been asked for a reason.

    Only the end of a run they cannot hold up: one who fails there would keep the model working for nothing.
    """
    try:
        return await hooks.fire(event)
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}")
        is_end = isinstance(event, RunStop | SubagentStop)
        decision: Literal["continue", "deny"] = "continue" if is_end else "deny"
        return HookVerdict(decision=decision, reason=f"a hook failed: {reason}")


def hook_fired(event: HookEvent, verdict: HookVerdict) -> HookFired:
    """What a reader of events is told: who was asked and what was decided, without inputs and texts."""
    decision = "allow" if verdict.decision == "continue" else verdict.decision
    agent = getattr(event, "agent", "")
    whose = {"agent": agent} if agent else {}
    return HookFired(name=event.type, payload={**_shown(event), **whose, "decision": decision})


def prompt_denied(verdict: HookVerdict) -> Stop | None:
    """The end of a run whose prompt was denied, before it began; `None` when nobody objects."""
    if not (verdict.denies or verdict.stop):
        return None
    return Stop(kind="hook_denied", message=f"a hook denied the run: {verdict.reason or 'no reason given'}")


def context_message(event: HookEvent, verdict: HookVerdict, *, new_id: NewId = new_id) -> Message | None:
    """What hooks have to say to the model, marked as theirs; `None` when they say nothing."""
    text = context_text(event, verdict)
    return user(text, id=new_id()) if text else None


def context_text(event: HookEvent, verdict: HookVerdict) -> str:
    """What hooks want the model to know, as text; empty where they say nothing."""
    if not verdict.added_context:
        return ""
    return f'<hook event="{event.type}">\n{clean(verdict.added_context)}\n</hook>'


class HookCaller:
    """Fires the hooks of one run of `agent`. Without hooks every call costs a comparison and says nothing.

    `start` is what is told of a session that goes on from a summary. `stop` is the end that a hook has put to
    the run. What hooks add to the history is added here, except that of tool calls, which belongs to their
    results.
    """

    def __init__(
        self,
        hooks: Hooks | None,
        state: RunState,
        session_id: str,
        *,
        agent: str = "",
        start: SessionStart | None = None,
    ) -> None:
        self._given = hooks
        self._state = state
        self._session_id = session_id
        self._agent = agent
        self._start = start
        self.stop: Stop | None = None

    @property
    def _hooks(self) -> Hooks | None:
        return listening(self._given)

    async def before_run(self, prompt: str) -> tuple[HookVerdict, Message | None]:
        """Ask about the user's prompt, which is not in the history yet; and what is to follow it there."""
        event = UserPromptSubmit(session_id=self._session_id, prompt=prompt)
        verdict = await self._ask(event)
        return verdict, context_message(event, verdict, new_id=self._state.new_id)

    async def before_turn(self, turn: int) -> Stop | None:
        """Ask about a turn; how the run ends when it is not to be."""
        verdict = await self._ask_and_tell(PreTurn(session_id=self._session_id, turn=turn, agent=self._agent))
        if verdict.denies:
            reason = verdict.reason or "no reason given"
            return Stop(kind="hook_denied", message=f"a hook denied turn {turn}: {reason}")
        return self.stop

    async def after_turn(self, turn: int) -> None:
        """Tell of a turn that is over."""
        await self._ask_and_tell(PostTurn(session_id=self._session_id, turn=turn, agent=self._agent))

    async def before_tool(self, call: ToolUseBlock, turn: int) -> tuple[HookVerdict, str]:
        """Ask about a tool call; the verdict, and what the model is to read beside the result."""
        if self._hooks is None:
            return NO_OBJECTION, ""
        event = PreToolUse(session_id=self._session_id, turn=turn, call=call, agent=self._agent)
        verdict = await self._ask(event)
        return verdict, context_text(event, verdict)

    async def before_asking(self, call: ToolUseBlock, turn: int, reason: str) -> HookVerdict:
        """Ask about a call that the rules leave to a person."""
        if self._hooks is None:
            return NO_OBJECTION
        return await self._ask(
            PermissionRequest(
                session_id=self._session_id, turn=turn, call=call, reason=reason, agent=self._agent
            )
        )

    async def notify(self, message: str) -> None:
        """Tell that a person is asked."""
        if self._hooks is not None:
            await self._ask(Notification(session_id=self._session_id, message=message, agent=self._agent))

    async def after_denial(self, call: ToolUseBlock, turn: int, reason: str) -> None:
        """Tell of a call that was denied."""
        if self._hooks is not None:
            await self._ask(
                PermissionDenied(
                    session_id=self._session_id, turn=turn, call=call, reason=reason, agent=self._agent
                )
            )

    async def after_tool(
        self, call: ToolUseBlock, result: ToolResultBlock, turn: int, *, duration_ms: float, interrupted: bool
    ) -> tuple[HookVerdict, str]:
        """Tell of a tool call that has its result; the verdict, and what the model is to read beside it."""
        if self._hooks is None:
            return NO_OBJECTION, ""
        facts: dict[str, Any] = {
            "session_id": self._session_id,
            "turn": turn,
            "call": call,
            "result": result,
            "duration_ms": duration_ms,
            "agent": self._agent,
        }
        event: PostToolUse | PostToolUseFailure
        if result.is_error:
            event = PostToolUseFailure(interrupted=interrupted, **facts)
        else:
            event = PostToolUse(**facts)
        verdict = await self._ask(event)
        return verdict, context_text(event, verdict)

    async def before_compaction(self, trigger: Literal["auto", "manual"] = "auto") -> HookVerdict:
        """Ask about making the history shorter."""
        event = PreCompact(session_id=self._session_id, trigger=trigger, agent=self._agent)
        return await self._ask_and_tell(event)

    async def after_compaction(self, trigger: Literal["auto", "manual"] = "auto") -> None:
        """Tell of a history that was made shorter, and of the session that goes on with that."""
        await self._ask_and_tell(PostCompact(session_id=self._session_id, trigger=trigger, agent=self._agent))
        if self._start is not None and not self._agent:
            await self._ask_and_tell(self._start)

    async def after_batch(
        self, calls: tuple[ToolUseBlock, ...], results: tuple[ToolResultBlock, ...], turn: int
    ) -> None:
        """Tell of the calls of one reply that are all over; who objects ends the run."""
        if self._hooks is None:
            return
        event = PostToolBatch(
            session_id=self._session_id, turn=turn, calls=calls, results=results, agent=self._agent
        )
        verdict = await self._ask_and_tell(event)
        if verdict.denies and self.stop is None:
            reason = verdict.reason or "no reason given"
            self.stop = Stop(kind="hook_denied", message=f"a hook stopped the run: {reason}")

    async def task_created(self, tool_use_id: str, title: str) -> None:
        """Tell of work that is left to the background."""
        if self._hooks is not None:
            facts = {"session_id": self._session_id, "tool_use_id": tool_use_id, "title": title}
            await self._ask(TaskCreated(**facts, agent=self._agent))

    async def task_completed(self, tool_use_id: str, title: str, *, failed: bool) -> None:
        """Tell of work in the background that is over."""
        if self._hooks is not None:
            facts = {"session_id": self._session_id, "tool_use_id": tool_use_id, "title": title}
            await self._ask(TaskCompleted(**facts, failed=failed, agent=self._agent))

    async def before_end(self, last_text: str, *, again: bool) -> HookVerdict:
        """Ask about the end of the run; `again` says that hooks have put it off before."""
        facts: dict[str, Any] = {"session_id": self._session_id, "last_text": last_text, "again": again}
        return await self._ask(SubagentStop(agent=self._agent, **facts) if self._agent else RunStop(**facts))

    async def after_failure(self, stop: Stop) -> None:
        """Tell of a run that ends before the model was done, unless somebody wanted it to."""
        if self._hooks is None or stop.ok or stop.kind in ("cancelled", "hook_denied"):
            return
        await self._ask(
            StopFailure(session_id=self._session_id, kind=stop.kind, message=stop.message, agent=self._agent)
        )

    async def _ask_and_tell(self, event: HookEvent) -> HookVerdict:
        verdict = await self._ask(event)
        message = context_message(event, verdict, new_id=self._state.new_id)
        if message is not None:
            await self._state.add(message, injected=True)
        return verdict

    async def _ask(self, event: HookEvent) -> HookVerdict:
        hooks = self._hooks
        if hooks is None:
            return NO_OBJECTION
        verdict = await ask_hooks(hooks, event)
        if verdict.stop and self.stop is None:
            reason = verdict.reason or "no reason given"
            self.stop = Stop(kind="hook_denied", message=f"a hook stopped the run: {reason}")
        await self._state.emit(hook_fired(event, verdict))
        return verdict


def _shown(event: HookEvent) -> dict[str, Any]:
    match event:
        case PreToolUse(turn=turn, call=call):
            return {"turn_index": turn, "tool_use_id": call.id, "matcher": call.name}
        case PermissionRequest(turn=turn, call=call) | PermissionDenied(turn=turn, call=call):
            return {"turn_index": turn, "tool_use_id": call.id, "matcher": call.name}
        case (
            PostToolUse(turn=turn, call=call, result=result)
            | PostToolUseFailure(turn=turn, call=call, result=result)
        ):
            shown = {"tool_use_id": call.id, "matcher": call.name}
            return {"turn_index": turn, "is_error": result.is_error, **shown}
        case PostToolBatch():
            return {"turn_index": event.turn, "tool_use_ids": [call.id for call in event.calls]}
        case SubagentStart():
            return {"tool_use_id": event.tool_use_id, "matcher": event.agent}
        case TaskCreated() | TaskCompleted():
            return {"tool_use_id": event.tool_use_id}
        case InstructionsLoaded():
            return {"matcher": event.cause, "path": event.path}
        case FileChanged():
            return {"matcher": event.change, "path": event.path}
        case QuestionAsked() | QuestionAnswered():
            return {"matcher": event.server}
        case _:
            return _shown_of_session(event)


def _shown_of_session(
    event: SessionStart
    | SessionEnd
    | UserPromptSubmit
    | UserPromptExpansion
    | PreTurn
    | PostTurn
    | PreCompact
    | PostCompact
    | RunStop
    | SubagentStop
    | Notification
    | StopFailure
    | ConfigChange,
) -> dict[str, Any]:
    match event:
        case SessionStart():
            facts = {"session_id": event.session_id, "cwd": event.cwd}
            return {**facts, "provider": event.provider, "model": event.model}
        case SessionEnd():
            return {"session_id": event.session_id, "reason": event.reason}
        case UserPromptSubmit():
            return {}
        case UserPromptExpansion():
            return {"matcher": event.command}
        case PreTurn() | PostTurn():
            return {"turn_index": event.turn}
        case PreCompact() | PostCompact():
            return {"trigger": event.trigger}
        case RunStop() | SubagentStop():
            return {"again": event.again}
        case Notification() | StopFailure():
            return {"matcher": event.kind}
        case ConfigChange():
            return {"matcher": event.source}
        case _:
            assert_never(event)
