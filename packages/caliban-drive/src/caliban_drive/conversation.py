"""What the prompts of one session share: history, agent and hooks, store, the road of notices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.agent import Agent
from caliban_agent_core.compact.summary import is_update
from caliban_agent_core.hooks import ask_hooks, context_message, hook_fired, listening, prompt_denied
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.run import Run
from caliban_agent_core.tasks import background_news
from caliban_agent_core.turn import waiting_calls
from caliban_common.event import AgentEvent
from caliban_common.hook import HookEvent, InstructionsLoaded, SessionEnd, SessionStart, UserPromptSubmit
from caliban_common.message import Message, NewId, ToolUseBlock, new_id, user
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_drive.inputs import SteeringQueue
from caliban_drive.notice import Notice, Reporter, drop
from caliban_drive.result import Costs
from caliban_drive.store import Recorder, Store

END_HOOK_S = 1.5
"""How long hooks may take over the end of a session: nobody waits for them."""


class SessionParts(Struct, frozen=True, kw_only=True):
    """What a session works with beside its agent.

    `start` is what hooks are told of it, `costs` who knows what was spent, `reporter` the road of its
    notices, `new_id` names the messages that it writes itself. `news` gives, once, lines for the model about
    what goes on beside its turns; one that begins as a context update is a message of its own. `refresh` is
    awaited before each prompt and between turns. `pending` are the ids of calls of the last reply that an
    earlier process left to a person. `instructions` are the files that the history begins with, for hooks;
    `called` is the command that the first prompt was made of, with what was said to it.
    """

    start: SessionStart | None = None
    costs: Costs | None = None
    reporter: Reporter = Reporter(drop)
    new_id: NewId = new_id
    news: Callable[[], tuple[str, ...]] = tuple
    refresh: Callable[[], Awaitable[None]] | None = None
    pending: tuple[str, ...] = ()
    instructions: tuple[InstructionsLoaded, ...] = ()
    called: tuple[str, str] = ("", "")


class PromptInProgress(Protocol):
    """What a conversation knows of the prompt at work."""

    def interrupt(self) -> None:
        """End it soon."""
        ...

    def stop_call(self, tool_use_id: str) -> bool:
        """End one of its calls; false where nothing of it runs."""
        ...

    def put(self, event: AgentEvent) -> None:
        """Show `event` to its reader, behind those that are there already."""
        ...


class Conversation:
    """A history and what is at work on it, one prompt at a time.

    The hooks hear of the session's start with the first prompt, and of each prompt, before anything enters
    the history.
    """

    def __init__(
        self,
        agent: Agent,
        messages: tuple[Message, ...],
        *,
        start: SessionStart,
        parts: SessionParts,
        store: Store | None,
        prefix: Mapping[str, str] | None,
    ) -> None:
        self.agent = agent
        self.messages: tuple[Message, ...] = messages
        self.parts = parts
        self.steering: SteeringQueue = SteeringQueue(self._admit_steering, self.news, self.refresh)
        self._start = start
        self._is_open = False
        self._ended_by = ""  # why the one before ended, where hooks are still to be told
        self._called = parts.called
        self._context: tuple[Message, ...] = ()  # of the start, until a prompt is admitted
        self._watch = PrefixWatch(prefix, clock=agent.options.timing.clock)
        self.recorder: Recorder = Recorder(store, self._watch)
        self._failures: list[Notice] = []
        self._current: PromptInProgress | None = None
        self._interrupts_next = False
        self._pending: tuple[str, ...] = parts.pending

    @property
    def pending(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the last reply that wait for a person."""
        return tuple(call for call in waiting_calls(self.messages) if call.id in self._pending)

    def keep_pending(self, ids: tuple[str, ...]) -> None:
        """From now on the calls `ids` wait, and no others."""
        if ids != self._pending:
            self._pending = ids
            self._keep(self.recorder.note_pending(ids))

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What is known of the beginning of its prompts."""
        return self._watch.fingerprint

    def run(self, *, resumes: bool = False) -> Run:
        """The run that continues it, whose prompt was judged here; with `resumes` by the calls that wait."""
        if resumes:
            return self.agent.resume(self.messages, prefix=self._watch, inputs=self.steering)
        return self.agent.run(self.messages, prefix=self._watch, inputs=self.steering, judged=True)

    def news(self) -> tuple[Message, ...]:
        """What the model has not been told yet of what goes on beside its turns."""
        lines = self.parts.news()
        if not lines:
            return ()
        background = tuple(line for line in lines if not is_update(line))
        news = (background_news(background, id=self.parts.new_id()),) if background else ()
        return (*news, *(user(line, id=self.parts.new_id()) for line in lines if is_update(line)))

    async def refresh(self) -> None:
        """Let whoever made the session change it, between turns and before each prompt."""
        if self.parts.refresh is not None:
            await self.parts.refresh()

    async def admit(self, prompt: Message) -> tuple[Message, ...] | Stop:
        """What enters the history for `prompt`: the hooks may add to it, or end it."""
        ended = await self._begun()
        if ended is not None:
            return ended
        (command, args), self._called = self._called, ("", "")
        added = await self._ask(
            UserPromptSubmit(
                session_id=self._start.session_id, prompt=prompt.text, command=command, args=args
            )
        )
        if isinstance(added, Stop):
            return added
        context, self._context = self._context, ()
        return (*context, prompt, *added)

    async def _admit_steering(self, message: Message) -> tuple[Message, ...]:
        """What enters the history for a message to the run at work; one that hooks deny is told of."""
        added = await self._ask(UserPromptSubmit(session_id=self._start.session_id, prompt=message.text))
        if isinstance(added, Stop):
            self.report(Notice(subtype="message_denied", message=added.message))
            return ()
        return (message, *added)

    async def admit_command(self, command: str, args: str) -> Stop | None:
        """Why hooks do not let a command of ours be done; what they would add is for prompts, and goes."""
        if listening(self.agent.hooks) is None:
            return None
        ended = await self._begun()
        if ended is not None:
            return ended
        line = f"/{command} {args}".rstrip()
        event = UserPromptSubmit(session_id=self._start.session_id, prompt=line, command=command, args=args)
        verdict = await self._ask(event)
        return verdict if isinstance(verdict, Stop) else None

    def announce(self, command: str, args: str) -> None:
        """The next prompt is made of this command."""
        self._called = (command, args)

    async def _begun(self) -> Stop | None:
        """Tell the hooks once that the session begins; what they say is kept for the first prompt."""
        if self._is_open:
            return None
        if self._ended_by:
            reason, self._ended_by = self._ended_by, ""
            await self._ask(SessionEnd(session_id=self._start.session_id, reason=reason))
        context = await self._ask(self._start)
        if isinstance(context, Stop):
            return context
        self._context, self._is_open = context, True
        for loaded in self.parts.instructions:
            await self._ask(loaded)
        return None

    def begin_again(self) -> None:
        """What was said is gone, for a person wants it so: with the next prompt, hooks are told of both."""
        if self._is_open:
            self._is_open, self._ended_by = False, "clear"
        self._start = replace(self._start, source="clear")

    async def close(self, reason: str) -> None:
        """Tell the hooks of the end, and let go of the store; a failure is reported."""
        try:
            hooks = listening(self.agent.hooks)
            if (self._is_open or self._ended_by) and hooks is not None:
                self._is_open, reason, self._ended_by = False, self._ended_by or reason, ""
                with anyio.move_on_after(END_HOOK_S, shield=True) as waiting:
                    event = SessionEnd(session_id=self._start.session_id, reason=reason)
                    await ask_hooks(hooks, event)
                if waiting.cancelled_caught:
                    words = f"hooks at the end of a session have {END_HOOK_S:g} s, and these were not done"
                    self.report(Notice(subtype="hook_failed", message=words))
        finally:
            for failure in (*self.take_failures(), self.recorder.close()):
                self.report(failure)

    def record(self, event: AgentEvent) -> None:
        """Fold in what happens outside of runs; a failure is told with the next prompt, or at the end."""
        self._keep(self.recorder.record(event))

    def note(self, *, todos: tuple[Mapping[str, Any], ...] | None, plan_mode: bool | None) -> None:
        """Remember what a tool has changed of the session; a failure is told likewise."""
        self._keep(self.recorder.note(todos=todos, plan_mode=plan_mode))

    def record_usage(self, usage: Usage) -> None:
        """Count what was spent outside of runs; a failure is told likewise."""
        self._keep(self.recorder.record_rest((), (), usage))

    def rewrite(self, messages: tuple[Message, ...]) -> None:
        """`messages` are the history from now on, on purpose."""
        self.messages = messages
        self._watch.forget()

    def expect_idle(self) -> None:
        """Raise `RuntimeError` while a prompt is at work."""
        if self._current is not None:
            raise RuntimeError("a prompt is at work on this conversation")

    def take_failures(self) -> tuple[Notice, ...]:
        """What is to be told of recording outside of runs, once."""
        failures, self._failures = tuple(self._failures), []
        return failures

    def report(self, notice: Notice | None) -> None:
        """Say `notice`, where there is one."""
        if notice is not None:
            self.parts.reporter(notice)

    def begin(self, prompt: PromptInProgress) -> None:
        """`prompt` is at work now. Raises `RuntimeError` while another one is."""
        if self._current is not None:
            raise RuntimeError("a session answers one prompt at a time")
        self._current = prompt
        interrupts, self._interrupts_next = self._interrupts_next, False
        if interrupts:
            prompt.interrupt()

    def end(self) -> None:
        """No prompt is at work any more."""
        self._current = None

    def interrupt(self, *, waiting: bool) -> None:
        """End the prompt at work, or else the next one if it is `waiting`."""
        if self._current is not None:
            self._current.interrupt()
        elif waiting:
            self._interrupts_next = True

    def stop_call(self, tool_use_id: str) -> bool:
        """End one call of the prompt at work, or what it left to the background; false where nothing runs."""
        return self._current is not None and self._current.stop_call(tool_use_id)

    def _keep(self, failure: Notice | None) -> None:
        if failure is not None:
            self._failures.append(failure)

    async def _ask(self, event: HookEvent) -> tuple[Message, ...] | Stop:
        """What hooks add to the history at `event`, or how they end it."""
        hooks = listening(self.agent.hooks)
        if hooks is None:
            return ()
        verdict = await ask_hooks(hooks, event)
        if self._current is not None:
            self._current.put(hook_fired(event, verdict))
        context = context_message(event, verdict, new_id=self.parts.new_id)
        return prompt_denied(verdict) or (() if context is None else (context,))
