"""Back to before a prompt of the session at the terminal: files, conversation, or a summary in its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import anyio.to_thread

from caliban.compose.app import App
from caliban.compose.rewinds import DOES, STOPS, RewindPoints, RewindScene, rewind_points
from caliban.compose.truncation import cut_before
from caliban.errors import CommandRefused
from caliban_checkpoint import SUPPORTED, CheckpointError, Manifest, RestoreStep, forced
from caliban_common.text import one_line, plural
from caliban_drive.part import HistorySide
from caliban_drive.session import Session
from caliban_tui.overlay.views import PromptRow, Restored, RestoreFile, RestoreKind, RestorePlan
from caliban_tui.question.asked import CallBrief

SHOWN_BYTES: Final = 500_000
WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"restore": "puts back", "delete": "deletes", "conflict": "keeps", "impossible": "keeps"}
)


class GoBack:
    """Goes back in the session of `app`. Not while a prompt is at work."""

    def __init__(self, app: App, session: Session) -> None:
        self._app = app
        self._session = session

    async def prompts(self) -> tuple[PromptRow, ...]:
        """The prompts, the newest first."""
        points = await anyio.to_thread.run_sync(self._points, abandon_on_cancel=True)
        return tuple(
            PromptRow(
                index=manifest.prompt_index,
                title=manifest.title,
                when=manifest.created_at.replace("T", " ")[:16],
                files=len(manifest.entries),
                notes=manifest.notes,
            )
            for manifest in reversed(points.all)
        )

    async def plan(self, prompt: PromptRow) -> RestorePlan:
        """What going back to before `prompt` would do."""
        return await anyio.to_thread.run_sync(self._plan, prompt, abandon_on_cancel=True)

    async def restore(self, prompt: PromptRow, kind: RestoreKind, *, force: bool) -> Restored:
        """Go back, files first. Raises `CommandRefused`, `CheckpointError`, and what summaries do."""
        if kind in ("summarise_from", "summarise_to"):
            return await self._summarised(prompt, kind)
        steps = []
        if kind != "conversation":
            steps.append(await anyio.to_thread.run_sync(self._put_back, prompt, force))
            if self._app.board.checkpoints is not None:
                await self._app.board.checkpoints.forget()
        if kind != "code":
            steps.append(await anyio.to_thread.run_sync(self._cut, prompt))
        return Restored(
            words=f"back to before prompt {prompt.index}: {'; '.join(steps)}", reopens=kind != "code"
        )

    def _points(self) -> RewindPoints:
        return rewind_points(RewindScene.of(self._app, self._session))

    def _plan(self, prompt: PromptRow) -> RestorePlan:
        points = self._points()
        manifest = _named(points, prompt.index)
        cut = cut_before(self._session.messages, manifest.prompt_id, None)
        no_files = self._no_files(points)
        files: tuple[RestoreFile, ...] = ()
        if not no_files:
            steps = points.plan(prompt.index)
            files = tuple(_file(points, step) for step in steps if step.kind in WORDS)
        return RestorePlan(
            prompt=prompt,
            files=files,
            removed=0 if cut is None else cut.removed,
            no_files=no_files,
            no_conversation=self._no_conversation(manifest),
        )

    def _no_files(self, points: RewindPoints) -> str:
        options = self._app.options
        if options.session.no_save or options.workspace.no_checkpoints:
            return "this run keeps no checkpoints"
        if points.problems:
            return f"a checkpoint cannot be read: {one_line(points.problems[0], max_chars=300)}"
        return "" if SUPPORTED else "files cannot be put back on this system"

    def _no_conversation(self, manifest: Manifest) -> str:
        if self._app.board.writer is None:
            return "this session is not saved"
        if cut_before(self._session.messages, manifest.prompt_id, None) is None:
            return "it is no part of the conversation any more"
        return ""

    def _put_back(self, prompt: PromptRow, force: bool) -> str:
        points = self._points()
        why = self._no_files(points)
        if why:
            raise CommandRefused(why)
        steps = points.plan(prompt.index)
        if force:
            steps = tuple(map(forced, steps))
        barred = next((step for step in steps if step.kind in STOPS), None)
        if barred is not None and not force:
            raise CommandRefused(f"nothing was changed: {barred.path}: {one_line(barred.reason)}")
        done = points.apply(steps, f"back to before prompt {prompt.index}")
        failed = [item for item in done if item.problem]
        if failed:
            raise CommandRefused(
                f"not all files were put back: {failed[0].step.path}: {one_line(failed[0].problem)}"
            )
        return plural(len(done), "file") + " put back"

    def _cut(self, prompt: PromptRow) -> str:
        manifest = _named(self._points(), prompt.index)
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
        manifest = _named(await anyio.to_thread.run_sync(self._points), prompt.index)
        side: HistorySide = "from" if kind == "summarise_from" else "before"
        replaced = await self._session.summarise_part(manifest.prompt_id, side)
        if replaced is None:
            raise CommandRefused("there is nothing on that side of the prompt to be summarised")
        return Restored(words=f"{replaced.reason}: {plural(len(replaced.messages), 'message')} left")


def _named(points: RewindPoints, index: int) -> Manifest:
    manifest = points.find(index)
    if manifest is None:
        raise CommandRefused(f"there is no prompt {index} any more")
    return manifest


def _file(points: RewindPoints, step: RestoreStep) -> RestoreFile:
    change = None
    if step.kind in DOES:
        before, after = _text_now(step), _text_then(points, step)
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


def _text_then(points: RewindPoints, step: RestoreStep) -> str | None:
    if step.target.kind != "file":
        return ""
    if step.target.size > SHOWN_BYTES:
        return None
    try:
        return points.store.blob(step.index, step.target.sha256).decode("utf-8")
    except (CheckpointError, UnicodeDecodeError):
        return None
