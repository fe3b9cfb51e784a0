"""What was typed before: of this session, of the project, of all projects."""

from __future__ import annotations

from collections.abc import Sequence


class PromptRecall:
    """A walk through `entries`, oldest first, that comes back to the draft it began with."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._entries = list(entries)
        self._place = 0
        self._draft: str | None = None

    @property
    def entries(self) -> tuple[str, ...]:
        """All of them, oldest first."""
        return tuple(self._entries)

    def add(self, entry: str) -> None:
        """Remember `entry` as the newest, once; the walk ends."""
        self.stop()
        if not entry.strip():
            return
        if entry in self._entries:
            self._entries.remove(entry)
        self._entries.append(entry)

    def stop(self) -> None:
        """Forget the walk."""
        self._draft = None

    def step(self, steps: int, text: str) -> str | None:
        """The entry `steps` on from the one that was given last; `text` is the draft of now."""
        if self._draft is None:
            self._draft, self._place = text, len(self._entries)
        place = min(max(self._place + steps, 0), len(self._entries))
        if place == self._place:
            return None
        self._place = place
        return self._draft if place == len(self._entries) else self._entries[place]
