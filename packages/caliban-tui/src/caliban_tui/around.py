"""What a conversation asks of the screen around it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from caliban_commands.answer import AnswerPart, CommandEffect, ShownChoice
from caliban_tui.host import NotePlace
from caliban_tui.keys.held import HeldKeys
from caliban_tui.waiting import WaitingLine

if TYPE_CHECKING:
    from caliban_drive.result import PromptResult


class TalkScreen(Protocol):
    """The screen. `shows_faults` lets a fault of ours end it; `held` holds keys for what commands open."""

    shows_faults: bool
    held: HeldKeys

    def show_effect(self, effect: CommandEffect, parts: tuple[AnswerPart, ...]) -> Awaitable[None]:
        """Do what a command wants of the screen; `parts` are what else it answered, for a view to show.

        Raises `CalibanError` where that is not to be had.
        """
        ...

    def choose(self, choice: ShownChoice) -> None:
        """Let the person choose a row: its line is run."""
        ...

    @property
    def is_choosing(self) -> bool:
        """Whether a command has opened something between prompts: what was typed behind it waits."""
        ...

    def choose_note_place(self, places: tuple[NotePlace, ...], note: str) -> Awaitable[NotePlace | None]:
        """Ask the person where a note goes; `None` where it is not to be written."""
        ...

    def ended(self, result: PromptResult | None) -> None:
        """A prompt has ended; `None` where it has no result."""
        ...

    def give_back(self, lines: tuple[WaitingLine, ...]) -> None:
        """Put lines that are not to be sent any more into the draft."""
        ...

    def leave(self) -> None:
        """The person wants to leave."""
        ...
