"""The saved sessions as the terminal lists them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import anyio.to_thread

from caliban.commands.sessions.list import is_of, walk
from caliban.compose.app import App
from caliban.compose.sessionstore import session_store
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_drive.session import Session
from caliban_sessions import SessionHead
from caliban_sessions.tree import tree_of
from caliban_tui.overlay.views import SessionRow

PREVIEWED: Final = 6
MAX_PREVIEW_BYTES: Final = 8_000_000
TITLE_CHARS: Final = 200


class SavedList:
    """The sessions of an app; what was looked at once is remembered."""

    def __init__(self, app: App, session: Session) -> None:
        self._app = app
        self._session = session
        self._store = session_store(app.options.session)
        self._sizes: dict[str, int] = {}
        self._previews: dict[str, tuple[str, ...]] = {}

    async def rows(self, *, everywhere: bool) -> tuple[SessionRow, ...]:
        """The sessions, forks below what they were forked from, the one used last first."""
        return await anyio.to_thread.run_sync(self._rows, everywhere, abandon_on_cancel=True)

    def _rows(self, everywhere: bool) -> tuple[SessionRow, ...]:
        here = None if everywhere else str(self._app.workspace)
        heads = [head for head in self._store.list() if not head.problem and is_of(head, here)]
        self._sizes = {head.name: head.size_bytes for head in heads}
        return tuple(self._row(depth, head, everywhere) for depth, head in walk(tree_of(heads)))

    def _row(self, depth: int, head: SessionHead, everywhere: bool) -> SessionRow:
        return SessionRow(
            name=head.name,
            title=one_line(head.shown_title, max_chars=TITLE_CHARS),
            when=_since(head.updated_at, datetime.now(UTC)),
            messages=head.message_count,
            workspace=one_line(head.workspace) if everywhere else "",
            labels=head.labels,
            depth=depth,
            is_current=head.name == self._session.id,
        )

    def preview(self, name: str) -> tuple[str, ...]:
        """How a session ends: who said what, a line each."""
        if name not in self._previews:
            self._previews[name] = self._preview(name)
        return self._previews[name]

    def _preview(self, name: str) -> tuple[str, ...]:
        if self._sizes.get(name, 0) > MAX_PREVIEW_BYTES:
            return ("it is too large to be looked into here",)
        try:
            messages = self._store.load(name).messages
        except CalibanError as error:
            return (error.message,)
        lines = [(message.role, one_line(message.text, max_chars=300)) for message in messages]
        shown = [(role, text) for role, text in lines if text and role != "system"][-PREVIEWED:]
        return tuple(f"{'> ' if role == 'user' else ''}{text}" for role, text in shown)

    async def rename(self, name: str, title: str) -> None:
        """Give a session a title. Raises `SessionError`, also where another process writes to it."""
        title = one_line(title, max_chars=TITLE_CHARS)
        writer = self._app.board.writer
        if name == self._session.id and writer is not None:
            writer.describe(title=title)
        else:
            await anyio.to_thread.run_sync(self._rename, name, title)

    def _rename(self, name: str, title: str) -> None:
        with self._store.open(name, create=False) as writer:
            writer.describe(title=title)


def _since(then: datetime, now: datetime) -> str:
    minutes = max(int((now - then).total_seconds() // 60), 0)
    for size, word in ((60 * 24, "d"), (60, "h"), (1, "min")):
        if minutes >= size:
            return f"{minutes // size} {word} ago"
    return "just now"
