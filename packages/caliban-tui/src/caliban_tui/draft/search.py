"""The search through the history, as a value that keys change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from caliban_common.text import one_line
from caliban_tui.draft.history import SCOPES, HistoryScope, newest_first
from caliban_tui.draft.menu import MENU_ROWS, MenuRow, MenuView
from caliban_tui.keys.stroke import PASTE, KeyStroke
from caliban_tui.overlay.overlay import MAX_SEARCH
from caliban_tui.question.textfield import pasted_row
from caliban_tui.ui import DraftView

MARK: Final = "search> "
LABEL_CHARS: Final = 300
WORDS: Final[Mapping[HistoryScope, str]] = MappingProxyType(
    {"session": "this session", "project": "this project", "all": "all projects"}
)


class HistorySearch:
    """What is searched for, where, and which of what fits is chosen: the newest first.

    `entries` gives those of a scope, oldest first. A text fits that has all words of the query in it.
    """

    def __init__(self, entries: Callable[[HistoryScope], Sequence[str]]) -> None:
        self._entries = entries
        self.query: str = ""
        self.scope: HistoryScope = "session"
        self.is_loading: bool = False
        self._matches: list[str] = []
        self._place = 0
        self.refresh()

    @property
    def chosen(self) -> str | None:
        """What Enter takes."""
        return self._matches[self._place] if self._matches else None

    def refresh(self) -> None:
        """Look again: the query, the scope or the entries are others."""
        words = self.query.lower().split()
        texts = newest_first(self._entries(self.scope))
        self._matches = [text for text in texts if all(word in text.lower() for word in words)]
        self._place = 0

    def takes(self, stroke: KeyStroke) -> bool:
        """Change the query as a key says; false for a key that is none of the query's."""
        if stroke.is_character:
            self.type(stroke.name)
        elif stroke.name == PASTE:
            self.type(pasted_row(stroke.text, max(MAX_SEARCH - len(self.query), 0)))
        elif stroke.name in ("backspace", "c-u"):
            self.erase(everything=stroke.name == "c-u")
        else:
            return False
        return True

    def type(self, text: str) -> None:
        """Add to the query."""
        self.query += text
        self.refresh()

    def erase(self, *, everything: bool = False) -> None:
        """Take a character off the query, or all."""
        self.query = "" if everything else self.query[:-1]
        self.refresh()

    def move(self, steps: int) -> None:
        """Choose an older one, or with a negative number a newer one."""
        self._place = min(max(self._place + steps, 0), max(len(self._matches) - 1, 0))

    def widen(self) -> HistoryScope:
        """Search the next wider scope, behind the widest the narrowest again; which that is."""
        self.scope = SCOPES[(SCOPES.index(self.scope) + 1) % len(SCOPES)]
        self.refresh()
        return self.scope

    def draft(self) -> DraftView:
        """What stands in the place of the draft."""
        return DraftView(text=self.query, cursor=len(self.query), mark=MARK)

    def view(self) -> MenuView:
        """What stands below it."""
        top = min(max(self._place - MENU_ROWS + 1, 0), max(len(self._matches) - MENU_ROWS, 0))
        shown = self._matches[top : top + MENU_ROWS]
        position = f"{self._place + 1:,} of {len(self._matches):,}" if self._matches else "nothing"
        wider = WORDS[SCOPES[(SCOPES.index(self.scope) + 1) % len(SCOPES)]]
        state = "being read" if self.is_loading else f"ctrl+s: {wider}"
        return MenuView(
            rows=tuple(MenuRow(label=one_line(text, max_chars=LABEL_CHARS)) for text in shown),
            selected=self._place - top if shown else -1,
            more=len(self._matches) - len(shown),
            title=f"history of {WORDS[self.scope]}: {position} · {state}",
        )
