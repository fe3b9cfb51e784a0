"""What one prompt did to files, as it stands on disk (the guide's page Checkpoints and rewind)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_checkpoint.state import ABSENT, FileState, Permissions, Size

CheckpointKind: TypeAlias = Literal["files", "cleared", "rewind", "damaged"]
"""`cleared`: its bytes were given up for room. `rewind`: files were put back, which can be taken back too.
`damaged`: it cannot be read, and holds its number; no file says so of itself."""


class FileEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file before and after the prompt.

    The first capture of a path counts: `blob_sha256`, `mode`, `size`, `exists_pre` and `before` are from
    then. `after` is what our last change left; `None` where the run ended in the midst of one (`is_open`).
    `foreign` says that somebody else changed it between two of our changes. `error` says why its bytes are
    not kept. `made` are directories that did not exist before.
    """

    path: str
    exists_pre: bool
    before: FileState
    blob_sha256: str = ""
    mode: Permissions = 0
    size: Size = 0
    tool_name: str = ""
    tool_use_id: str = ""
    agent: str = ""
    after: FileState | None = None
    is_open: bool = False
    foreign: bool = False
    error: str = ""
    made: tuple[str, ...] = ()


class Manifest(Struct, frozen=True, kw_only=True):
    """One prompt of a session: `prompt_index` counts from 1.

    `prompt_id` is the id of its message and `last_message_id` that of the one before it. `partial` says that
    some bytes are not kept, and `notes` what else is not: what commands did that were not watched. `running`
    are calls of commands that were at work when it was written: where the run was killed, nobody knows what
    they did.
    """

    prompt_index: int
    kind: CheckpointKind = "files"
    title: str = ""
    created_at: str = ""
    prompt_id: str = ""
    last_message_id: str = ""
    entries: tuple[FileEntry, ...] = ()
    partial: bool = False
    notes: tuple[str, ...] = ()
    running: tuple[str, ...] = ()

    def with_entry(self, entry: FileEntry) -> Manifest:
        """The same, with `entry` in the place of the one of its path."""
        others = tuple(item for item in self.entries if item.path != entry.path)
        return replace(self, entries=(*others, entry), partial=self.partial or bool(entry.error))

    def with_note(self, note: str) -> Manifest:
        """The same with a remark, once."""
        return self if note in self.notes else replace(self, notes=(*self.notes, note), partial=True)


class PromptPoint(Struct, frozen=True, kw_only=True):
    """A prompt of the conversation as the app knows it."""

    id: str
    title: str
    last_message_id: str = ""


def entry_before(path: str, before: FileState, *, error: str = "", tool_name: str = "") -> FileEntry:
    """The entry of a path that was `before` when it was captured first."""
    kept = before.kind == "file" and not error
    return FileEntry(
        path=path,
        exists_pre=before != ABSENT,
        before=before,
        blob_sha256=before.sha256 if kept else "",
        mode=before.mode,
        size=before.size,
        tool_name=tool_name,
        error=error,
    )
