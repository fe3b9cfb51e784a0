"""A line typed after `#`, which is added to a file of instructions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

from caliban.compose.app import App
from caliban.compose.memory.options import memory_options
from caliban.compose.memory.places import memory_places
from caliban.errors import CommandRefused
from caliban_common.text import one_line
from caliban_memory import TopicMissing, edit_path

MemoryTier = Literal["project", "global"]
TIERS: Final[tuple[MemoryTier, ...]] = ("project", "global")
MAX_FILE_BYTES: Final = 1 << 20
MAX_NOTE_CHARS: Final = 10_000


def note_files(app: App) -> dict[MemoryTier, Path]:
    """The files that a note may go to: that of the project and that of the person."""
    places = memory_places(app.options, app.live.now, app.workspace, app.environ)
    if places is None:
        raise CommandRefused("this run has no files of instructions: flags replace the whole system prompt")
    options = memory_options(places)
    files: dict[MemoryTier, Path] = {}
    for tier in TIERS:
        try:
            files[tier] = edit_path(tier, options)
        except TopicMissing:
            continue
    return files


def add_note(path: Path, note: str) -> None:
    """Write `note` as a line of a list at the end of the file. Raises `CommandRefused`."""
    if len(note) > MAX_NOTE_CHARS:
        raise CommandRefused(f"a note has at most {MAX_NOTE_CHARS:,} characters, and this one {len(note):,}")
    line = f"- {one_line(note, max_chars=MAX_NOTE_CHARS)}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "rb+", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size > MAX_FILE_BYTES:
                raise CommandRefused(f"{path} is too large for another line")
            ends = b"\n"
            if size:
                file.seek(size - 1)
                ends = file.read(1)
            file.write((b"" if ends == b"\n" else b"\n") + line.encode())
    except OSError as error:
        raise CommandRefused(f"the note was not written to {path}: {error.strerror}") from error
