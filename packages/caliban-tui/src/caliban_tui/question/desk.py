"""Who answers for a person: questions of every kind wait in one queue until they are answered on screen."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import anyio
from msgspec.structs import replace

from caliban_common.permission import Decision, PermissionMode
from caliban_tui.question.asked import (
    AnswerPlace,
    CallAnswer,
    CallBrief,
    ChosenAnswer,
    PersonAnswer,
    PersonQuestion,
)
from caliban_tui.question.call import KEEP_EDITS, YES, call_question, plan_question
from caliban_tui.question.opened import ARM_S, NotMine, OpenQuestion
from caliban_tui.question.step import pasted, step
from caliban_tui.screen import UNSCROLLED, ScrollRoom

if TYPE_CHECKING:
    from caliban_agent_core.ports import ApprovalRequest

REFUSED: Final = "the user said no"


class DeskHost(Protocol):
    """What the desk needs of the app."""

    async def brief(self, request: ApprovalRequest) -> CallBrief:
        """What a person should see of a call before it runs."""
        ...

    async def keep_rules(
        self, patterns: tuple[str, ...], answer: CallAnswer, place: AnswerPlace
    ) -> str | None:
        """Keep rules of the answer's action from now on, in the file of `place`; why not, in words."""
        ...

    def after_plan(self, mode: PermissionMode) -> None:
        """Go to `mode` once the plan mode ends."""
        ...


def _decision(answer: CallAnswer) -> Decision:
    if answer.action == "allow":
        return Decision(action="allow", by="person")
    reason = f"{REFUSED}: {answer.reason}" if answer.reason else REFUSED
    return Decision(action="deny", reason=reason, by="person")


class _Pending:
    def __init__(self, question: OpenQuestion) -> None:
        self.question = question
        self.answered = anyio.Event()
        self.answer: PersonAnswer | None = None


class ApprovalDesk:
    """An `Approver` whose answers are typed, and whoever else asks a person something.

    `changed` is told of each question that comes, goes or changes. `host` is the app of now. A question whose
    asker is cancelled (withdrawn, or answered elsewhere) is taken away.
    """

    def __init__(self, changed: Callable[[], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.host: DeskHost | None = None
        self._changed = changed
        self._clock = clock
        self._queue: deque[_Pending] = deque()
        self._turn = anyio.Lock()

    @property
    def open(self) -> OpenQuestion | None:
        """The question on screen."""
        if not self._queue:
            return None
        return replace(self._queue[0].question, waiting=len(self._queue) - 1)

    def key(self, name: str, scroll: ScrollRoom = UNSCROLLED) -> bool:
        """A key was pressed; whether it was the question's. `scroll` is how far its body goes."""
        if not self._queue or self._queue[0].answer is not None:
            return False
        pending = self._queue[0]
        pending.question, outcome = step(pending.question, name, self._clock(), scroll)
        if isinstance(outcome, NotMine):
            self._changed()
            return False
        if outcome is not None:
            pending.answer = outcome
            pending.answered.set()
        self._changed()
        return True

    def paste(self, text: str) -> bool:
        """Something was pasted; whether it went to where the question is written. It never answers one."""
        if not self._queue or self._queue[0].answer is not None:
            return False
        pending = self._queue[0]
        after = pasted(pending.question, text, self._clock())
        if after is None:
            self.touched()
        else:
            pending.question = after
        self._changed()
        return after is not None

    def touched(self) -> None:
        """Something else was typed, such as a paste: the question listens later."""
        if self._queue:
            pending = self._queue[0]
            pending.question = replace(pending.question, quiet_from_s=self._clock(), engaged=False)

    async def approve(self, request: ApprovalRequest) -> Decision:
        """See `Approver`."""
        host = self.host
        if request.tool.ends_plan:
            return await self._plan(request)
        with ExitStack() as stack:
            async with self._turn:  # calls are asked about in the order in which they came
                brief = CallBrief(text="") if host is None else await host.brief(request)
                pending = stack.enter_context(self._queued(call_question(request, brief)))
            while True:
                answer = await self._answer(pending)
                if not isinstance(answer, CallAnswer):
                    return Decision(action="deny", reason=REFUSED, by="person")
                problem = None
                if answer.patterns and host is not None:
                    problem = await host.keep_rules(answer.patterns, answer, answer.place)
                if problem is None:
                    return _decision(answer)
                again = replace(pending.question, stage="rule", chosen=None, hint=problem, escaped_s=None)
                pending.question, pending.answer, pending.answered = again, None, anyio.Event()
                self._changed()

    async def ask(self, question: PersonQuestion) -> PersonAnswer:
        """The person's answer to `question`, once it is its turn."""
        with self._queued(question) as pending:
            return await self._answer(pending)

    async def _plan(self, request: ApprovalRequest) -> Decision:
        """Whether a plan is carried out, and how much is asked from then on."""
        answer = await self.ask(plan_question(request))
        match answer:
            case ChosenAnswer(value=value) if value in (YES, KEEP_EDITS):
                if value == KEEP_EDITS and self.host is not None:
                    self.host.after_plan("acceptEdits")
                return Decision(action="allow", by="person")
            case ChosenAnswer(words=words):
                return Decision(
                    action="deny", reason=f"the user wants to keep planning: {words}", by="person"
                )
            case _:
                reason = "the user did not approve the plan: ask what is to be different"
                return Decision(action="deny", reason=reason, by="person")

    @contextmanager
    def _queued(self, question: PersonQuestion) -> Iterator[_Pending]:
        """`question` in the queue, for as long as its asker waits."""
        pending = _Pending(OpenQuestion(asked=question, quiet_from_s=self._clock()))
        self._queue.append(pending)
        self._changed()
        try:
            yield pending
        finally:
            was_first = self._queue[0] is pending
            self._queue.remove(pending)
            if was_first and self._queue:
                first = self._queue[0]
                first.question = replace(first.question, quiet_from_s=self._clock(), engaged=False)
            self._changed()

    async def _answer(self, pending: _Pending) -> PersonAnswer:
        """What is answered to it; the screen is told when it begins to listen."""
        while pending.answer is None:
            wait_s = pending.question.quiet_from_s + ARM_S - self._clock()
            with anyio.move_on_after(wait_s if wait_s > 0 else None):
                await pending.answered.wait()
            self._changed()
        return pending.answer
