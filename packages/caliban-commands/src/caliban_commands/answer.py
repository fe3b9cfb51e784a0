"""What a command returns: something to show, to choose from, or for the face to do.

An answer is a value: a terminal draws it, the headless face prints it, a server sends it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.event import AgentEvent
from caliban_common.hunks import TextChange
from caliban_common.tagged import Tagged


class ShownText(Tagged, frozen=True, kw_only=True, tag="text"):
    """Words for a person, as Markdown."""

    markdown: str


class ShownTable(Tagged, frozen=True, kw_only=True, tag="table"):
    """Rows of as many cells as there are `columns`; a note is a line below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()


class ChoiceRow(Struct, frozen=True, kw_only=True):
    """One thing to choose: `line` is the command line that choosing it runs."""

    label: str
    line: str
    detail: str = ""
    is_current: bool = False


class ShownChoice(Tagged, frozen=True, kw_only=True, tag="choice"):
    """A choice; a face without a picker prints the lines to type."""

    title: str
    rows: tuple[ChoiceRow, ...]


class ShownChange(Tagged, frozen=True, kw_only=True, tag="change"):
    """What became of one file: `path` as people read it. `note` says what the lines cannot.

    One `is_new` was not there before, one `is_gone` is not there any more.
    """

    path: str
    change: TextChange
    is_new: bool = False
    is_gone: bool = False
    note: str = ""


AnswerPart: TypeAlias = ShownText | ShownTable | ShownChoice | ShownChange


class Quit(Tagged, frozen=True, kw_only=True, tag="quit"):
    """Leave the program."""


class SwitchSession(Tagged, frozen=True, kw_only=True, tag="switch_session"):
    """Go on with the saved session `name`, or with a new one; `fork` leaves the saved one as it is."""

    name: str | None = None
    fork: bool = False


class ClearTranscript(Tagged, frozen=True, kw_only=True, tag="clear_transcript"):
    """Clear the screen; the conversation is empty already."""


class SubmitPrompt(Tagged, frozen=True, kw_only=True, tag="submit_prompt"):
    """Send `text` as a prompt; `shown` is what a person reads in its place.

    `references` is the part of it in which `@` names files: what a person typed. Empty, it names none.
    `model` and `effort` are asked in place of the session's for this prompt alone.
    """

    text: str
    shown: str = ""
    references: str = ""
    model: str = ""
    effort: str = ""


class RepeatPrompt(Tagged, frozen=True, kw_only=True, tag="repeat_prompt"):
    """Send `text` (the last prompt where empty) `count` times more, `interval_s` seconds apart."""

    count: int
    interval_s: float
    text: str = ""


ViewName: TypeAlias = Literal[
    "transcript",
    "rewind",
    "sessions",
    "tree",
    "help",
    "context",
    "permissions",
    "tasks",
    "servers",
    "config",
]
"""The views that a face may have of its own."""


class OpenView(Tagged, frozen=True, kw_only=True, tag="open_view"):
    """Show one of the face's own views instead of the parts, which are for a face without it."""

    view: ViewName
    argument: str = ""


class ShowTerminal(Tagged, frozen=True, kw_only=True, tag="show_terminal"):
    """Say what the terminal can instead of the parts, which are for a face without one."""


class UseScreen(Tagged, frozen=True, kw_only=True, tag="use_screen"):
    """Change how the screen is used: its painter, its theme, its line editor; empty leaves as it is.

    `other` is the other one of two: inline and full, emacs and vim, brief and as the settings say.
    """

    painter: Literal["", "other", "inline", "full", "linear"] = ""
    theme: str = ""
    editor: Literal["", "other", "emacs", "vim"] = ""
    detail: Literal["", "other", "brief", "normal", "full"] = ""


class CopyText(Tagged, frozen=True, kw_only=True, tag="copy_text"):
    """Put `text` on the clipboard."""

    text: str


class EditFile(Tagged, frozen=True, kw_only=True, tag="edit_file"):
    """Open the file at `path` in the person's editor."""

    path: str


CommandEffect: TypeAlias = (
    Quit
    | SwitchSession
    | ClearTranscript
    | SubmitPrompt
    | RepeatPrompt
    | OpenView
    | ShowTerminal
    | UseScreen
    | CopyText
    | EditFile
)
"""What a face does next because of a command; a face that cannot says so by name."""


class CommandAnswer(Struct, frozen=True, kw_only=True):
    """`parts` to show in order, then what the face does. A failure is raised, not answered.

    `events` are what happened to the conversation, for a face that shows those too.
    """

    parts: tuple[AnswerPart, ...] = ()
    effect: CommandEffect | None = None
    events: tuple[AgentEvent, ...] = ()

    @classmethod
    def of(cls, markdown: str, effect: CommandEffect | None = None) -> CommandAnswer:
        """An answer of one text."""
        return cls(parts=(ShownText(markdown=markdown),), effect=effect)
