"""Keeps what files were before the calls of a session change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from caliban_checkpoint.errors import CheckpointError, CheckpointFailed, PlaceRefused
from caliban_checkpoint.manifest import FileEntry, Manifest, PromptPoint, entry_before
from caliban_checkpoint.places import Roots, look, missing_directories
from caliban_checkpoint.shadow import Shadow, ShadowChange
from caliban_checkpoint.state import FileState
from caliban_checkpoint.store import CheckpointStore

UNWATCHED = "what commands changed is not kept: {}"
PATIENCE_S = 15.0
"""How long the look behind a command that was cut off may take."""


class FileListing(Protocol):
    """Who says which files a workspace has."""

    async def names(self) -> list[str]:
        """Their names relative to the workspace. Raises `CheckpointFailed`."""
        ...


class CallFacts(Struct, frozen=True, kw_only=True):
    """Which call changes something."""

    tool_name: str
    tool_use_id: str
    agent: str = ""


class CheckpointParts(Struct, frozen=True, kw_only=True):
    """What a recorder works with.

    `prompts` gives those of the conversation so far, the one at work last; `now` the time as text. `listing`
    and `shadow` are left out where commands are not watched, and `unwatched` says why.
    """

    store: CheckpointStore
    roots: Roots
    prompts: Callable[[], Sequence[PromptPoint]]
    now: Callable[[], str]
    report: Callable[[str], None]
    listing: FileListing | None = None
    shadow: Shadow | None = None
    unwatched: str = ""


class CheckpointRecorder:
    """The checkpoints of a session at work. Failures never keep a call from running: each is told once."""

    def __init__(self, parts: CheckpointParts) -> None:
        self._parts = parts
        self._store = parts.store
        self._lock = anyio.Lock()
        self._manifests: list[Manifest] | None = None
        self._current: Manifest | None = None
        self._used_bytes = 0
        self._running: list[str] = []
        self._unwatched = parts.unwatched
        self._told: set[str] = set()
        self._unsaid: list[str] = []

    async def forget(self) -> None:
        """Read what is kept anew before the next call: somebody else has put files back."""
        async with self._lock:
            self._manifests = self._current = None

    async def before_edit(self, path: str, call: CallFacts) -> bool:
        """Keep what is at `path`, absolute and without links; whether `after_edit` is to follow."""
        points = self._parts.prompts()
        async with self._lock:
            try:
                await anyio.to_thread.run_sync(self._capture, path, points, call)
            except PlaceRefused:
                return False  # nothing is ever put back there
            except CheckpointError as error:
                self._tell(f"this change of {self._parts.roots.shown(path)} cannot be taken back", error)
                return False
            finally:
                self._say()
        return True

    async def after_edit(self, path: str) -> None:
        """Note what the call has left at `path`."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                try:
                    await anyio.to_thread.run_sync(self._settle, path)
                except CheckpointError as error:
                    self._tell("a checkpoint is incomplete", error)
                self._say()

    async def before_command(self, call: CallFacts) -> None:
        """Look at the workspace, so that `after_command` can tell what the command has changed."""
        points = self._parts.prompts()
        async with self._lock:
            changes = await self._look()
            try:
                await anyio.to_thread.run_sync(self._begin, points, call, changes)
            except CheckpointError as error:
                self._tell("what commands change cannot be taken back", error)
            self._running.append(call.tool_use_id)
            self._say()

    async def after_command(self, call: CallFacts) -> None:
        """Keep what the files that have changed were before."""
        points = self._parts.prompts()
        try:
            with anyio.move_on_after(PATIENCE_S, shield=True) as scope:
                async with self._lock:
                    changes = await self._look()
                    await anyio.to_thread.run_sync(self._finish, points, call, changes)
            if scope.cancelled_caught:
                self._tell("what a command has changed is not kept: the look at it took too long")
        except CheckpointError as error:
            self._tell("what commands change cannot be taken back", error)
        finally:
            self._running.remove(call.tool_use_id)
            self._say()

    async def _look(self) -> list[ShadowChange]:
        listing, shadow = self._parts.listing, self._parts.shadow
        if self._unwatched or listing is None or shadow is None:
            return []
        try:
            names = await listing.names()
            return await anyio.to_thread.run_sync(shadow.scan, names)
        except CheckpointFailed as error:
            self._unwatched = error.message
            return []

    def _begin(self, points: Sequence[PromptPoint], call: CallFacts, changes: list[ShadowChange]) -> None:
        """A command begins: what changed meanwhile is that of others, unless one is running already."""
        manifest = self._active(points)
        if self._running:
            manifest = self._with_changes(manifest, call, changes)
        if self._unwatched:
            manifest = manifest.with_note(UNWATCHED.format(self._unwatched))
            running: tuple[str, ...] = ()
        else:
            running = (*manifest.running, call.tool_use_id)
        self._save(replace(manifest, running=running))

    def _finish(self, points: Sequence[PromptPoint], call: CallFacts, changes: list[ShadowChange]) -> None:
        manifest = self._with_changes(self._active(points), call, changes)
        if self._unwatched:
            manifest = manifest.with_note(UNWATCHED.format(self._unwatched))
        self._save(replace(manifest, running=tuple(id for id in manifest.running if id != call.tool_use_id)))

    def _with_changes(self, manifest: Manifest, call: CallFacts, changes: list[ShadowChange]) -> Manifest:
        entries = {entry.path: entry for entry in manifest.entries}
        for change in changes:
            known = entries.get(change.path)
            if known is not None:
                is_ours = change.before in (known.before, known.after) or change.after == known.after
                entries[change.path] = replace(
                    known, after=change.after, is_open=False, foreign=known.foreign or not is_ours
                )
                continue
            error = self._keep_shadowed(manifest.prompt_index, change)
            fresh = entry_before(change.path, change.before, error=error, tool_name=call.tool_name)
            entries[change.path] = replace(
                fresh,
                tool_use_id=call.tool_use_id,
                agent=call.agent,
                after=change.after,
                made=change.made,
            )
        kept = tuple(entry for entry in entries.values() if entry.before != entry.after or entry.foreign)
        is_partial = manifest.partial or any(entry.error for entry in kept)
        return replace(manifest, entries=kept, partial=is_partial)

    def _keep_shadowed(self, index: int, change: ShadowChange) -> str:
        """Keep the bytes that a file had before a command; why not, where that cannot be."""
        before, shadow = change.before, self._parts.shadow
        if before.kind != "file":
            return ""
        if shadow is not None and shadow.withholds(change.path):
            return "files like it hold secrets, and no copy is kept of those"
        data = None if shadow is None else shadow.content(before.sha256)
        return self._keep(index, before, data)

    def _capture(self, path: str, points: Sequence[PromptPoint], call: CallFacts) -> None:
        place = self._parts.roots.place(path)
        manifest = self._active(points)
        known = next((entry for entry in manifest.entries if entry.path == path), None)
        if known is not None:
            now = look(place).state
            is_foreign = known.after is not None and now not in (known.after, known.before)
            entry = replace(known, is_open=True, foreign=known.foreign or is_foreign)
        else:
            entry = self._first_capture(path, manifest.prompt_index, call)
        self._save(manifest.with_entry(entry))

    def _first_capture(self, path: str, index: int, call: CallFacts) -> FileEntry:
        place = self._parts.roots.place(path)
        seen = look(place, keep_bytes=self._store.limits.file_bytes)
        error = ""
        if seen.state.kind == "file":
            error = self._keep(index, seen.state, seen.data)
        elif seen.state.kind == "other":
            error = f"it is {seen.state.in_words}"
        entry = entry_before(path, seen.state, error=error, tool_name=call.tool_name)
        return replace(
            entry,
            tool_use_id=call.tool_use_id,
            agent=call.agent,
            is_open=True,
            made=missing_directories(place) if seen.state.kind == "absent" else (),
        )

    def _keep(self, index: int, state: FileState, data: bytes | None) -> str:
        limits = self._store.limits
        if data is None or len(data) > limits.file_bytes:
            return f"its {state.size:,} bytes are more than is kept of one file"
        if self._used_bytes + len(data) > limits.prompt_bytes:
            return f"the prompt has changed more than {limits.prompt_bytes:,} bytes"
        self._store.keep(index, state.sha256, data)
        self._used_bytes += len(data)
        return ""

    def _settle(self, path: str) -> None:
        manifest = self._current
        entry = None if manifest is None else next((e for e in manifest.entries if e.path == path), None)
        if manifest is None or entry is None:
            return
        after = look(self._parts.roots.place(path)).state
        entry = replace(entry, after=after, is_open=False)
        if entry.before == after and not entry.foreign:
            others = tuple(item for item in manifest.entries if item.path != path)
            self._save(replace(manifest, entries=others))
        else:
            self._save(manifest.with_entry(entry))

    def _active(self, points: Sequence[PromptPoint]) -> Manifest:
        """The manifest of the prompt at work; those of prompts before it are made where they are missing."""
        points = points or (PromptPoint(id="", title=""),)
        current = self._current
        if current is not None and current.prompt_id == points[-1].id:
            return current
        if self._manifests is None:
            self._store.remove_leftovers()
            self._manifests, problems = self._store.load()
            for problem in problems:
                self._tell(problem)
        now = self._parts.now()
        for missing in paired(self._manifests, points[:-1], now=now)[1]:
            self._store.save(missing)
            self._manifests.append(missing)
        last = self._manifests[-1] if self._manifests else None
        if last is None or last.prompt_id != points[-1].id or last.kind != "files":
            last = manifest_of(points[-1], index=self._next_index(), now=now)
            self._manifests.append(last)
        self._current = last
        self._used_bytes = sum(entry.size for entry in last.entries if entry.blob_sha256)
        self._store.prune(last.prompt_index)
        return last

    def _next_index(self) -> int:
        known = self._manifests or ()
        return max((manifest.prompt_index for manifest in known), default=0) + 1

    def _save(self, manifest: Manifest) -> None:
        self._store.save(manifest)
        self._current = manifest

    def _tell(self, words: str, error: CheckpointError | None = None) -> None:
        if words not in self._told:
            self._told.add(words)
            self._unsaid.append(words if error is None else f"{words}: {error.message}")

    def _say(self) -> None:
        """Report what there is to be told: never from a worker thread."""
        unsaid, self._unsaid = self._unsaid, []
        for text in unsaid:
            self._parts.report(text)


def paired(
    manifests: Sequence[Manifest], points: Sequence[PromptPoint], *, now: str
) -> tuple[list[Manifest], list[Manifest]]:
    """`manifests`, and empty ones for the prompts that have none, numbered on from the last one.

    Damaged ones are those of the prompts that they can only have been of, by the order of `points`.
    """
    written = list(_recognised(manifests, points))
    known = {manifest.prompt_id for manifest in written}
    index = max((manifest.prompt_index for manifest in written), default=0)
    fresh = [point for point in points if point.id not in known]
    return written, [manifest_of(point, index=index + place, now=now) for place, point in enumerate(fresh, 1)]


def _recognised(manifests: Sequence[Manifest], points: Sequence[PromptPoint]) -> Iterator[Manifest]:
    places = {point.id: place for place, point in enumerate(points)}
    known = {manifest.prompt_id for manifest in manifests}
    begin = 0
    for number, manifest in enumerate(manifests):
        if manifest.kind == "damaged":
            later = (places[other.prompt_id] for other in manifests[number:] if other.prompt_id in places)
            between = points[begin : next(later, len(points))]
            point = next((point for point in between if point.id not in known), None)
            if point is not None:
                manifest = replace(
                    manifest,
                    title=point.title,
                    prompt_id=point.id,
                    last_message_id=point.last_message_id,
                )
        begin = max(begin, places.get(manifest.prompt_id, -1) + 1)
        yield manifest


def manifest_of(point: PromptPoint, *, index: int, now: str) -> Manifest:
    """The manifest of a prompt that has changed nothing yet."""
    return Manifest(
        prompt_index=index,
        title=point.title,
        created_at=now,
        prompt_id=point.id,
        last_message_id=point.last_message_id,
    )
