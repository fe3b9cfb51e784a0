"""The entries of a transcript of JSON lines, and the way through them that is the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from caliban_sessions.entry import MAX_DEPTH, nested_beyond
from caliban_sessions.intake.taken import Omissions
from caliban_sessions.journal import values_in

SAID: Final = ("user", "assistant")
CHAINED: Final = (*SAID, "system", "attachment", "progress")
"""Types of entries that others follow."""


class TranscriptEntry(Struct, frozen=True, kw_only=True):
    """One JSON object of a transcript, with the number of its line, from 1."""

    line: int
    data: dict[str, Any]

    @property
    def type(self) -> str:
        """What it says it is."""
        return _text(self.data.get("type"))

    @property
    def id(self) -> str:
        """Its own id, empty where it says none."""
        return _text(self.data.get("uuid"))

    @property
    def parent(self) -> str | None:
        """The id of the entry that it follows."""
        return _text(self.data.get("parentUuid")) or None

    @property
    def is_aside(self) -> bool:
        """Whether it is a sub-agent's, or a teammate's."""
        return self.data.get("isSidechain") is True or bool(self.data.get("teamName"))


def entries_in(data: bytes, left_out: Omissions) -> list[TranscriptEntry]:
    """The objects of all lines, also where several stand in one; what is no object is left out and named."""
    entries: list[TranscriptEntry] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.strip(b"\0 \t\r")
        if not line:
            continue
        values, is_whole = values_in(line.decode("utf-8", "replace"))
        if not is_whole:
            left_out.add("text that is no JSON", number)
        for value in values:
            if not isinstance(value, dict):
                left_out.add("JSON that is no object", number)
            elif nested_beyond(value, MAX_DEPTH):
                left_out.add(f"an entry that is nested more than {MAX_DEPTH} levels deep", number)
            else:
                entries.append(TranscriptEntry(line=number, data=value))
    return entries


def conversation(entries: Sequence[TranscriptEntry], left_out: Omissions) -> list[TranscriptEntry]:
    """What was said, from the beginning, or the last summary, to the last message.

    Where the ids do not lead back to a beginning, it is everything in the order of the file.
    """
    messages = [entry for entry in entries if entry.type in SAID and not entry.is_aside]
    if not messages:
        return []
    by_id = {entry.id: entry for entry in entries if entry.id and entry.type in CHAINED}
    way: dict[str, TranscriptEntry] = {}
    current: TranscriptEntry | None = messages[-1]
    while current is not None and current.id and current.id not in way:
        way[current.id] = current
        if current.parent is None:
            break
        current = by_id.get(current.parent)
    else:
        left_out.add(
            "nothing, but its ids lead nowhere, so it is in the order of the file", messages[-1].line
        )
        return messages
    chosen = {id(entry) for entry in way.values()}
    for entry in messages:
        if id(entry) not in chosen:
            left_out.add("a message of another branch, or from before a summary", entry.line)
    return [entry for entry in reversed(way.values()) if entry.type in SAID and not entry.is_aside]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
