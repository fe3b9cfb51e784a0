"""Asking the program on the other end: `can_use_tool` requests out, `control_response` frames in.

A request stands among the frames of its run, behind those that came before it. Whatever is no clear answer
allows nothing: one that is malformed, an error, the end of the input. What answers nothing that waits (late,
twice, for somebody else) changes nothing, and is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import anyio

from caliban_agent_core.ports import ApprovalRequest
from caliban_common.message import NewId, new_id
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_drive.lasting import RuleWords, Updates
from caliban_drive.notice import Notice, Report
from caliban_headless.answer import HostAnswer, host_answer, rule_words
from caliban_headless.hostline import stray_words
from caliban_headless.notices import REQUEST, WITHDRAWN

MAX_KNOWN: Final = 10_000
"""How many requests that are over are remembered, to tell a late answer from a foreign one."""

NO_INPUT: Final = "standard input has ended, and nobody else can answer"


class Interruptible(Protocol):
    """Whose run an answer may end."""

    def interrupt(self, *, waiting: bool = False) -> None:
        """End the run in progress."""
        ...


class Waiting(NamedTuple):
    """A request that waits. `shown` is the input as the other end read it: without secrets."""

    tool_use_id: str
    shown: Mapping[str, Any]
    answered: anyio.Event
    answers: list[HostAnswer]


class HostDesk:
    """An `Approver` whose answers come over standard input. One for a run and all its sub-agents.

    `mask` takes secrets out of an input; `session` is told where a deny ends the run.
    """

    def __init__(
        self,
        report: Report,
        updates: Updates,
        mask: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        *,
        id_of: NewId = new_id,
    ) -> None:
        self.session: Interruptible | None = None
        self._report = report
        self._updates = updates
        self._mask = mask
        self._new_id = id_of
        self._waiting: dict[str, Waiting] = {}
        self._over: dict[str, None] = {}
        self._closed = False

    async def approve(self, request: ApprovalRequest) -> Decision:
        """See `Approver`: the answer of the other end, never "later"."""
        if self._closed:
            return _deny(NO_INPUT)
        id = self._new_id()
        call = request.call
        waiting = Waiting(call.id, self._mask(call.input), anyio.Event(), [])
        self._waiting[id] = waiting
        offered = {rule_words(pattern): pattern for pattern in request.suggestions}
        self._tell(REQUEST, {"request_id": id, "request": _request(request, waiting.shown, offered)})
        try:
            await waiting.answered.wait()
        except anyio.get_cancelled_exc_class():
            self._tell(WITHDRAWN, {"request_id": id})
            raise
        finally:
            del self._waiting[id]
            self._over[id] = None
            if len(self._over) > MAX_KNOWN:
                del self._over[next(iter(self._over))]
        return await self._decided(waiting.answers[0], offered)

    def take(self, frame: Mapping[str, Any]) -> None:
        """A `control_response` frame came."""
        response = frame.get("response")
        id = response.get("request_id") if isinstance(response, Mapping) else None
        waiting = self._waiting.get(id) if isinstance(id, str) else None
        if waiting is None or not isinstance(response, Mapping):
            shown = one_line(str(id), max_chars=80)
            if isinstance(id, str) and id in self._over:
                self._say(f"the answer to {shown} came too late, or twice: it changes nothing")
            else:
                self._say(stray_words(id))
            return
        if waiting.answers:
            self._say(f"the answer to {id} came twice: the first one counts")
            return
        waiting.answers.append(host_answer(response, waiting.tool_use_id, waiting.shown))
        waiting.answered.set()

    def close(self) -> None:
        """The input has ended: no answer will come any more."""
        self._closed = True
        for waiting in self._waiting.values():
            if not waiting.answers:
                waiting.answers.append(HostAnswer(allows=False, message=NO_INPUT))
                waiting.answered.set()

    async def _decided(self, answer: HostAnswer, offered: Mapping[RuleWords, str]) -> Decision:
        if not answer.allows:
            if answer.interrupts and self.session is not None:
                self.session.interrupt()
            return _deny(answer.message)
        objection = answer.objection
        if objection is None and answer.updates:
            objection = await self._updates.apply(answer.updates, offered)
        if objection is not None:
            self._say(f"no rule of an answer was taken over: {objection}")
        return Decision(action="allow", updated_input=answer.updated_input)

    def _tell(self, subtype: str, details: Mapping[str, Any]) -> None:
        self._report(Notice(subtype=subtype, message="", details=details))

    def _say(self, message: str) -> None:
        self._report(Notice(subtype="permission_answer", message=message))


def read_response(line: bytes) -> Mapping[str, Any] | None:
    """The frame in a line of input, where it is a `control_response`."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_response = isinstance(data, dict) and data.get("type") == "control_response"
    return data if is_response else None


def _request(
    request: ApprovalRequest, shown: Mapping[str, Any], offered: Mapping[RuleWords, str]
) -> dict[str, Any]:
    """The body of a request. What it suggests lasts for the session, unless the other end says where else."""
    rules = [
        {"toolName": words.tool, **({} if words.content is None else {"ruleContent": words.content})}
        for words in offered
    ]
    update = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
    return {
        "subtype": REQUEST,
        "tool_name": request.call.name,
        "input": shown,
        "tool_use_id": request.call.id,
        "permission_suggestions": [update] if rules else [],
        "decision_reason": request.reason,
        **({"agent_id": request.agent} if request.agent else {}),
    }


def _deny(message: str) -> Decision:
    return Decision(action="deny", reason=message)
