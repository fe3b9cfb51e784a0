"""What of a conversation can still change, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_tui.markdown.splitter import OpenReply
from caliban_tui.transcript.blocks import TodoRow, TranscriptBlock

PROGRESS_CHARS: Final = 2000
"""What is kept of what a program prints while it runs."""


class ThinkingText(Struct, frozen=True, kw_only=True):
    """Reasoning so far, in parts, so that one more piece of it costs the same whatever came before."""

    parts: tuple[str, ...] = ()
    tail: str = ""
    since_s: float = 0.0

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.parts) + self.tail


class RunningCall(Struct, frozen=True, kw_only=True):
    """A tool call that has no result yet; `began_s` is on the clock of the fold, `progress` its last words.

    One that is `written` is not complete, and `input_chars` have come of it; one that is `waiting` waits for
    a person. `child` is the view of the agent that it has started, `inner` what that has done.
    """

    tool_use_id: str
    name: str
    summary: str
    began_s: float
    progress: str = ""
    agent: str = ""
    turn: int = 0
    state: Literal["written", "waiting", "running"] = "running"
    input_chars: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    child: ConversationView | None = None
    inner: tuple[TranscriptBlock, ...] = ()
    inner_count: int = 0


class ConversationView(Struct, frozen=True, kw_only=True):
    """The open end of a transcript: everything before it is blocks, printed and gone.

    `reply` is Markdown that has come and closes no block yet, `thinking` the same of the model's reasoning.
    `printed` counts the blocks of this reply that are gone. `tasks` are calls that go on in the background,
    `todos` the model's list of tasks, `above` the type of the last block
    that is gone. `is_working` is true from a prompt to its result.
    """

    reply: OpenReply = OpenReply()
    thinking: ThinkingText = ThinkingText()
    printed: int = 0
    turn: int = 0
    is_working: bool = False
    began_s: float = 0.0
    calls: tuple[RunningCall, ...] = ()
    tasks: tuple[RunningCall, ...] = ()
    todos: tuple[TodoRow, ...] = ()
    above: str = ""
    output_tokens: int = 0

    @property
    def open_text(self) -> str:
        """The Markdown of the open block."""
        return self.reply.text


def begun(view: ConversationView, now_s: float) -> ConversationView:
    """The view when a prompt is sent: its list of tasks is the one of before."""
    return ConversationView(is_working=True, began_s=now_s, todos=view.todos)


def ended(view: ConversationView) -> ConversationView:
    """The view when it is answered: nothing is open."""
    return ConversationView(todos=view.todos)


def progressed(view: ConversationView, text: str) -> ConversationView:
    """The view when what is at work has printed `text`."""
    return replace(
        view,
        calls=tuple(replace(call, progress=(call.progress + text)[-PROGRESS_CHARS:]) for call in view.calls),
    )
