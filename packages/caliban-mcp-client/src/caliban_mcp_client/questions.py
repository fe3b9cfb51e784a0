"""What a server may ask, answered by the handler: in legacy as requests, in modern inside of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from caliban_mcp_client.encode import INTERNAL
from caliban_mcp_client.entries import text
from caliban_mcp_client.handler import (
    DecliningHandler,
    Elicitation,
    ElicitResult,
    FormElicitation,
    SamplingRequest,
    UrlElicitation,
    with_defaults,
)
from caliban_mcp_client.target import ServerOptions
from caliban_mcp_client.values import Json

if TYPE_CHECKING:
    from caliban_mcp_client.ports import ClientHandler

NO_METHOD: Final = -32601
BAD_PARAMS: Final = -32602


class Unanswered(Struct, frozen=True, kw_only=True):
    """A question that is answered with an error."""

    code: int
    words: str


class QuestionDesk:
    """Answers what is on: `ping` and elicitation as a rule, roots and sampling where they are wanted."""

    def __init__(self, options: ServerOptions, handler: ClientHandler | None) -> None:
        self._options = options
        self._handler = DecliningHandler() if handler is None else handler

    async def answer(self, method: str, params: object) -> Json | Unanswered:
        """The result for `method`, or the error. What the handler raises is told without its words."""
        values = params if isinstance(params, dict) else {}
        if method == "ping":
            return {}
        if not self._is_on(method, values):
            return Unanswered(code=NO_METHOD, words=f"{method} is not offered")
        try:
            return await self._asked(method, values)
        except Exception:
            return Unanswered(code=INTERNAL, words=f"{method} could not be answered")

    def _is_on(self, method: str, params: Mapping[str, Any]) -> bool:
        match method:
            case "elicitation/create":
                return params.get("mode", "form") in self._options.elicitation
            case "sampling/createMessage":
                return self._options.sampling
            case "roots/list":
                return self._options.roots
            case _:
                return False

    async def _asked(self, method: str, params: Mapping[str, Any]) -> Json | Unanswered:
        if method == "roots/list":
            roots = await self._handler.roots()
            return {
                "roots": [{"uri": root.uri, **({"name": root.name} if root.name else {})} for root in roots]
            }
        if method == "sampling/createMessage":
            reply = await self._handler.sample(SamplingRequest(params=params))
            return Unanswered(code=-1, words="it was refused") if reply is None else reply
        request = _elicitation(params)
        if request is None:
            return Unanswered(code=BAD_PARAMS, words="a form needs `requestedSchema`, an address `url`")
        return _elicited(request, await self._handler.elicit(request))


def _elicitation(params: Mapping[str, Any]) -> Elicitation | None:
    if params.get("mode", "form") == "url":
        url = text(params, "url")
        if not url:
            return None
        return UrlElicitation(
            message=text(params, "message"), url=url, elicitation_id=text(params, "elicitationId")
        )
    schema = params.get("requestedSchema")
    if not isinstance(schema, dict):
        return None
    return FormElicitation(message=text(params, "message"), schema=schema)


def _elicited(request: Elicitation, result: ElicitResult) -> Json:
    if result.action != "accept" or isinstance(request, UrlElicitation):
        return {"action": result.action}
    return {"action": "accept", "content": with_defaults(request.schema, result.content or {})}
