"""All that was ever said in a session, also what a compaction has taken out of its history."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from caliban_common.errors import DataError
from caliban_common.message import Message
from caliban_sessions.entry import StoredMessage, entry_from_json


def whole_transcript(
    live: Iterable[StoredMessage], archive: bytes, leaf: str | None, blobs: Path
) -> tuple[Message, ...] | None:
    """The messages of `whole_entries`."""
    entries = whole_entries(live, archive, leaf, blobs)
    return None if entries is None else tuple(entry.message for entry in entries)


def whole_entries(
    live: Iterable[StoredMessage], archive: bytes, leaf: str | None, blobs: Path
) -> tuple[StoredMessage, ...] | None:
    """The messages from the first up to the one with the id `leaf`, each as it was when it was written first.

    `archive` holds what the history has lost, a line each; a damaged line is passed over. `blobs` is where
    images and documents are. The way goes from each message to its parent; `None` where one of them is not
    there, as in a fork of what was summarised. System messages are left out: they lead, and have their own
    life.
    """
    entries: dict[str, StoredMessage] = {}
    for line in archive.splitlines():
        try:
            raw = json.loads(line)
            id = str(raw.get("id"))
            entry, _ = entry_from_json(raw, parent=raw.get("parent"), fallback_id=id, blobs=blobs)
        except (ValueError, AttributeError, RecursionError, DataError):
            continue
        entries.setdefault(entry.id, entry)
    for entry in live:
        entries.setdefault(entry.id, entry)
    way: dict[str, StoredMessage] = {}
    while leaf is not None and leaf in entries and leaf not in way:
        way[leaf] = entries[leaf]
        leaf = way[leaf].parent
    if leaf is not None and leaf not in way:
        return None
    return tuple(entry for entry in reversed(way.values()) if entry.message.role != "system")
