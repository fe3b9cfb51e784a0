"""Questions to the program on the other end that are no permission: messages to its servers, forms.

A question stands among the frames of the prompt that runs, else between two prompts. Nothing is asked before
the frames have begun. Whoever asks sets the limit of time: a host may leave a question without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio

from caliban_common.message import NewId, new_id
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Reporter
from caliban_headless.errors import HostRefused
from caliban_headless.notices import REQUEST, WITHDRAWN

ENDED: Final = "standard input has ended, and nobody else can answer"


def stray_words(id: object) -> str:
    """What is told of an answer to a question that there is not."""
    if not isinstance(id, str):
        return "a control_response names no request_id: it changes nothing"
    return f"there is no question {one_line(id, max_chars=80)}: its answer changes nothing"


class HostQuestion:
    """One that waits for its answer."""

    def __init__(self) -> None:
        self.answered: anyio.Event = anyio.Event()
        self.body: Mapping[str, Any] | None = None
        self.problem: str = ""

    def settle(self, body: Mapping[str, Any] | None, problem: str = "") -> None:
        """Answer it: with a body, or with a problem."""
        self.body, self.problem = body, problem
        self.answered.set()


class HostLine:
    """Asks the program on the other end, and takes its answers. One for a run."""

    def __init__(self, reporter: Callable[[], Reporter], *, id_of: NewId = new_id) -> None:
        self._reporter = reporter
        self._new_id = id_of
        self._waiting: dict[str, HostQuestion] = {}
        self._begun = anyio.Event()
        self._closed = False
        self._wake: Callable[[], None] = lambda: None

    def begin(self, wake: Callable[[], None]) -> None:
        """The frames have begun; `wake` tells whoever writes between prompts that there is something."""
        self._wake = wake
        self._begun.set()

    async def ask(self, body: Mapping[str, Any], *, withdraws: bool = False) -> Mapping[str, Any]:
        """The body of the answer to a `control_request`. Raises `HostRefused`.

        With `withdraws` a question whose asker is cancelled is taken back.
        """
        await self._begun.wait()
        if self._closed:
            raise HostRefused(ENDED)
        id, question = self._new_id(), HostQuestion()
        self._waiting[id] = question
        self._send(REQUEST, {"request_id": id, "request": dict(body)})
        try:
            await question.answered.wait()
        except anyio.get_cancelled_exc_class():
            if withdraws:
                self._send(WITHDRAWN, {"request_id": id})
            raise
        finally:
            del self._waiting[id]
        if question.body is None:
            raise HostRefused(question.problem)
        return question.body

    def take(self, frame: Mapping[str, Any]) -> bool:
        """A `control_response` frame came; false where it answers nothing that was asked here."""
        response = frame.get("response")
        id = response.get("request_id") if isinstance(response, Mapping) else None
        question = self._waiting.get(id) if isinstance(id, str) else None
        if question is None or not isinstance(response, Mapping):
            return False
        body = response.get("response", {})
        if response.get("subtype") == "success" and isinstance(body, Mapping):
            question.settle(body)
        elif response.get("subtype") == "error":
            words = response.get("error")
            shown = one_line(words, max_chars=500) if isinstance(words, str) else ""
            question.settle(None, shown or "the host gave no reason")
        else:
            question.settle(None, "the host's answer is neither a success with an object nor an error")
        return True

    def stray(self, frame: Mapping[str, Any]) -> None:
        """A `control_response` frame came that answers nothing."""
        response = frame.get("response")
        id = response.get("request_id") if isinstance(response, Mapping) else None
        self._reporter()(Notice(subtype="permission_answer", message=stray_words(id)))

    def close(self) -> None:
        """The input has ended: no answer will come any more."""
        self._closed = True
        self._begun.set()
        for question in self._waiting.values():
            if not question.answered.is_set():
                question.settle(None, ENDED)

    def _send(self, subtype: str, details: Mapping[str, Any]) -> None:
        self._reporter().hold(Notice(subtype=subtype, message="", details=details))
        self._wake()
