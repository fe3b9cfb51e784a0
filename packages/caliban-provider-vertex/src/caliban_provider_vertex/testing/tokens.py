"""Tokens that a test gives out."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from caliban_provider.credential import Credential
from caliban_provider.google_auth import GoogleToken


class FakeTokens:
    """A `TokenSource` that gives out what it was given, the last for ever; `asked` is how it was asked."""

    def __init__(self, grants: Sequence[Credential[GoogleToken] | str]) -> None:
        self._grants = [
            Credential(value=GoogleToken(value=entry, project="p-1")) if isinstance(entry, str) else entry
            for entry in grants
        ]
        self.asked: list[bool] = []
        self._waiting: list[tuple[int, anyio.Event]] = []

    async def fetch(self, refused: bool) -> Credential[GoogleToken]:
        """The next of the grants."""
        self.asked.append(refused)
        for times, event in self._waiting:
            if len(self.asked) >= times:
                event.set()
        return self._grants[min(len(self.asked), len(self._grants)) - 1]

    async def wait_for(self, times: int) -> None:
        """Wait until it was asked `times` times."""
        event = anyio.Event()
        self._waiting.append((times, event))
        if len(self.asked) < times:
            await event.wait()
