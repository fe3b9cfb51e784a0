"""`/export`: write the session to a file, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import Final

from anyio.to_thread import run_sync

from caliban.cli.tables.sessions import EXPORT_FORMATS
from caliban.commands.sessions.export import export_masker, exported, form_of, write_export
from caliban.compose.app import App
from caliban.compose.sessionstore import session_store
from caliban_commands.answer import CommandAnswer
from caliban_commands.builtin.session import has_said
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.message import Message
from caliban_common.near import did_you_mean
from caliban_common.paths import expand_user
from caliban_common.text import one_line, plural
from caliban_drive.notice import Notice
from caliban_sessions import SessionState
from caliban_sessions.entry import StoredMessage

FLAG: Final = r"(?<!\S)(?:--force(?!\S)|--format[= ]\s*(\S+))"
NAMES: Final[Mapping[str, str]] = MappingProxyType({"markdown": "md", "htm": "html"})


async def export(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Write the whole conversation to a new file."""
    form: str | None = None
    force = False
    for match in re.finditer(FLAG, arguments):
        force, form = force or match[0] == "--force", match[1] or form
    path = re.sub(FLAG, "", arguments).strip().strip("'\"")
    if path.startswith("--"):
        shown = one_line(path, max_chars=60)
        raise BadArguments(f"/export does not know {shown}", hint="/export [path] [--format=md|json|html]")
    target = expand_user(path) if path else None
    form = NAMES.get(form or "", form) or form_of(target)
    if form not in EXPORT_FORMATS:
        near = did_you_mean(form, EXPORT_FORMATS)
        raise BadArguments(
            f"unknown format {one_line(form, max_chars=40)!r}",
            hint=f"{near} it takes md, json or html".strip(),
        )
    if not has_said(context.session):
        raise CommandError("nothing was said yet", hint="caliban sessions export NAME writes another session")
    if target is None:
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        target = app.workspace / f"caliban-session-{day}.{form}"
    saved = _saved(app, context)
    masker = export_masker(
        saved[0].spent, lambda words: app.reporter(Notice(subtype="export", message=words))
    )
    place = app.workspace / target
    data = exported(saved, form, app.live.now, masker)
    # A pipe may be read slowly, or not to its end: nobody but this command waits for that.
    await run_sync(partial(write_export, place, data, force=force), abandon_on_cancel=True)
    count = plural(_said(tuple(entry.message for entry in saved[1])), "message")
    return CommandAnswer.of(f"{count} written to {one_line(str(place), max_chars=300)}")


def _saved(app: App, context: SlashContext) -> tuple[SessionState, tuple[StoredMessage, ...]]:
    """The session as the store has it, or as it is in memory where it is not saved."""
    store, messages = session_store(app.options.session), context.session.messages
    is_whole = app.board.writer is not None or _said(messages) == _said(app.sessions.saved.messages)
    if is_whole and store.exists(context.session.id):
        return store.entries(context.session.id)
    now = datetime.now(UTC)
    state = SessionState(
        name=context.session.id,
        id=context.session.id,
        created_at=now,
        updated_at=now,
        provider=app.model.name,
        model=context.session.agent.model,
        workspace=str(app.workspace),
        messages=messages,
    )
    return state, tuple(
        StoredMessage(id=message.id, parent=None, message=message, raw={}) for message in messages
    )


def _said(messages: tuple[Message, ...]) -> int:
    return sum(message.role != "system" for message in messages)
