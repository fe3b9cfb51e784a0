"""Where one can go back to in a session, and files put back: for the command, the terminal and the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.access import roots_of
from caliban.compose.recorder import checkpoint_root, limits_of, now, prompt_points
from caliban_checkpoint import (
    CheckpointStore,
    Manifest,
    RestoredFile,
    Restorer,
    RestoreStep,
    Roots,
    paired,
    workspace_dir,
)
from caliban_common.mask import Masker
from caliban_common.message import Message
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban.compose.app import App
    from caliban_drive.session import Session

STOPS: Final = ("conflict", "impossible")
"""Steps that keep everything from being done, unless they are forced."""

DOES: Final = ("restore", "delete")
"""Steps that change a file."""


class RewindScene(Struct, frozen=True, kw_only=True):
    """The session, and what says where its checkpoints are and which files may be put back."""

    session: str
    messages: tuple[Message, ...]
    workspace: Path
    settings: Settings
    environ: Mapping[str, str]
    masker: Masker | None = None

    @classmethod
    def of(cls, app: App, session: Session) -> RewindScene:
        """Of `session` as it stands in `app`."""
        return cls(
            session=session.id,
            messages=session.messages,
            workspace=app.workspace,
            settings=app.live.now,
            environ=app.environ,
            masker=app.masker,
        )


class RewindPoints(Struct, frozen=True, kw_only=True):
    """The prompts of a session: those with checkpoints, and the `unwritten` that changed nothing."""

    store: CheckpointStore
    roots: Roots
    restorer: Restorer
    written: tuple[Manifest, ...]
    unwritten: tuple[Manifest, ...]
    problems: tuple[str, ...]

    @property
    def all(self) -> tuple[Manifest, ...]:
        """Every prompt in order."""
        return (*self.written, *self.unwritten)

    def find(self, index: int) -> Manifest | None:
        """Prompt `index`."""
        return next((one for one in self.all if one.prompt_index == index), None)

    def plan(self, index: int) -> tuple[RestoreStep, ...]:
        """What going back to before prompt `index` does to files. Blocks."""
        return self.restorer.plan(self.all, index)

    def apply(self, steps: Iterable[RestoreStep], title: str) -> tuple[RestoredFile, ...]:
        """Take those of `steps` that change a file; what they overwrite is kept under `title`. Blocks."""
        to_do = tuple(step for step in steps if step.kind in DOES)
        if not to_do:
            return ()
        for missing in self.unwritten:
            self.store.save(replace(missing, created_at=now()))
        index = max(manifest.prompt_index for manifest in self.all) + 1
        kept = Manifest(prompt_index=index, kind="rewind", title=title, created_at=now())
        return self.restorer.apply(to_do, kept)


def rewind_points(scene: RewindScene) -> RewindPoints:
    """The prompts as they are kept now. Blocks. Raises `CheckpointError`."""
    place = workspace_dir(checkpoint_root(scene.environ), scene.workspace)
    store = CheckpointStore(place, scene.session, limits_of(scene.environ))
    kept, problems = store.load()
    written, unwritten = paired(kept, prompt_points(scene.messages, scene.masker), now="")
    roots = Roots((scene.workspace, *roots_of(scene.settings, scene.workspace)))
    return RewindPoints(
        store=store,
        roots=roots,
        restorer=Restorer(store, roots),
        written=tuple(written),
        unwritten=tuple(unwritten),
        problems=tuple(problems),
    )
