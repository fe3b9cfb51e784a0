"""Putting files back: everything is checked before anything is changed, and can itself be taken back.

What is there now is kept first, as a checkpoint of the kind `rewind`. Then each file is written beside its
place and renamed, so that it is the old one or the new one whenever the process dies; going on from there is
to do the same again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from caliban_checkpoint.errors import CheckpointError, CheckpointFailed, PlaceRefused, RestoreRefused
from caliban_checkpoint.manifest import Manifest, entry_before
from caliban_checkpoint.places import (
    Look,
    Place,
    Roots,
    below,
    look,
    mark_of,
    parent_of,
    refused,
)
from caliban_checkpoint.planning import RestoreStep, plan_restore
from caliban_checkpoint.state import ABSENT, DIRECTORY, FileState
from caliban_checkpoint.store import CheckpointStore
from caliban_common.files import NOFOLLOW


class RestoredFile(Struct, frozen=True, kw_only=True):
    """What became of one step; `problem` says why it was not done."""

    step: RestoreStep
    problem: str = ""


class Restorer:
    """Puts files back below `roots` from `store`. For one process at a time."""

    def __init__(self, store: CheckpointStore, roots: Roots) -> None:
        self._store = store
        self._roots = roots

    def plan(self, manifests: Sequence[Manifest], index: int) -> tuple[RestoreStep, ...]:
        """The steps back to before prompt `index`; what is kept is checked, and nothing is changed."""
        steps = plan_restore(manifests, index, self._now, self._inside)
        return tuple(self._checked(step) for step in steps)

    def apply(self, steps: Iterable[RestoreStep], rewind: Manifest) -> tuple[RestoredFile, ...]:
        """Do the steps that are to be done, after what is there now was kept as `rewind`.

        Raises `RestoreRefused` and `CheckpointFailed` before anything is changed.
        """
        steps = tuple(step for step in steps if step.kind in ("restore", "delete"))
        removed = {step.path for step in steps if step.kind == "delete"}
        looks = {step.path: self._kept(step, rewind.prompt_index, removed) for step in steps}
        entries = tuple(
            replace(entry_before(step.path, looks[step.path].state), after=step.target, made=step.made)
            for step in steps
        )
        if steps:
            self._store.save(replace(rewind, entries=entries))
        done: dict[str, RestoredFile] = {}
        for step in sorted(steps, key=lambda step: step.kind):  # what goes makes room for what comes back
            done[step.path] = self._done(step, looks[step.path])
        return tuple(done[step.path] for step in steps)

    def _now(self, path: str) -> FileState | str:
        try:
            return look(self._roots.place(path)).state
        except CheckpointError as error:
            return error.message

    def _inside(self, path: str) -> list[str] | None:
        try:
            tree = below(self._roots.place(path))
        except CheckpointError:
            return None
        return None if tree is None else tree[1]

    def _checked(self, step: RestoreStep) -> RestoreStep:
        if step.target.kind == "file" and step.kind in ("restore", "conflict"):
            try:
                self._store.blob(step.index, step.target.sha256)
            except CheckpointFailed as error:
                return replace(step, kind="impossible", reason=error.message)
        return step

    def _kept(self, step: RestoreStep, index: int, removed: set[str]) -> Look:
        """What is at the place of a step, kept; `removed` are the places that are made free first."""
        limit = self._store.limits.file_bytes
        place = self._roots.place(step.path)
        if any(str(folder) in removed for folder in PurePath(step.path).parents):
            return Look(state=ABSENT)
        seen = look(place, keep_bytes=limit)
        if step.clears and seen.state == DIRECTORY:
            return Look(state=ABSENT)
        if seen.state != step.now:
            raise RestoreRefused(f"{step.path} is being changed right now", hint="try again")
        if seen.state.kind == "file":
            if seen.data is None:
                raise RestoreRefused(
                    f"{step.path} has {seen.state.size:,} bytes, more than is kept of one file: "
                    "going back could not be taken back",
                    hint="move it away first",
                )
            self._store.keep(index, seen.state.sha256, seen.data)
        return seen

    def _done(self, step: RestoreStep, seen: Look) -> RestoredFile:
        try:
            place = self._roots.place(step.path)
            try:
                if step.kind == "delete":
                    self._delete(place, seen, step.made)
                else:
                    self._restore(place, seen, step)
            except OSError as error:
                raise refused(place, error) from error
        except CheckpointError as error:
            return RestoredFile(step=step, problem=error.message)
        return RestoredFile(step=step)

    def _restore(self, place: Place, seen: Look, step: RestoreStep) -> None:
        target = step.target
        data = self._store.blob(step.index, target.sha256) if target.kind == "file" else b""
        if step.clears:
            for folder in (below(place) or ([], []))[0]:
                self._remove_empty(folder)
        with parent_of(place, create=True) as parent:
            twin = f".caliban-{os.urandom(6).hex()}.tmp"
            try:
                if target.kind == "link":
                    os.symlink(target.target, twin, dir_fd=parent)
                else:
                    _write_twin(twin, parent, data, target.mode)
                _expect(place, parent, seen)
                os.rename(twin, place.parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                _unlink_quietly(twin, parent)
                raise

    def _delete(self, place: Place, seen: Look, made: tuple[str, ...]) -> None:
        with parent_of(place) as parent:
            _expect(place, parent, seen)
            os.unlink(place.parts[-1], dir_fd=parent)
        for folder in sorted(made, key=len, reverse=True):
            self._remove_empty(folder)

    def _remove_empty(self, folder: str) -> None:
        try:
            place = self._roots.place(folder)
            with parent_of(place) as parent:
                os.rmdir(place.parts[-1], dir_fd=parent)
        except (OSError, PlaceRefused):
            pass  # something else is in it, or it is gone


def _expect(place: Place, parent: int, seen: Look) -> None:
    """Raise `CheckpointFailed` where something was written since `seen`."""
    try:
        mark = mark_of(os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False))
    except FileNotFoundError:
        mark = ()
    if mark != seen.mark:
        raise CheckpointFailed(f"{place.path} was changed in this very moment, and is left as it is")


def _write_twin(twin: str, parent: int, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(twin, flags, 0o600, dir_fd=parent)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, stat.S_IMODE(mode) & 0o777)
    finally:
        os.close(descriptor)


def _unlink_quietly(name: str, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except OSError:
        pass
