"""A workspace and a session with checkpoints, for tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio

from caliban_checkpoint import (
    CallFacts,
    CheckpointLimits,
    CheckpointParts,
    CheckpointRecorder,
    CheckpointStore,
    GitListing,
    Manifest,
    PromptPoint,
    RestoredFile,
    Restorer,
    RestoreStep,
    Roots,
    Shadow,
    ShadowLimits,
    forced,
    workspace_dir,
)
from caliban_process import Runner


class Bench:
    """One session in `work`, kept below `root`. `prompt` begins another one; `restart` is a new process."""

    def __init__(self, root: Path, work: Path, **limits: int) -> None:
        self.work = work.resolve()
        self.place = workspace_dir(root, self.work)
        self.roots = Roots([self.work])
        self.limits = CheckpointLimits(**limits)
        self.shadow_limits = ShadowLimits()
        self.points: list[PromptPoint] = []
        self.words: list[str] = []
        self.backend = "asyncio"
        self.restart()

    def restart(self) -> None:
        self.store = CheckpointStore(self.place, "s", self.limits)
        shadow = self.place / "shadow"
        self.recorder = CheckpointRecorder(
            CheckpointParts(
                store=self.store,
                roots=self.roots,
                prompts=lambda: self.points,
                now=lambda: "2026-01-01T00:00:00Z",
                report=self.words.append,
                listing=GitListing(self.work, shadow, Runner(), os.environ["PATH"]),
                shadow=Shadow(shadow, self.roots, self.shadow_limits),
            )
        )

    def prompt(self, title: str = "go") -> int:
        number = len(self.points) + 1
        self.points.append(PromptPoint(id=f"m{number}", title=title))
        return number

    def edit(self, name: str, change: Callable[[Path], object]) -> None:
        anyio.run(self._edit, name, change, backend=self.backend)

    def write(self, name: str, data: bytes) -> None:
        def change(path: Path) -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

        self.edit(name, change)

    def command(self, change: Callable[[Path], object]) -> None:
        anyio.run(self._command, change, backend=self.backend)

    async def _edit(self, name: str, change: Callable[[Path], object]) -> None:
        path = self.work / name
        is_kept = await self.recorder.before_edit(str(path), CallFacts(tool_name="Edit", tool_use_id="t"))
        change(path)
        if is_kept:
            await self.recorder.after_edit(str(path))

    async def _command(self, change: Callable[[Path], object]) -> None:
        call = CallFacts(tool_name="Bash", tool_use_id="t")
        await self.recorder.before_command(call)
        try:
            change(self.work)
        finally:
            await self.recorder.after_command(call)

    def manifests(self) -> list[Manifest]:
        manifests, problems = CheckpointStore(self.place, "s", self.limits).load()
        assert problems == []
        return manifests

    def plan(self, index: int) -> tuple[RestoreStep, ...]:
        store = CheckpointStore(self.place, "s", self.limits)
        manifests, _ = store.load()
        return Restorer(store, self.roots).plan(manifests, index)

    def go_back(self, index: int, *, force: bool = False) -> tuple[RestoredFile, ...]:
        store = CheckpointStore(self.place, "s", self.limits)
        manifests, _ = store.load()
        restorer = Restorer(store, self.roots)
        steps = restorer.plan(manifests, index)
        steps = tuple(map(forced, steps)) if force else steps
        if not force:
            assert [step for step in steps if step.kind in ("conflict", "impossible")] == []
        number = manifests[-1].prompt_index + 1
        return restorer.apply(steps, Manifest(prompt_index=number, kind="rewind"))


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below `folder`: modes, and bytes or where links lead."""
    out: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            out[name] = (0, str(path.readlink()))
        elif path.is_dir():
            out[name] = (0, "directory")
        elif path.is_file():
            out[name] = (path.stat().st_mode & 0o777, path.read_bytes())
        else:
            out[name] = (0, "special")
    return out
