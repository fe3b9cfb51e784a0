"""What a server asked, answered: by rules, by hooks, by a person where a face can ask one; else by a no."""

from __future__ import annotations

from typing import Final, Literal
from urllib.parse import urlsplit

from caliban.compose.servers.parts import AskedParts
from caliban_agent_core.hooks import ask_hooks, listening
from caliban_common.hook import HookVerdict, QuestionAnswered, QuestionAsked
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec
from caliban_mcp.elicit import ElicitAnswer, answer_problem, question_of
from caliban_mcp.status import ServerNews
from caliban_mcp_client.handler import Elicitation, ElicitResult, FormElicitation, UrlElicitation

NOBODY: Final = "nobody is there to answer"
BY_HOOK: Final = "a hook said so"
RULED: Final = "a rule denies it"
NO: Final = ElicitAnswer(action="decline")
SPEC: Final = ToolSpec(
    name="Elicit",
    description="",
    input_schema={"type": "object", "properties": {"server": {"type": "string"}}},
    main_argument="server",
)
"""What rules such as `Elicit(notes)` speak of: it is no tool, and no model is told of it."""


class AskedQuestion:
    """One question of the server `name`.

    A rule may decline, then a hook may decline or answer, then a person is asked; what came of that a hook
    may change. Whatever fails on the way is a no. What a person has not seen is said.
    """

    def __init__(self, name: str, parts: AskedParts, request: Elicitation) -> None:
        self._name = name
        self._parts = parts
        self._request = request
        self._question = question_of(name, request)

    async def answer(self) -> ElicitResult:
        """The answer that the server is given."""
        request, session_id = self._request, self._parts.session_id()
        if self._is_denied():
            return self._declined(RULED)
        asked = await self._fired(_asked(self._name, session_id, request))
        if asked.denies or asked.stop:
            return self._declined(f"a hook: {one_line(asked.reason) or 'it objects'}")
        if asked.reply is not None:
            answer, why = ElicitAnswer(action=asked.reply.action, content=asked.reply.content), BY_HOOK
        else:
            answer, why = await self._by_person()
        verdict = await self._fired(_answered(self._name, session_id, request, answer))
        if verdict.denies or verdict.stop:
            return self._declined(f"a hook: {one_line(verdict.reason) or 'it objects'}")
        if verdict.reply is not None:
            answer, why = ElicitAnswer(action=verdict.reply.action, content=verdict.reply.content), BY_HOOK
        return self._judged(answer, why)

    async def _by_person(self) -> tuple[ElicitAnswer, str]:
        """What a person says, and why where that is a no that nobody gave.

        The wall: a face that fails has no answer.
        """
        if self._question.problem:
            return NO, self._question.problem
        if self._parts.elicitor is None:
            return NO, NOBODY
        try:
            return await self._parts.elicitor.elicit(self._question), ""
        except Exception as error:
            words = one_line(f"{type(error).__name__}: {error}", max_chars=200)
            return ElicitAnswer(action="cancel"), f"it could not be asked: {words}"

    def _judged(self, answer: ElicitAnswer, why: str) -> ElicitResult:
        """The answer as the server is given it; one that does not fit the form is none."""
        if answer.action != "accept":
            return self._declined(why, answer.action) if why else ElicitResult(action=answer.action)
        problem = self._question.problem or answer_problem(self._question, answer.content or {})
        if problem:
            return self._declined(f"the answer is none: {problem}")
        if why:
            self._tell("answered", why)
        return ElicitResult(action="accept", content=answer.content)

    def _is_denied(self) -> bool:
        permissions = self._parts.permissions
        return permissions is not None and permissions.forbids(SPEC, {"server": self._name})

    async def _fired(self, event: QuestionAsked | QuestionAnswered) -> HookVerdict:
        hooks = listening(self._parts.hooks)
        return HookVerdict() if hooks is None else await ask_hooks(hooks, event)

    def _declined(self, why: str, action: Literal["decline", "cancel"] = "decline") -> ElicitResult:
        self._tell("declined", why)
        return ElicitResult(action=action)

    def _tell(self, kind: Literal["declined", "answered"], why: str) -> None:
        """Say what was asked, an address by its host, and what came of it."""
        what = repr(one_line(self._request.message, max_chars=200))
        if isinstance(self._request, UrlElicitation):
            what += f", to be answered at {_host(self._request.url)}"
            why += "" if kind == "answered" else ", and nothing was opened"
        self._parts.report(ServerNews(kind=kind, server=self._name, words=f"{what} ({why})"))


def _asked(name: str, session_id: str, request: Elicitation) -> QuestionAsked:
    if isinstance(request, FormElicitation):
        return QuestionAsked(
            session_id=session_id, server=name, message=request.message, schema=request.schema
        )
    return QuestionAsked(
        session_id=session_id,
        server=name,
        message=request.message,
        mode="url",
        url=request.url,
        elicitation_id=request.elicitation_id,
    )


def _answered(name: str, session_id: str, request: Elicitation, answer: ElicitAnswer) -> QuestionAnswered:
    return QuestionAnswered(
        session_id=session_id,
        server=name,
        action=answer.action,
        content=answer.content,
        mode="form" if isinstance(request, FormElicitation) else "url",
        elicitation_id="" if isinstance(request, FormElicitation) else request.elicitation_id,
    )


def _host(url: str) -> str:
    """The host of an address as it is asked for: in punycode, whatever it looks like."""
    try:
        host = urlsplit(url).hostname or ""
        return one_line(host.encode("idna").decode(), max_chars=260) or "no address"
    except (ValueError, UnicodeError):
        return "no address that can be read"
