"""What the prompts of one session share: the history, the agent, the store, the road of notices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from caliban_agent_core.agent import Agent
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.run import Run
from caliban_common.event import AgentEvent
from caliban_common.message import Message
from caliban_drive.inputs import SteeringQueue
from caliban_drive.notice import Notice, Reporter
from caliban_drive.store import Recorder, Store


class Interruptible(Protocol):
    """A prompt in progress."""

    def interrupt(self) -> None:
        """End it soon."""
        ...


class Conversation:
    """A history and what is at work on it: one prompt at a time."""

    def __init__(
        self,
        agent: Agent,
        messages: tuple[Message, ...],
        *,
        store: Store | None,
        prefix: Mapping[str, str] | None,
        reporter: Reporter,
    ) -> None:
        self.agent = agent
        self.messages = messages
        self.reporter = reporter
        self.steering = SteeringQueue()
        self._watch = PrefixWatch(prefix)
        self.recorder = Recorder(store, self._watch)
        self._current: Interruptible | None = None
        self._interrupts_next = False

    def run(self) -> Run:
        """The run that continues it."""
        return self.agent.run(self.messages, prefix=self._watch)

    def record(self, event: AgentEvent) -> None:
        """Fold in what happens outside of runs; a failure is reported."""
        self.report(self.recorder.record(event))

    def report(self, notice: Notice | None) -> None:
        """Say `notice`, where there is one."""
        if notice is not None:
            self.reporter(notice)

    def begin(self, prompt: Interruptible) -> None:
        """`prompt` is in progress now. Raises `RuntimeError` while another one is."""
        if self._current is not None:
            raise RuntimeError("a session answers one prompt at a time")
        self._current = prompt
        interrupts, self._interrupts_next = self._interrupts_next, False
        if interrupts:
            prompt.interrupt()

    def end(self) -> None:
        """No prompt is in progress any more."""
        self._current = None

    def interrupt(self, *, waiting: bool) -> None:
        """End the prompt in progress, or else the next one if it is `waiting`."""
        if self._current is not None:
            self._current.interrupt()
        elif waiting:
            self._interrupts_next = True
