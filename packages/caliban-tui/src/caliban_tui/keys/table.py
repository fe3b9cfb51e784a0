"""Every key of ours, in one table: bindings, help and a person's own keys are made from it.

What a plain line editor does (moving, deleting, undo) is prompt-toolkit's and stands nowhere here.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

KeyContext: TypeAlias = Literal["draft", "question", "menu", "overlay"]

Action: TypeAlias = Literal[
    "send", "newline", "queue", "interrupt", "clear_or_quit", "end_of_file", "redraw", "cycle_mode", "suspend"
]


class KeyRow(NamedTuple):
    """In `context` the `keys`, in prompt-toolkit's names and one after the other, do `action`."""

    context: KeyContext
    keys: tuple[str, ...]
    action: Action
    help: str


KEYS: Final = (
    KeyRow("draft", ("enter",), "send", "send; while a prompt is at work: tell it with its next step"),
    KeyRow("draft", ("escape", "enter"), "newline", "a new line"),
    KeyRow("draft", ("c-j",), "newline", "a new line"),
    KeyRow("draft", ("tab",), "queue", "while a prompt is at work: send after it"),
    KeyRow("draft", ("escape",), "interrupt", "twice: interrupt"),
    KeyRow("draft", ("c-c",), "clear_or_quit", "clear the draft, else interrupt, else twice: leave"),
    KeyRow("draft", ("c-d",), "end_of_file", "leave, when the draft is empty"),
    KeyRow("draft", ("c-l",), "redraw", "draw the screen again"),
    KeyRow("draft", ("s-tab",), "cycle_mode", "the next permission mode"),
    KeyRow("draft", ("c-z",), "suspend", "suspend"),
)
