"""Every key of ours, in one table: bindings, help and a person's own keys are made from it.

What a plain line editor does (moving, deleting, undo) is prompt-toolkit's and stands nowhere here.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

KeyContext: TypeAlias = Literal["draft", "empty", "menu", "search"]
"""Where a row holds: always, with an empty draft, below an open menu, in a search through the history."""

Action: TypeAlias = Literal[
    "send",
    "newline",
    "complete",
    "take_back",
    "interrupt",
    "clear_or_quit",
    "end_of_file",
    "suspend",
    "redraw",
    "search_history",
    "edit",
    "viewer",
    "detail",
    "background",
    "todos",
    "cycle_mode",
    "paste",
    "undo",
    "page_up",
    "page_down",
    "help",
    "menu_up",
    "menu_down",
    "menu_accept",
    "menu_run",
    "menu_close",
    "search_older",
    "search_newer",
    "search_wider",
    "search_accept",
    "search_cancel",
]


class KeyRow(NamedTuple):
    """In `context` the `keys`, in the names of `KeyStroke` and one after the other, do `action`."""

    context: KeyContext
    keys: tuple[str, ...]
    action: Action
    help: str


KEYS: Final = (
    KeyRow("draft", ("enter",), "send", "send; while a prompt is at work: tell it with its next step"),
    KeyRow("draft", ("a-enter",), "newline", "a new line; so does \\ before Enter"),
    KeyRow("draft", ("s-enter",), "newline", "a new line; so does \\ before Enter"),
    KeyRow("draft", ("c-enter",), "newline", "a new line; so does \\ before Enter"),
    KeyRow("draft", ("c-j",), "newline", "a new line; so does \\ before Enter"),
    KeyRow("draft", ("tab",), "complete", "complete; while a prompt is at work: send after it"),
    KeyRow("draft", ("a-up",), "take_back", "take back what waits to be sent"),
    KeyRow("draft", ("escape",), "interrupt", "twice: interrupt, and on an empty draft go back"),
    KeyRow("draft", ("c-c",), "clear_or_quit", "clear the draft, else interrupt, else twice: leave"),
    KeyRow("empty", ("c-d",), "end_of_file", "leave"),
    KeyRow("draft", ("c-z",), "suspend", "suspend"),
    KeyRow("draft", ("c-l",), "redraw", "draw the screen again"),
    KeyRow("draft", ("c-r",), "search_history", "search the history"),
    KeyRow("draft", ("c-g",), "edit", "write in an editor"),
    KeyRow("draft", ("c-x", "c-e"), "edit", "write in an editor"),
    KeyRow("draft", ("c-o",), "viewer", "the whole transcript"),
    KeyRow("draft", ("a-o",), "detail", "more or less of what tools say"),
    KeyRow("draft", ("c-b",), "background", "what runs in the background"),
    KeyRow("draft", ("c-t",), "todos", "the list of what is to do"),
    KeyRow("draft", ("s-tab",), "cycle_mode", "the next permission mode"),
    KeyRow("draft", ("c-v",), "paste", "an image or text from the clipboard"),
    KeyRow("draft", ("c-_",), "undo", "undo"),
    KeyRow("draft", ("pageup",), "page_up", "back through the transcript"),
    KeyRow("draft", ("pagedown",), "page_down", "on through the transcript"),
    KeyRow("draft", ("scroll-up",), "page_up", ""),
    KeyRow("draft", ("scroll-down",), "page_down", ""),
    KeyRow("empty", ("?",), "help", "these keys"),
    KeyRow("menu", ("up",), "menu_up", "the one above"),
    KeyRow("menu", ("c-p",), "menu_up", "the one above"),
    KeyRow("menu", ("down",), "menu_down", "the one below"),
    KeyRow("menu", ("c-n",), "menu_down", "the one below"),
    KeyRow("menu", ("tab",), "menu_accept", "take it"),
    KeyRow("menu", ("enter",), "menu_run", "take it, and send where nothing is missing"),
    KeyRow("menu", ("escape",), "menu_close", "close the menu"),
    KeyRow("search", ("c-r",), "search_older", "an older one"),
    KeyRow("search", ("up",), "search_older", "an older one"),
    KeyRow("search", ("down",), "search_newer", "a newer one"),
    KeyRow("search", ("c-s",), "search_wider", "of this session, the project, all"),
    KeyRow("search", ("enter",), "search_accept", "take it"),
    KeyRow("search", ("tab",), "search_accept", "take it"),
    KeyRow("search", ("escape",), "search_cancel", "back to the draft"),
    KeyRow("search", ("c-c",), "search_cancel", "back to the draft"),
)
"""A row whose action nobody gives is bound to nothing and stands in no help."""
