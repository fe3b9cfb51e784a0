"""`rewind_files` over stream-json: the files as they were before a prompt, while the session goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio.to_thread
from msgspec import Struct

from caliban.compose.app import App
from caliban.compose.rewinds import DOES, STOPS, RewindScene, rewind_points
from caliban.errors import CommandRefused
from caliban_checkpoint import SUPPORTED, CheckpointError
from caliban_common.text import one_line
from caliban_drive.session import Session


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of a request: an error, or the files."""

    error: str = ""
    files: tuple[str, ...] = ()

    def body(self) -> Mapping[str, Any]:
        """As the host reads it."""
        if self.error:
            return {"canRewind": False, "error": self.error}
        return {"canRewind": True, "filesChanged": list(self.files)}


class FileRewinds:
    """Serves `rewind_files` for one session of `app`."""

    def __init__(self, app: App, session: Session) -> None:
        self._app = app
        self._session = session

    async def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put the files back to before the prompt `user_message_id`, or with `dry_run` say what that does.

        What somebody else has changed since is never overwritten: then nothing is done. Raises
        `CommandRefused` where files stay as they are, unless that was only a trial.
        """
        is_trial = body.get("dry_run") is True
        outcome = await self._outcome(body.get("user_message_id"), is_trial=is_trial)
        if outcome.error and not is_trial:
            # Hosts that do not look into an answer must not take it for done.
            raise CommandRefused(outcome.error)
        return outcome.body()

    async def _outcome(self, message_id: object, *, is_trial: bool) -> Outcome:
        if not isinstance(message_id, str) or not message_id:
            return Outcome(error="user_message_id names no prompt")
        options = self._app.options
        if options.session.no_save or options.workspace.no_checkpoints:
            return Outcome(error="this run keeps no checkpoints")
        if not SUPPORTED:
            return Outcome(error="files cannot be put back on this system")
        try:
            return await anyio.to_thread.run_sync(self._rewound, message_id, is_trial)
        except CheckpointError as error:
            return Outcome(error=one_line(error.message))
        finally:
            if self._app.board.checkpoints is not None:
                await self._app.board.checkpoints.forget()

    def _rewound(self, message_id: str, is_trial: bool) -> Outcome:
        points = rewind_points(RewindScene.of(self._app, self._session))
        target = next((one for one in points.all if one.prompt_id == message_id), None)
        if target is None:
            return Outcome(error=f"there is no prompt {one_line(message_id, max_chars=80)!r} to go back to")
        if points.problems:
            return Outcome(error=f"nothing was changed: {one_line(points.problems[0])}")
        steps = points.plan(target.prompt_index)
        barred = next((step for step in steps if step.kind in STOPS), None)
        if barred is not None:
            return Outcome(error=f"nothing was changed: {barred.path}: {one_line(barred.reason)}")
        files = tuple(step.path for step in steps if step.kind in DOES)
        done = () if is_trial else points.apply(steps, "back to before a prompt, for the host")
        failed = next((item for item in done if item.problem), None)
        if failed is not None:
            words = f"not all files were put back: {failed.step.path}: {one_line(failed.problem)}"
            return Outcome(error=words)
        return Outcome(files=files)
