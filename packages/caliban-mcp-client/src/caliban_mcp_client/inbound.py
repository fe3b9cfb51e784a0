"""What a server asks and tells by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from caliban_mcp_client import encode
from caliban_mcp_client.entries import text
from caliban_mcp_client.frames import Frame
from caliban_mcp_client.news import Changes
from caliban_mcp_client.target import ServerOptions
from caliban_mcp_client.values import (
    CallUpdate,
    Change,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated,
    ToolsChanged,
)

if TYPE_CHECKING:
    from caliban_mcp_client.link import Link
    from caliban_mcp_client.ports import ClientHandler

_T = TypeVar("_T")
_MOST: Final = 64
"""QuestionDesk of one server that are worked on at once."""
_LISTS: Final[Mapping[str, Change]] = {
    "notifications/tools/list_changed": ToolsChanged(),
    "notifications/prompts/list_changed": PromptsChanged(),
    "notifications/resources/list_changed": ResourcesChanged(),
}
_QUIET: Final = frozenset(
    ("notifications/elicitation/complete", "notifications/tasks/status", "notifications/initialized")
)


class Inbound:
    """Answers questions and passes notices on, for one conversation."""

    def __init__(
        self, link: Link, options: ServerOptions, handler: ClientHandler | None, changes: Changes
    ) -> None:
        self._link = link
        self._handler = handler
        self._changes = changes
        self._options = options
        self._at_work: dict[str, anyio.CancelScope] = {}

    def question(self, frame: Frame) -> None:
        """Answer a request of the server's, in a task of its own: reading goes on."""
        number = frame.get("id")
        if number is None or isinstance(number, bool | list | dict):
            self._link.note("a question whose id is neither a number nor text")
            return
        key = repr(number)
        if key in self._at_work:
            self._link.note("a question under the id of another that is not yet answered")
            return
        if len(self._at_work) >= _MOST:
            body = encode.error_body(number, encode.INTERNAL, "too many questions at once")
            self._link.spawn(self._link.reply, body)
            return
        scope = self._at_work[key] = anyio.CancelScope()
        self._link.spawn(self._answer, frame, key, scope)

    def notice(self, method: str, params: object) -> None:
        """Take a notification."""
        values = params if isinstance(params, dict) else {}
        if method in _LISTS:
            self._changes.put(_LISTS[method])
        elif method == "notifications/progress":
            self._progress(values)
        elif method == "notifications/resources/updated":
            self._changes.put(ResourceUpdated(uri=text(values, "uri")))
        elif method == "notifications/message":
            self._log(values)
        elif method == "notifications/cancelled":
            self._cancelled(values)
        elif method == "notifications/subscriptions/acknowledged":
            self._acknowledged(values)
        elif method not in _QUIET:
            self._link.note("a notice of a kind that is not known", method[:80])

    async def _answer(self, frame: Frame, key: str, scope: anyio.CancelScope) -> None:
        from caliban_mcp_client.questions import QuestionDesk, Unanswered

        number, method = frame["id"], frame["method"]
        desk = QuestionDesk(self._options, self._handler)
        try:
            with scope:
                answer = await desk.answer(method, frame.get("params"))
                if isinstance(answer, Unanswered):
                    self._link.note(f"a question that was not answered: {answer.words}")
                    body = encode.error_body(number, answer.code, answer.words)
                else:
                    body = encode.answer_body(number, answer)
                await self._link.reply(body)
        finally:
            self._at_work.pop(key, None)

    def _progress(self, values: Mapping[str, Any]) -> None:
        call = self._link.in_flight.get(values.get("progressToken"))
        progress = values.get("progress")
        if call is None or isinstance(progress, bool) or not isinstance(progress, int | float):
            self._link.note("progress of nothing that is under way")
            return
        total = values.get("total")
        has_total = isinstance(total, int | float) and not isinstance(total, bool)
        update = CallUpdate(
            progress=float(progress),
            total=float(total) if has_total and total is not None else None,
            message=text(values, "message"),
        )
        self._tell(call.renew, update)

    def _log(self, values: Mapping[str, Any]) -> None:
        if self._handler is None:
            return
        from caliban_mcp_client.handler import LogMessage

        message = LogMessage(
            level=text(values, "level"), logger=text(values, "logger"), data=values.get("data")
        )
        self._tell(self._handler.log, message)

    def _tell(self, listener: Callable[[_T], None], news: _T) -> None:
        """Tell somebody of ours, whose fault must not end the reading of what the server says."""
        try:
            listener(news)
        except Exception as error:
            self._link.note("a listener that failed", type(error).__name__)

    def _cancelled(self, values: Mapping[str, Any]) -> None:
        """The server takes a question back, or ends a stream of changes that we asked for."""
        number = values.get("requestId")
        if (scope := self._at_work.get(repr(number))) is not None:
            scope.cancel()
            return
        call = self._link.in_flight.get(number)
        if call is not None and call.method == "subscriptions/listen":
            call.finish({"resultType": "complete"})

    def _acknowledged(self, values: Mapping[str, Any]) -> None:
        granted = values.get("notifications")
        if not isinstance(granted, dict) or not granted:
            self._link.note("a server that lets nobody follow its changes")
