"""The built-in commands as rows; what does them is loaded when one is called."""

from __future__ import annotations

from typing import Final

from caliban_commands.command import EVERYWHERE, ON_SCREEN, SlashCommand

_SESSION: Final = "caliban_commands.builtin.session"

BUILTIN: Final = (
    SlashCommand(
        name="compact",
        summary="summarise the conversation to make room",
        group="Context",
        run=f"{_SESSION}:compact",
    ),
    SlashCommand(
        name="cost",
        summary="what the session has cost, per model",
        group="Context",
        run=f"{_SESSION}:cost",
        places=EVERYWHERE,
    ),
    SlashCommand(
        name="quit",
        summary="leave",
        group="Session",
        run=f"{_SESSION}:leave",
        aliases=("exit",),
        places=ON_SCREEN,
    ),
)
