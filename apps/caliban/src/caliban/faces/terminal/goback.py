"""Back to before a prompt of the session at the terminal: files, conversation, or a summary in its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import anyio.to_thread
from msgspec import Struct

from caliban.compose.app import App
from caliban.compose.permissions import roots_of
from caliban.compose.recorder import checkpoint_root, limits_of, now, prompt_points
from caliban.compose.truncation import cut_before
from caliban.errors import CommandRefused
from caliban_checkpoint import (
    SUPPORTED,
    CheckpointError,
    CheckpointStore,
    Manifest,
    RestoredFile,
    Restorer,
    RestoreStep,
    Roots,
    forced,
    unlisted,
    workspace_dir,
)
from caliban_common.text import one_line, plural
from caliban_drive.part import HistorySide
from caliban_drive.session import Session
from caliban_tui.overlay.views import PromptRow, Restored, RestoreFile, RestoreKind, RestorePlan
from caliban_tui.question.asked import CallBrief

SHOWN_BYTES: Final = 500_000
BARRED: Final = ("conflict", "impossible")
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"restore": "puts back", "delete": "deletes", "conflict": "keeps", "impossible": "keeps"}
)


class _Kept(Struct, frozen=True, kw_only=True):
    store: CheckpointStore
    restorer: Restorer
    known: tuple[Manifest, ...]
    unwritten: tuple[Manifest, ...]

    def named(self, index: int) -> Manifest:
        for manifest in self.known:
            if manifest.prompt_index == index:
                return manifest
        raise CommandRefused(f"there is no prompt {index} any more")


class GoBack:
    """Goes back in the session of `app`. Not while a prompt is at work."""

    def __init__(self, app: App, session: Session) -> None:
        self._app = app
        self._session = session

    async def prompts(self) -> tuple[PromptRow, ...]:
        """The prompts, the newest first."""
        kept = await anyio.to_thread.run_sync(self._kept)
        return tuple(
            PromptRow(
                index=manifest.prompt_index,
                title=manifest.title,
                when=manifest.created_at.replace("T", " ")[:16],
                files=len(manifest.entries),
                notes=manifest.notes,
            )
            for manifest in reversed(kept.known)
        )

    async def plan(self, prompt: PromptRow) -> RestorePlan:
        """What going back to before `prompt` would do."""
        return await anyio.to_thread.run_sync(self._plan, prompt)

    async def restore(self, prompt: PromptRow, kind: RestoreKind, *, force: bool) -> Restored:
        """Go back, files first. Raises `CommandRefused`, `CheckpointError`, and what summaries do."""
        if kind in ("summarise_from", "summarise_to"):
            return await self._summarised(prompt, kind)
        said = []
        if kind != "conversation":
            said.append(await anyio.to_thread.run_sync(self._put_back, prompt, force))
            if self._app.board.checkpoints is not None:
                await self._app.board.checkpoints.forget()
        if kind != "code":
            said.append(await anyio.to_thread.run_sync(self._cut, prompt))
        return Restored(
            words=f"back to before prompt {prompt.index}: {'; '.join(said)}", reopens=kind != "code"
        )

    def _kept(self) -> _Kept:
        app, session = self._app, self._session
        place = workspace_dir(checkpoint_root(app.environ), app.workspace)
        store = CheckpointStore(place, session.id, limits_of(app.environ))
        manifests, _ = store.load()
        unwritten = tuple(unlisted(manifests, prompt_points(session.messages, app.masker), now=now()))
        restorer = Restorer(store, Roots((app.workspace, *roots_of(app.live.now, app.workspace))))
        return _Kept(store=store, restorer=restorer, known=(*manifests, *unwritten), unwritten=unwritten)

    def _plan(self, prompt: PromptRow) -> RestorePlan:
        kept = self._kept()
        manifest = kept.named(prompt.index)
        cut = cut_before(self._session.messages, manifest.prompt_id, None)
        no_files = self._no_files()
        files: tuple[RestoreFile, ...] = ()
        if not no_files:
            steps = kept.restorer.plan(kept.known, prompt.index)
            files = tuple(_file(kept, step) for step in steps if step.kind in WORDS)
        return RestorePlan(
            prompt=prompt,
            files=files,
            removed=0 if cut is None else cut.removed,
            no_files=no_files,
            no_conversation=self._no_conversation(manifest),
        )

    def _no_files(self) -> str:
        options = self._app.options
        if options.session.no_save or options.workspace.no_checkpoints:
            return "this run keeps no checkpoints"
        return "" if SUPPORTED else "files cannot be put back on this system"

    def _no_conversation(self, manifest: Manifest) -> str:
        if self._app.board.writer is None:
            return "this session is not saved"
        if cut_before(self._session.messages, manifest.prompt_id, None) is None:
            return "it is no part of the conversation any more"
        return ""

    def _put_back(self, prompt: PromptRow, force: bool) -> str:
        kept = self._kept()
        why = self._no_files()
        if why:
            raise CommandRefused(why)
        steps = kept.restorer.plan(kept.known, prompt.index)
        if force:
            steps = tuple(map(forced, steps))
        barred = next((step for step in steps if step.kind in BARRED), None)
        if barred is not None and not force:
            raise CommandRefused(f"nothing was changed: {barred.path}: {one_line(barred.reason)}")
        done = _applied(kept, steps, prompt)
        failed = [item for item in done if item.problem]
        if failed:
            raise CommandRefused(
                f"not all files were put back: {failed[0].step.path}: {one_line(failed[0].problem)}"
            )
        return plural(len(done), "file") + " put back"

    def _cut(self, prompt: PromptRow) -> str:
        manifest = self._kept().named(prompt.index)
        why = self._no_conversation(manifest)
        writer = self._app.board.writer
        cut = cut_before(self._session.messages, manifest.prompt_id, None)
        if why or writer is None or cut is None:
            raise CommandRefused(why or "this session is not saved")
        writer.replace(cut.kept)
        writer.note_pending(())
        writer.note(prefix={})
        return f"{plural(cut.removed, 'message')} taken away"

    async def _summarised(self, prompt: PromptRow, kind: RestoreKind) -> Restored:
        manifest = (await anyio.to_thread.run_sync(self._kept)).named(prompt.index)
        side: HistorySide = "from" if kind == "summarise_from" else "before"
        replaced = await self._session.summarise_part(manifest.prompt_id, side)
        if replaced is None:
            raise CommandRefused("there is nothing on that side of the prompt to be summarised")
        return Restored(words=f"{replaced.reason}: {plural(len(replaced.messages), 'message')} stay")


def _applied(kept: _Kept, steps: tuple[RestoreStep, ...], prompt: PromptRow) -> tuple[RestoredFile, ...]:
    to_do = tuple(step for step in steps if step.kind in ("restore", "delete"))
    if not to_do:
        return ()
    for missing in kept.unwritten:
        kept.store.save(missing)
    index = max(manifest.prompt_index for manifest in kept.known) + 1
    title = f"back to before prompt {prompt.index}"
    return kept.restorer.apply(
        to_do, Manifest(prompt_index=index, kind="rewind", title=title, created_at=now())
    )


def _file(kept: _Kept, step: RestoreStep) -> RestoreFile:
    change = None
    if step.kind in ("restore", "delete"):
        before, after = _text_now(step), _text_then(kept, step)
        if before is not None and after is not None:
            change = CallBrief(text="", path=step.path, before=before, after=after)
    return RestoreFile(path=step.path, does=WORDS[step.kind], change=change, reason=step.reason)


def _text_now(step: RestoreStep) -> str | None:
    if step.now.kind != "file":
        return ""
    if step.now.size > SHOWN_BYTES:
        return None
    try:
        with Path(step.path).open("rb") as file:
            return file.read(SHOWN_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _text_then(kept: _Kept, step: RestoreStep) -> str | None:
    if step.target.kind != "file":
        return ""
    if step.target.size > SHOWN_BYTES:
        return None
    try:
        return kept.store.blob(step.index, step.target.sha256).decode("utf-8")
    except (CheckpointError, UnicodeDecodeError):
        return None
