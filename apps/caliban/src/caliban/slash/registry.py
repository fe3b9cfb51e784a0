"""All slash commands of an open app: ours, then those of files, skills, plugins and servers."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Final, TypeAlias

from msgspec.structs import replace

from caliban.compose.app import App
from caliban.slash.further import FurtherRows
from caliban.slash.table import BUILT_IN
from caliban_commands.answer import CommandAnswer
from caliban_commands.builtin.help import help_command
from caliban_commands.command import SlashCommand, SlashContext
from caliban_commands.registry import CommandRegistry
from caliban_drive.session import Session

WORDS_S: Final = 1.0
"""How long completions are cached."""

AppHandler: TypeAlias = Callable[[App, SlashContext, str], Awaitable[CommandAnswer]]
"""Runs a command of the app, given the app, the face's context and the arguments."""


class BoundHandler:
    """The handler at `place`, `module:function`, for `app`: loaded when it is called."""

    def __init__(self, app: App, place: str) -> None:
        self._app = app
        self._place = place

    async def __call__(self, context: SlashContext, arguments: str) -> CommandAnswer:
        module, _, name = self._place.partition(":")
        handler: AppHandler = getattr(import_module(module), name)
        return await handler(self._app, context, arguments)


class BoundWords:
    """Completes the argument of the command `name`; loaded when the first key of one is typed.

    A menu asks at every key, so the words are cached for a moment.
    """

    def __init__(self, app: App, session: Session, name: str) -> None:
        self._app = app
        self._session = session
        self._name = name
        self._words: tuple[str, ...] = ()
        self._found_s = -math.inf

    def __call__(self, start: str) -> tuple[str, ...]:
        now_s = time.monotonic()
        if now_s - self._found_s > WORDS_S:
            from caliban.slash.words import words_of

            self._words = words_of(self._name, self._app, self._session)
            self._found_s = now_s
        wanted = start.lower()
        return tuple(word for word in self._words if word.lower().startswith(wanted))


def app_commands(app: App, session: Session) -> CommandRegistry:
    """The commands of `app`, whose conversation is `session`.

    Command files are rescanned whenever one is called or listed. Problems with them, and names that are
    taken, are reported once.
    """
    from caliban.slash.words import COMPLETED

    further = FurtherRows(app)
    registry = CommandRegistry(further=further, ask=further.ask)
    registry.add(help_command(registry))
    for row in BUILT_IN:
        bound = _bound(app, row)
        if row.name in COMPLETED:
            bound = replace(bound, complete=BoundWords(app, session, row.name))
        registry.add(bound)
    return registry


def _bound(app: App, row: SlashCommand) -> SlashCommand:
    of_app = isinstance(row.run, str) and row.run.startswith("caliban.slash.")
    return replace(row, run=BoundHandler(app, str(row.run))) if of_app else row
