"""`/diff`: what this session has changed in files, by the checkpoints that it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import anyio.to_thread

from caliban.compose.app import App
from caliban.compose.rewinds import RewindScene, rewind_points
from caliban_checkpoint import (
    SUPPORTED,
    CheckpointError,
    CheckpointStore,
    Manifest,
    RestoreStep,
    Roots,
)
from caliban_checkpoint.places import look
from caliban_commands.answer import AnswerPart, CommandAnswer, ShownChange, ShownText
from caliban_commands.builtin.session import has_said
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.hunks import TextChange, text_change
from caliban_common.text import one_line, plural
from caliban_drive.session import Session

MAX_BYTES: Final = 2_000_000
"""Of a file on one side: of larger ones no lines are shown."""
MAX_FILES: Final = 200
NOTHING: Final = TextChange(added=0, removed=0)


async def diff(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The files that differ from what they were before the session, or before a prompt of it."""
    if arguments and not (arguments.isascii() and arguments.isdigit() and len(arguments) < 7):
        shown = one_line(arguments, max_chars=60)
        raise BadArguments(f"/diff takes the number of a prompt, not {shown!r}", hint="/rewind lists them")
    if app.board.writer is None and not has_said(context.session):
        raise CommandError("nothing was said yet", hint="caliban -c -p /diff looks at the last session")
    if (
        app.options.workspace.no_checkpoints
        or not SUPPORTED
        or (app.board.writer is None and not _goes_on(app))
    ):
        raise CommandError("this run keeps no checkpoints", hint="!git diff shows what git knows of")
    first = int(arguments) if arguments else None
    parts = await anyio.to_thread.run_sync(_parts, app, context.session, first, abandon_on_cancel=True)
    return CommandAnswer(parts=parts)


def _goes_on(app: App) -> bool:
    """Whether the session was there before this run, which may have kept nothing itself."""
    session = app.options.session
    return session.continue_session or session.resume is not None or session.session is not None


def _parts(app: App, session: Session, first: int | None) -> tuple[AnswerPart, ...]:
    points = rewind_points(RewindScene.of(app, session))
    store, roots = points.store, points.roots
    since = "this session began" if first is None else f"before prompt {first}"
    if first is not None and points.find(first) is None:
        numbers = [manifest.prompt_index for manifest in points.all]
        known = f"{numbers[0]} to {numbers[-1]} are kept" if numbers else "none is kept"
        raise CommandError(f"no prompt {first} of this session is known: {known}")
    steps = points.plan(first or 1)
    changed = [step for step in steps if step.kind != "unchanged"]
    shown = [_shown(app, store, roots, step) for step in changed[:MAX_FILES]]
    added = sum(part.change.added for part in shown)
    removed = sum(part.change.removed for part in shown)
    words = [f"{plural(len(changed), 'file')} changed since {since}: +{added} -{removed}"]
    if not changed:
        words = [f"no file is another one than {'when' if first is None else 'it was'} {since}"]
    if len(changed) > MAX_FILES:
        words.append(f"the first {MAX_FILES} of them are shown")
    words += _remarks(points.written, first or 1, points.problems)
    return (ShownText(markdown="  \n".join(words)), *shown)


def _remarks(manifests: Sequence[Manifest], first: int, problems: Sequence[str]) -> Iterator[str]:
    """What is not known: nobody is to take the list for the whole."""
    seen = (manifest for manifest in manifests if manifest.prompt_index >= first)
    notes = dict.fromkeys(note for manifest in seen for note in manifest.notes)
    yield from (one_line(words, max_chars=300) for words in (*notes, *problems))


def _shown(app: App, store: CheckpointStore, roots: Roots, step: RestoreStep) -> ShownChange:
    path = one_line(roots.shown(step.path), max_chars=400)
    before, after = _text_then(store, step), _text_now(roots, step)
    note = step.reason if step.kind in ("conflict", "impossible") else ""
    change = NOTHING
    if isinstance(before, str) and isinstance(after, str):
        change = text_change(app.masker.text(before), app.masker.text(after))
        if not (change.hunks or change.left_out) and before == after:
            note = note or "its mode is another one"
    else:
        note = note or "no text, or too large to be shown"
    return ShownChange(
        path=path,
        change=change,
        is_new=step.target.kind == "absent",
        is_gone=step.now.kind == "absent",
        note=one_line(note, max_chars=300),
    )


def _text_now(roots: Roots, step: RestoreStep) -> str | None:
    if step.now.kind != "file":
        return "" if step.now.kind == "absent" else None
    try:
        data = look(roots.place(step.path), keep_bytes=MAX_BYTES).data
    except CheckpointError:
        return None
    return None if data is None else _text(data)


def _text_then(store: CheckpointStore, step: RestoreStep) -> str | None:
    if step.target.kind != "file":
        return "" if step.target.kind == "absent" else None
    if step.target.size > MAX_BYTES:
        return None
    try:
        return _text(store.blob(step.index, step.target.sha256))
    except CheckpointError:
        return None


def _text(data: bytes) -> str | None:
    """The text that `data` is; a NUL makes it none, and so does what is no UTF-8."""
    if len(data) > MAX_BYTES or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
