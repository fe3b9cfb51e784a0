"""What a person does with memory: look at it, find the file to edit, look at a note."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_memory.discovery import project_root
from caliban_memory.errors import TopicMissing
from caliban_memory.topics import Topic, Topics, check_slug
from caliban_memory.values import GLOBAL_NAME, MemoryOptions, MemorySet


class MemoryRow(Struct, frozen=True, kw_only=True):
    """One file that is told: whose it is, where it is, its estimate, and what it imports or waits for."""

    tier: str
    path: Path
    tokens: int
    imports: tuple[Path, ...] = ()
    patterns: tuple[str, ...] = ()
    cut_bytes: int = 0


def memory_rows(found: MemorySet) -> tuple[MemoryRow, ...]:
    """The files of `found`, in the order in which they are told; rules that wait stand last."""
    return tuple(
        MemoryRow(
            tier=file.tier,
            path=file.path,
            tokens=file.tokens,
            imports=file.imports,
            patterns=file.patterns,
            cut_bytes=file.cut_bytes,
        )
        for file in (*found.files, *found.waiting)
    )


def edit_path(name: str, options: MemoryOptions) -> Path:
    """The file to open for `name`: a tier (global, project, auto), or a note. It need not exist.

    Raises `TopicRefused` and `TopicMissing` for a note.
    """
    if name == "global" and options.config_dir is not None:
        return options.config_dir / GLOBAL_NAME
    if name == "project":
        root = project_root(options.workspace)
        names = (root / "AGENTS.md", root / GLOBAL_NAME, root / ".caliban.md")
        return next((path for path in names if path.exists()), names[0])
    if options.auto_dir is None:
        raise TopicMissing("there are no notes: they are switched off")
    topics = Topics(options.auto_dir)
    if name == "auto":
        return topics.index_path
    path = topics.directory / f"{check_slug(name)}.md"
    if not path.exists():
        known = [topic.name for topic in topics.list()]
        meant = did_you_mean(name, ("global", "project", "auto", *known))
        raise TopicMissing(f"there is no note {name!r}" + (f"; {meant}" if meant else ""))
    return path


def topic_line(topic: Topic) -> str:
    """A note on one line, for a list."""
    return f"{topic.name}  {topic.type}  {one_line(topic.description)}"
