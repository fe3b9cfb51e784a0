"""What of a conversation can still change, as a value."""

from __future__ import annotations

from msgspec import Struct


class RunningCall(Struct, frozen=True, kw_only=True):
    """A tool call at work; `began_s` is on the clock of the fold, `progress` its last words."""

    tool_use_id: str
    name: str
    summary: str
    began_s: float
    progress: str = ""
    agent: str = ""


class ConversationView(Struct, frozen=True, kw_only=True):
    """The open end of a transcript: everything before it is blocks, printed and gone.

    `open_text` is Markdown that has come and closes no block yet, `thinking` likewise of the model's
    reasoning. `is_working` is true from a prompt to its result.
    """

    open_text: str = ""
    thinking: str = ""
    thinking_since_s: float = 0.0
    is_first: bool = True
    is_working: bool = False
    began_s: float = 0.0
    calls: tuple[RunningCall, ...] = ()
    output_tokens: int = 0
