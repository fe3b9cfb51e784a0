"""The built-in commands as rows; what does them is loaded when one is called."""

from __future__ import annotations

from typing import Final

from caliban_commands.command import EVERYWHERE, ON_SCREEN, SlashCommand, Use

_SESSION: Final = "caliban_commands.builtin.session"
_MODEL: Final[frozenset[Use]] = frozenset(["model"])
_SAVED: Final[frozenset[Use]] = frozenset(["session"])

BUILTIN: Final = (
    SlashCommand(
        name="clear",
        summary="forget what was said and begin again; the system prompt, tasks and plan mode stay",
        group="Session",
        run=f"{_SESSION}:clear",
        uses=_SAVED,
    ),
    SlashCommand(
        name="quit",
        summary="leave",
        group="Session",
        run=f"{_SESSION}:leave",
        aliases=("exit",),
        places=ON_SCREEN,
        instead="the command ends by itself",
    ),
    SlashCommand(
        name="loop",
        summary="send the last prompt, or the words given, several times more",
        group="Session",
        run=f"{_SESSION}:loop",
        arguments="[--n=COUNT] [--interval=SECONDS] [prompt]",
        places=ON_SCREEN,
        instead='a loop of the shell around caliban -c -p "…" does it',
    ),
    SlashCommand(
        name="copy",
        summary="put the last answer on the clipboard; a number counts back from it",
        group="Session",
        run=f"{_SESSION}:copy",
        arguments="[number]",
        places=ON_SCREEN,
        instead="/export writes down what was said",
    ),
    SlashCommand(
        name="compact",
        summary="summarise the conversation to make room",
        group="Context",
        run=f"{_SESSION}:compact",
        uses=_MODEL | _SAVED,
    ),
    SlashCommand(
        name="undo",
        summary="put back what summaries have taken the place of",
        group="Context",
        run=f"{_SESSION}:undo",
        uses=_SAVED,
    ),
    SlashCommand(
        name="cost",
        summary="what this run has cost, per model",
        group="Context",
        run=f"{_SESSION}:cost",
        places=EVERYWHERE,
    ),
)
