"""What the tools of a session need of whoever holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct


class SessionBoard(Protocol):
    """What tools change of the session itself; each change is kept when the call returns."""

    @property
    def plan_mode(self) -> bool:
        """Whether plan mode is on, in which only what reads may run."""
        ...

    def set_plan_mode(self, on: bool) -> None:
        """Begin plan mode, or end it: whoever judges calls has allowed that."""
        ...

    def set_todos(self, todos: tuple[Mapping[str, Any], ...]) -> None:
        """`todos` (`id`, `content`, `status`) are the whole list of tasks from now on."""
        ...


class Question(Struct, frozen=True, kw_only=True):
    """What a model wants to know; the person picks one of the options, several with `multi`, or says another.

    Without options the answer is free.
    """

    text: str
    options: tuple[str, ...] = ()
    multi: bool = False


class Asker(Protocol):
    """A person who can be asked."""

    async def ask(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:
        """One answer per question, in order; `None` where the person does not want to answer."""
        ...


class TopicNote(Struct, frozen=True, kw_only=True):
    """A note for later sessions; `type` is one of user, feedback, project, reference."""

    name: str
    description: str
    type: str
    body: str


class TopicStore(Protocol):
    """Where notes are kept. Called on a thread; what cannot be done is a `CalibanError` in words."""

    def read(self, name: str) -> TopicNote:
        """The note of that name."""
        ...

    def write(self, note: TopicNote, *, session: str) -> bool:
        """Keep `note`, written in `session`, in the place of the one of its name; whether it is a new one."""
        ...
