"""All slash commands of a face by name; the built-in ones come first and keep their names."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, TypeAlias

from caliban_commands.answer import CommandAnswer
from caliban_commands.command import Place, SlashCommand, SlashContext
from caliban_commands.errors import CommandDenied, CommandNotHere, UnknownCommand
from caliban_common.near import did_you_mean
from caliban_common.text import one_line

CALLED: Final = re.compile(r"/([A-Za-z0-9][\w.:-]{0,255})(?:\s+(.*))?", re.DOTALL)

FurtherCommands: TypeAlias = Callable[[bool], tuple[SlashCommand, ...]]
"""Returns the dynamic commands, the same tuple while nothing changed; true forces a rescan."""


class CommandRegistry:
    """Commands by their names and aliases. One that comes with a taken name is left out: `add` says so.

    `further` are those of files and servers, which may change during a session: they stand behind the others.
    `taken` are those of them that were left out. `ask` finds out which of them are elsewhere.
    """

    def __init__(
        self,
        commands: Iterable[SlashCommand] = (),
        *,
        further: FurtherCommands | None = None,
        ask: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._ask = ask
        self._own: dict[str, SlashCommand] = {}
        self._rows: dict[str, SlashCommand] = {}
        self._names: dict[str, SlashCommand] = {}
        self._further = further
        self._seen: tuple[SlashCommand, ...] = ()
        self.taken: tuple[SlashCommand, ...] = ()
        for command in commands:
            self.add(command)

    def __iter__(self) -> Iterator[SlashCommand]:
        self._look(now=False)
        return iter(tuple(self._rows.values()))

    def add(self, command: SlashCommand) -> bool:
        """Take `command` in; false where its name is taken. An alias that is taken is left out alone."""
        if not self._take(command):
            return False
        self._own[command.name] = command
        return True

    def find(self, name: str, *, now: bool = False) -> SlashCommand | None:
        """The command of this name or alias, whatever its case; `now` looks whether there are others."""
        self._look(now=now)
        return self._names.get(name.lower())

    async def refresh(self) -> None:
        """Find out what commands there are elsewhere, such as with servers."""
        if self._ask is not None:
            await self._ask()

    def called(self, line: str) -> tuple[SlashCommand, str] | None:
        """The command that `line` calls, with what is said to it; `None` where the line is no call.

        A path such as `/usr/bin` is none, and neither is what lies at the root of the file system. Raises
        `UnknownCommand` for a call of nothing that is known.
        """
        match = CALLED.fullmatch(line.strip())
        if match is None:
            return None
        command = self.find(match[1], now=True)
        if command is None and os.path.lexists(f"/{match[1]}"):
            return None
        if command is None:
            shown = one_line(match[1], max_chars=80)
            near = did_you_mean(match[1].lower(), tuple(self._names), sign="/")
            raise UnknownCommand(
                f"there is no command /{shown}", hint=" ".join(filter(None, (near, "/help lists all")))
            )
        return command, (match[2] or "").strip()

    async def run(
        self, command: SlashCommand, arguments: str, context: SlashContext, place: Place
    ) -> CommandAnswer:
        """Run the command, unless a prompt-submission hook objects.

        Of one that submits a prompt hooks hear with that. Raises `CommandNotHere` where `place` has no room
        for it, `CommandDenied`, and what the command raises.
        """
        if command.later:
            raise CommandNotHere(f"/{command.name} is not part of this version: {command.later}")
        if place not in command.places:
            raise CommandNotHere(
                f"/{command.name} does not run {_where(place)}", hint=command.instead or None
            )
        if not command.submits:
            objection = await context.session.admit_command(command.name, arguments)
            if objection is not None:
                raise CommandDenied(f"/{command.name} is not done: {objection.message}", hint=objection.hint)
        answer = await command.handler()(context, arguments)
        if command.submits:
            context.session.announce_command(command.name, arguments)
        return answer

    def _take(self, command: SlashCommand) -> bool:
        if command.name.lower() in self._names:
            return False
        self._rows[command.name] = command
        for name in (command.name, *command.aliases):
            self._names.setdefault(name.lower(), command)
        return True

    def _look(self, *, now: bool) -> None:
        """Update the table where the dynamic commands have changed."""
        if self._further is None:
            return
        seen = self._further(now)
        if seen is self._seen:
            return
        self._seen, self._rows, self._names = seen, {}, {}
        for command in self._own.values():
            self._take(command)
        self.taken = tuple(command for command in seen if not self._take(command))


def _where(place: Place) -> str:
    match place:
        case "idle":
            return "between prompts"
        case "running":
            return "while a prompt is at work; it can be interrupted"
        case "headless":
            return "without the terminal interface"
