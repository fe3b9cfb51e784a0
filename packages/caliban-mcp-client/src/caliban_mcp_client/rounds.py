"""Calls whose result is a question at first: asked again with the answer, ten times at most."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import anyio

from caliban_mcp_client.errors import ProtocolError
from caliban_mcp_client.questions import QuestionDesk, Unanswered

MOST_ROUNDS: Final = 10
_FIRST_PAUSE_S: Final = 0.05
_LAST_PAUSE_S: Final = 0.25
_MOST_QUESTIONS: Final = 32

Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


async def through_rounds(
    method: str, params: Mapping[str, Any], ask: Ask, questions: QuestionDesk
) -> dict[str, Any]:
    """The complete result of `method`, however often the server wants something first.

    Its state goes back byte for byte, in the next round of the same call and nowhere else. Raises as `ask`
    does, and `ProtocolError`.
    """
    pause_s = _FIRST_PAUSE_S
    sent = params
    for _ in range(MOST_ROUNDS + 1):
        result = await ask(sent)
        kind = result.get("resultType", "complete")
        if kind == "complete":
            return result
        if kind != "input_required":
            raise ProtocolError(f"{method}: the server answered with a result of an unknown kind")
        wanted, state = result.get("inputRequests"), result.get("requestState")
        if not wanted and state is None:
            raise ProtocolError(f"{method}: the server wants an answer to no question")
        sent = dict(params)
        if state is not None:
            sent["requestState"] = state
        if wanted:
            sent["inputResponses"] = await _answers(method, wanted, questions)
        else:
            await anyio.sleep(pause_s)
            pause_s = min(_LAST_PAUSE_S, pause_s * 2)
    raise ProtocolError(f"{method}: the server went on asking after {MOST_ROUNDS} rounds")


async def _answers(method: str, wanted: object, questions: QuestionDesk) -> dict[str, Any]:
    """The answers by the keys of the questions; one that is not answered ends the call."""
    if not isinstance(wanted, dict) or len(wanted) > _MOST_QUESTIONS:
        raise ProtocolError(f"{method}: the server asks in a form that is not known")
    answers: dict[str, Any] = {}
    for key, request in wanted.items():
        asked = request.get("method") if isinstance(request, dict) else None
        if not isinstance(asked, str):
            raise ProtocolError(f"{method}: the server asks in a form that is not known")
        answer = await questions.answer(asked, request.get("params"))
        if isinstance(answer, Unanswered):
            raise ProtocolError(f"{method}: the server asks for what it cannot have: {answer.words}")
        answers[key] = answer
    return answers
