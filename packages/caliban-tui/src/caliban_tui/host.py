"""What the terminal interface needs of the app, as ports: it knows no flag, no settings and no provider."""

from __future__ import annotations

from typing import Protocol

from caliban_commands.command import SlashContext
from caliban_commands.registry import CommandRegistry
from caliban_common.message import Message, ToolUseBlock
from caliban_common.permission import PermissionMode
from caliban_tui.blocks import ShellBlock
from caliban_tui.desk import DeskHost
from caliban_tui.status import StatusLine


class TerminalHost(SlashContext, Protocol):
    """One conversation in an open app, for as long as the terminal is with it."""

    @property
    def commands(self) -> CommandRegistry:
        """The slash commands of now."""
        ...

    @property
    def desk(self) -> DeskHost:
        """What questions to the person need of the app."""
        ...

    def status(self) -> StatusLine:
        """What the status line says; quick, asked at every frame that changes something."""
        ...

    def describe(self, call: ToolUseBlock) -> str:
        """A call in one line."""
        ...

    def cycle_mode(self) -> PermissionMode:
        """Go to the next permission mode that is open to the run."""
        ...

    async def message(self, text: str) -> Message:
        """The prompt that `text` makes, with the files that it names. Raises `CalibanError`."""
        ...

    async def shell(self, line: str) -> ShellBlock:
        """Run a line that a person typed behind `!`. Raises `CalibanError`."""
        ...
