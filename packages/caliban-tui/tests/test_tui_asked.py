"""Words that somebody else is asked for: off the keys, for what is typed now, and kept."""

from __future__ import annotations

import anyio
import pytest

from caliban_commands.command import AskedWords, SlashCommand
from caliban_commands.errors import CommandError
from caliban_commands.registry import CommandRegistry
from caliban_tui.draft.asked import FRESH_S, AskedSuggester

pytestmark = pytest.mark.anyio


class Asked:
    """A suggester whose words are given by `answers`; what was asked is in `typed`."""

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.answers: dict[str, tuple[str, ...]] = {}
        self.blocked: set[str] = set()
        self.now_s = 0.0
        self.changes = 0
        row = SlashCommand(name="mine", summary="", group="Yours", run="", asks=self.of)
        registry = CommandRegistry((row,))
        self.suggester = AskedSuggester(
            lambda: registry, self.of_mention, changed=self.changed, clock=lambda: self.now_s
        )

    def changed(self) -> None:
        self.changes += 1

    def of(self, said: str) -> AskedWords | None:
        typed = said.rsplit(" ", maxsplit=1)[-1]

        async def ask() -> tuple[str, ...]:
            self.typed.append(typed)
            if typed in self.blocked:
                await anyio.sleep_forever()
            if typed not in self.answers:
                raise CommandError("nobody knows")
            return self.answers[typed]

        return AskedWords(typed=typed, ask=ask)

    def of_mention(self, typed: str) -> AskedWords | None:
        return self.of(typed) if ":" in typed else None

    def words(self, text: str) -> list[str] | None:
        """What is suggested behind a text."""
        some = self.suggester.suggest(text, len(text))
        if some is None:
            return None
        assert text[some.start : some.end] == text.rsplit(" ", maxsplit=1)[-1].removeprefix("@")
        return [item.text for item in some.items]

    async def until(self, changes: int) -> None:
        while self.changes < changes:
            await anyio.lowlevel.checkpoint()


async def test_words_come_when_they_are_known_and_are_asked_for_once() -> None:
    asked = Asked()
    asked.answers = {"ma": ("main", "maine"), "main": ("main",), "s:x": ("s:xy",)}
    async with anyio.create_task_group() as group:
        group.start_soon(asked.suggester.run)
        assert asked.words("/mine ma") is None
        assert asked.words("/mine ma") is None
        await asked.until(1)
        assert asked.words("/mine ma") == ["main", "maine"]
        assert asked.words("/mine main") is None
        await asked.until(2)
        assert asked.words("/mine main") is None  # it is there already
        assert asked.words("see @s:x") is None
        await asked.until(3)
        assert asked.words("see @s:x") == ["s:xy"]
        assert asked.words("/mine nobody") is None
        await asked.until(4)
        assert asked.words("/mine nobody") is None
        assert asked.typed == ["ma", "main", "s:x", "nobody"]
        asked.now_s = FRESH_S + 1
        assert asked.words("/mine ma") is None
        await asked.until(5)
        assert asked.typed[-1] == "ma"
        for text in ("/other ma", "plain", "@file", '@"s:x', "/mine"):
            assert asked.words(text) is None
        group.cancel_scope.cancel()
    assert asked.changes == 5


async def test_who_does_not_answer_is_asked_no_longer_once_something_else_is_typed() -> None:
    asked = Asked()
    asked.answers = {"mai": ("main",)}
    asked.blocked = {"ma"}
    async with anyio.create_task_group() as group:
        group.start_soon(asked.suggester.run)
        assert asked.words("/mine ma") is None
        while not asked.typed:
            await anyio.lowlevel.checkpoint()
        assert asked.words("/mine mai") is None
        await asked.until(1)
        assert asked.words("/mine mai") == ["main"]
        group.cancel_scope.cancel()
