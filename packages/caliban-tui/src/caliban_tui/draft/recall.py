"""The walk of a draft through what was typed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from caliban_tui.draft.history import HistoryScope, PromptHistory
from caliban_tui.draft.pastes import PastedTexts

HISTORY_CHARS: Final = 10_000
"""A longer entry of the history comes back as a placeholder."""


class PromptRecall:
    """A walk through `history` that comes back to the draft it began with.

    Steps back that are asked for before the history is read are owed: `read` says how many, once it is,
    unless the draft has become another one meanwhile.
    """

    def __init__(self, pastes: PastedTexts) -> None:
        self.history: PromptHistory = PromptHistory()
        self._pastes = pastes
        self._is_read = False
        self._owed = 0
        self._entries: Sequence[str] = ()
        self._place = 0
        self._draft: str | None = None
        self._shown = ""
        self._left: list[str] = []

    def entries(self, scope: HistoryScope) -> Sequence[str]:
        """See `PromptHistory`: of whichever is walked through now."""
        return self.history.entries(scope)

    def step(self, steps: int, draft: str) -> str | None:
        """What stands so many steps on from `draft`, those back being negative; `None` at an end."""
        if self._draft is None or self._place == len(self._entries):
            self._entries, self._draft = self.history.entries(), draft
            self._place = len(self._entries)
        place = min(max(self._place + steps, 0), len(self._entries))
        if place == self._place:
            if not self._is_read:
                self._owed = max(self._owed - steps, 0)
            return None
        self._place = place
        if place == len(self._entries):
            shown = self._draft
        else:
            shown = self.shown(self._entries[place])
        self._shown = shown
        return shown

    def shown(self, entry: str) -> str:
        """An entry as it stands in the draft."""
        return self._pastes.shown(entry, most=HISTORY_CHARS)

    def leave(self, draft: str) -> None:
        """Something else stands where `draft` stood, and is no change of it."""
        if draft.strip():
            self._left.append(self._pastes.whole(draft))

    def left(self) -> tuple[str, ...]:
        """The drafts that were left since the last call: nobody has sent or cleared them."""
        if self._draft is not None and self._place != len(self._entries):
            self.leave(self._draft)
        left, self._left = tuple(dict.fromkeys(self._left)), []
        return left

    def stop(self) -> None:
        """Forget the walk."""
        self._entries, self._draft, self._owed = (), None, 0

    def follow(self, draft: str) -> None:
        """The draft is this now: one that the walk has not put there ends it."""
        if draft != self._shown:
            if self._draft is not None and draft != self._draft and self._place != len(self._entries):
                self.leave(self._draft)
            self.stop()

    async def read(self, history: PromptHistory) -> int:
        """Walk through another history, with what was typed before in it; how many steps back are owed.

        Raises `CalibanError` where it cannot be read, or what was typed not be kept.
        """
        begun, self.history, self._is_read = self.history, history, False
        try:
            await history.load()
        finally:
            self._is_read = True
        owed = self._owed
        self.stop()
        for text in begun.typed:
            entry = history.add(text)
            if entry is not None:
                await history.keep(entry)
        return owed
