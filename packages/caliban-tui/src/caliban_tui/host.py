"""What the terminal interface needs of the app, as ports: it knows no flag, no settings and no provider."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from caliban_commands.command import SlashContext
from caliban_commands.registry import CommandRegistry
from caliban_common.event import AgentEvent
from caliban_common.message import Message, ToolUseBlock
from caliban_common.permission import PermissionMode
from caliban_tui.draft.ports import DraftHelp
from caliban_tui.options import TerminalOptions
from caliban_tui.overlay.views import ViewHost
from caliban_tui.question.desk import DeskHost
from caliban_tui.status import StatusLine
from caliban_tui.transcript.blocks import ShellBlock


class ModeStep(Struct, frozen=True, kw_only=True):
    """The permission mode that the run is in now, and why it is not in another one."""

    mode: PermissionMode
    warning: str = ""


class NotePlace(Struct, frozen=True, kw_only=True):
    """A file that a note may go to, by the name of its tier."""

    name: str
    path: str


class TerminalHost(SlashContext, Protocol):
    """One conversation in an open app, for as long as the terminal is with it."""

    @property
    def commands(self) -> CommandRegistry:
        """The slash commands of now."""
        ...

    @property
    def options(self) -> TerminalOptions:
        """How the screen is wanted now; the same value as long as nothing has changed."""
        ...

    @property
    def views(self) -> ViewHost:
        """What the views of the terminal show."""
        ...

    @property
    def desk(self) -> DeskHost:
        """What questions to the person need of the app."""
        ...

    @property
    def draft_help(self) -> DraftHelp:
        """What helps to write a prompt; the same value as long as the conversation is the same."""
        ...

    def status(self) -> StatusLine:
        """What the status line says; quick, asked at every frame that changes something."""
        ...

    def observe(self, event: AgentEvent) -> None:
        """Hear of an event of the session, in order; quick."""
        ...

    def prompt_ended(self) -> None:
        """A prompt is answered, or the conversation has begun."""
        ...

    def describe(self, call: ToolUseBlock) -> str:
        """A call in one line."""
        ...

    def cycle_mode(self) -> ModeStep:
        """Go to the next permission mode that is open to the run."""
        ...

    async def message(self, text: str) -> Message:
        """The prompt that `text` makes, with the files that it names. Raises `CalibanError`."""
        ...

    def asked_as(self, model: str, effort: str) -> AbstractAsyncContextManager[None]:
        """Ask another model, or with another effort, for the length of a block; empty, either stays.

        Raises `CalibanError` before the block where that is not to be had.
        """
        ...

    async def shell(self, line: str, progress: Callable[[str], None]) -> ShellBlock:
        """Run a line that a person typed behind `!`; `progress` hears of what it prints.

        Cancelled, it ends the program first. Raises `CalibanError`.
        """
        ...

    def note_places(self) -> tuple[NotePlace, ...]:
        """The files that a note may go to, the usual one first. Raises `CalibanError`."""
        ...

    def add_note(self, place: NotePlace, note: str) -> None:
        """Write a note at the end of the file. Raises `CalibanError`."""
        ...
