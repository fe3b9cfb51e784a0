"""One conversation, for every face: a history, an agent that continues it, and a store that remembers it.

Recording is a fold over the events: a message is durable before the face that reads the events can show it.
A prompt that the hooks deny is recorded nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from caliban_agent_core.agent import Agent, Compacted
from caliban_agent_core.compact.summary import is_reminder, is_summary, system_prompt
from caliban_agent_core.overflow import cap_history
from caliban_agent_core.turn import waiting_calls
from caliban_common.errors import CalibanError
from caliban_common.event import HistoryReplaced, MessageAdded
from caliban_common.history import close_open_calls, interrupted
from caliban_common.hook import SessionStart
from caliban_common.message import Message, ToolUseBlock
from caliban_common.stop import Stop
from caliban_common.text import plural
from caliban_common.usage import Usage
from caliban_drive.conversation import Conversation, SessionParts
from caliban_drive.notice import Notice
from caliban_drive.result import RunTotals
from caliban_drive.store import Store
from caliban_drive.submission import Submission

if TYPE_CHECKING:
    from caliban_drive.part import HistorySide
    from caliban_drive.structured import AnswerSchema


GIVEN_UP = "[not run: nobody approved this call, and the user went on]"


class Session:
    """A conversation. `id` names it in frames; `messages` is the history, system messages first.

    `prefix` is what an earlier process noted of the beginning of its prompts. Without a `store` the session
    lives in memory. A store that fails is not written to again: `store_error` says why, the conversation
    goes on.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        id: str,
        messages: tuple[Message, ...] = (),
        store: Store | None = None,
        prefix: Mapping[str, str] | None = None,
        parts: SessionParts | None = None,
    ) -> None:
        parts = parts or SessionParts()
        self.agent = agent
        self.id = id
        start = parts.start or SessionStart(
            session_id=id,
            cwd="",
            provider=agent.provider.name,
            model=agent.model,
            source="resume" if messages else "startup",
        )
        options = agent.options
        messages = cap_history(
            messages,
            cap_chars=options.longest_result_chars,
            directory=options.overflow_dir,
            session_id=options.session_id,
            is_alone=options.is_alone,
        )
        waits = {call.id for call in waiting_calls(messages)}
        closed = messages if waits and waits <= {*parts.pending} else close_open_calls(messages)
        self._conversation = Conversation(agent, closed, start=start, parts=parts, store=store, prefix=prefix)
        if len(closed) != len(messages):
            self._conversation.record(MessageAdded(message=closed[-1], injected=True))

    @property
    def pending(self) -> tuple[ToolUseBlock, ...]:
        """The calls that wait for a person: `resume` asks the approver about them, a prompt gives them up."""
        return self._conversation.pending

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history as it is now."""
        return self._conversation.messages

    @property
    def prefix(self) -> Mapping[str, str]:
        """Digests of what its prompts begin with, by part; empty before the first one."""
        return self._conversation.fingerprint

    @property
    def store_error(self) -> CalibanError | None:
        """Why the store is not written to any more."""
        return self._conversation.recorder.error

    def set_system(self, system: Message | None) -> None:
        """Put `system` in the place of the system prompt; `None` takes it away. Summaries stay."""
        rest = tuple(message for message in self.messages if message.role != "system" or is_summary(message))
        there = tuple(message.content for message in system_prompt(self.messages))
        messages = (system, *rest) if system is not None else rest
        if there != (() if system is None else (system.content,)):
            self._conversation.messages = messages
            self._conversation.record(HistoryReplaced(messages=messages, reason="the system prompt changed"))

    def submit(
        self, prompt: Message, *, schema: AnswerSchema | None = None, totals: RunTotals | None = None
    ) -> Submission:
        """Continue the conversation with `prompt`: enter the result with `async with`, one at a time.

        The answer is made to fit `schema`. `totals` are those of earlier prompts that the same result
        answers. Calls that waited for a person are given up.
        """
        self._give_up()
        return Submission(self._conversation, prompt, schema, totals or self.totals())

    def resume(self, *, schema: AnswerSchema | None = None, totals: RunTotals | None = None) -> Submission:
        """Go on where calls wait for a person: they are judged again, and the approver is asked again.

        Entered and read as what `submit` gives. Raises `RuntimeError` where nothing waits.
        """
        if not self.pending:
            raise RuntimeError("no call of this conversation waits for a person")
        return Submission(self._conversation, None, schema, totals or self.totals())

    def _give_up(self) -> None:
        """Answer the calls that waited, for the person went on without them."""
        conversation = self._conversation
        calls = conversation.pending
        if not calls:
            return
        results = tuple(interrupted(call.id, GIVEN_UP) for call in calls)
        message = Message(role="user", content=results, id=conversation.parts.new_id())
        conversation.messages = (*conversation.messages, message)
        conversation.record(MessageAdded(message=message, injected=True))
        conversation.keep_pending(())
        text = f"{plural(len(calls), 'call')} that waited for an approval: given up for this prompt"
        conversation.report(Notice(subtype="approval_given_up", message=text))

    def totals(self) -> RunTotals:
        """The beginning of a result: nothing yet, and the time from now on."""
        costs = self._conversation.parts.costs
        before = costs.by_model() if costs is not None else ()
        agents = costs.by_agent() if costs is not None else ()
        clock = self.agent.options.timing.clock
        return RunTotals(
            model=self.agent.model,
            session_id=self.id,
            costs=costs,
            before=before,
            agents_before=agents,
            started_s=clock(),
            clock=clock,
        )

    def interrupt(self, *, waiting: bool = False) -> None:
        """End the prompt in progress, or else the next one if it is `waiting`; the session may go on."""
        self._conversation.interrupt(waiting=waiting)

    def stop_call(self, tool_use_id: str) -> bool:
        """End one call of the prompt at work, such as an agent or what runs in the background.

        The model reads that it was stopped, and goes on. False where nothing of it runs.
        """
        return self._conversation.stop_call(tool_use_id)

    def steer(self, message: Message) -> None:
        """Say `message` to the run at work: the model reads it with its next turn."""
        self._conversation.steering.put(message)

    def unread(self) -> tuple[Message, ...]:
        """What was said by `steer` too late for a run to read it, taken out: prompts for `submit`.

        What stays in is read by the next run.
        """
        return self._conversation.steering.unread()

    def note(
        self, *, todos: tuple[Mapping[str, Any], ...] | None = None, plan_mode: bool | None = None
    ) -> None:
        """Remember the list of tasks, or whether plan mode is on."""
        self._conversation.note(todos=todos, plan_mode=plan_mode)

    async def admit_command(self, command: str, args: str) -> Stop | None:
        """Tell the hooks that a person called a command of ours: why it is not to be done, or `None`."""
        return await self._conversation.admit_command(command, args)

    def announce_command(self, command: str, args: str) -> None:
        """The next prompt is made of this command: hooks hear so."""
        self._conversation.announce(command, args)

    def clear(self) -> HistoryReplaced | None:
        """Begin again behind the system prompt; `None` where nothing was said yet.

        What was said stays in the store's archive. Not while a prompt is at work.
        """
        conversation = self._conversation
        conversation.expect_idle()
        whole = system_prompt(self.messages)
        if len(whole) == len(self.messages):
            return None
        conversation.keep_pending(())
        conversation.rewrite(whole)
        conversation.begin_again()
        event = HistoryReplaced(messages=whole, reason="the conversation was cleared")
        conversation.record(event)
        return event

    def count(self, usage: Usage) -> None:
        """Remember tokens that were spent for the session beside its runs."""
        self._conversation.record_usage(usage)

    async def compact(self) -> Compacted:
        """Summarise the conversation now; the events say what came of it. Not while a prompt is at work."""
        conversation = self._conversation
        conversation.expect_idle()
        compacted = await self.agent.compact(conversation.messages, session_id=self.id)
        if compacted.is_done:
            conversation.rewrite(compacted.messages)
        for event in compacted.events:
            conversation.record(event)
        conversation.record_usage(compacted.usage)
        return compacted

    async def summarise_part(self, prompt_id: str, side: HistorySide) -> HistoryReplaced | None:
        """Put a summary in the place of all before the prompt `prompt_id`, or of it and all behind it.

        `None` where the history has no such message, or nothing on that side. Not while a prompt is at work.
        Raises `CompactionFailed`; the history is as it was then.
        """
        conversation = self._conversation
        conversation.expect_idle()
        place = next((n for n, message in enumerate(self.messages) if message.id == prompt_id), None)
        if place is None:
            return None
        if side == "before" and all(message.role == "system" for message in self.messages[:place]):
            return None
        from caliban_drive.part import summarised

        whole, usage = await summarised(
            self.agent, self.messages, place, side, new_id=conversation.parts.new_id
        )
        conversation.rewrite(whole)
        event = HistoryReplaced(messages=whole, reason="a part of the conversation was summarised")
        conversation.record(event)
        conversation.record_usage(usage)
        return event

    def undo_compaction(self) -> HistoryReplaced | None:
        """Put back all that summaries have taken the place of; `None` where nothing of it is known.

        Not while a prompt is at work. Raises `CalibanError` where the store cannot be read.
        """
        conversation = self._conversation
        conversation.expect_idle()
        transcript = conversation.recorder.transcript()
        whole = (*system_prompt(self.messages), *(m for m in transcript or () if not is_reminder(m.text)))
        if transcript is None or not any(is_summary(message) for message in self.messages):
            return None
        conversation.rewrite(whole)
        event = HistoryReplaced(messages=whole, reason="what was summarised is there again")
        conversation.record(event)
        return event

    async def aclose(self, reason: str = "") -> None:
        """Tell the hooks, for a moment, and let go of the store; a failure is reported."""
        await self._conversation.close(reason)
