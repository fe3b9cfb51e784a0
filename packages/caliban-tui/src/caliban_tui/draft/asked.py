"""What could stand behind a command or an `@`, where somebody has to be asked: off the keys, and kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import anyio

from caliban_commands.command import AskedWords
from caliban_commands.registry import CommandRegistry
from caliban_common.errors import CalibanError
from caliban_tui.draft.files import MENTION
from caliban_tui.draft.suggest import ARGUMENTS, Suggestion, Suggestions

ASK_S: Final = 3.0
"""So long somebody is asked; whoever does not answer by then has nothing to say."""

LOOK_S: Final = 15.0
"""So long it is waited for what servers have: some take seconds to start."""

OF_SERVERS: Final = "mcp__"
FRESH_S: Final = 60.0
MAX_KNOWN: Final = 200
MAX_WORDS: Final = 100


class AskedSuggester:
    """Words of commands that say whom to ask, and of what is `mentioned`.

    `run` asks for as long as it runs, for what is typed now and nothing else; `changed` is called when there
    is more to suggest.
    """

    def __init__(
        self,
        commands: Callable[[], CommandRegistry | None],
        mentioned: Callable[[str], AskedWords | None],
        *,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commands = commands
        self._mentioned = mentioned
        self._changed = changed
        self._clock = clock
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._wanted: tuple[str, AskedWords] | None = None
        self._news = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def suggest(self, text: str, cursor: int) -> Suggestions | None:
        """See `Suggester`."""
        asked = self._asked(text, cursor)
        line = text[text.rfind("\n", 0, cursor) + 1 : cursor]
        key = line if asked is None or asked.ask != self._look else f"?{line}"
        if self._wanted is not None and (asked is None or self._wanted[0] != key):
            self._wanted = None
            if self._scope is not None:
                self._scope.cancel()
        if asked is None:
            return None
        known = self._known.get(key)
        if known is None or self._clock() - known[0] > FRESH_S:
            if self._wanted is None:
                self._wanted = (key, asked)
                self._news.set()
            return None
        words = known[1]
        if not words or words == (asked.typed,):
            return None
        items = tuple(Suggestion(text=word, label=word, sends=asked.ends) for word in words)
        return Suggestions(start=cursor - len(asked.typed), end=cursor, items=items, chooses=False)

    async def run(self) -> None:
        """Ask for what is wanted, until cancelled."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            wanted = self._wanted
            if wanted is None:
                continue
            words: tuple[str, ...] = ()
            is_look = wanted[1].ask == self._look
            with anyio.move_on_after(LOOK_S if is_look else ASK_S) as self._scope:
                try:
                    words = (await wanted[1].ask())[:MAX_WORDS]
                except CalibanError:
                    words = ()  # it has nothing to say; what was typed counts as it stands
            self._scope = None
            if self._wanted is not wanted:
                continue
            self._wanted = None
            self._known[wanted[0]] = (self._clock(), words)
            if len(self._known) > MAX_KNOWN:
                del self._known[next(iter(self._known))]
            self._changed()

    async def _look(self) -> tuple[str, ...]:
        """Look which commands servers have: until they are there, nobody can be asked about one."""
        commands = self._commands()
        if commands is not None:
            await commands.refresh()
        return ()

    def _asked(self, text: str, cursor: int) -> AskedWords | None:
        """Who is to be asked for what could stand there."""
        if text[cursor : cursor + 1].strip():
            return None
        if (match := ARGUMENTS.fullmatch(text[:cursor])) is not None:
            commands = self._commands()
            command = None if commands is None else commands.find(match[1])
            if command is not None and command.asks is not None:
                return command.asks(match[2])
            if commands is not None and command is None and match[1].startswith(OF_SERVERS):
                return AskedWords(typed="", ask=self._look)
        match = MENTION.fullmatch(text, text.rfind("\n", 0, cursor) + 1, cursor)
        return self._mentioned(match[2]) if match is not None and match[2] else None
