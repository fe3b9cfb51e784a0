"""The head of a session without reading the session: a few KiB from each end of its file."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK
from caliban_common.text import one_line
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.files import SessionFiles
from caliban_sessions.record import session_file_of
from caliban_sessions.state import SessionHead

END_BYTES = 4096
MAX_CHARS = 200
_KEY = re.compile(r'[\s,]*"([a-z_]+)"\s*:\s*')
_DECODER = json.JSONDecoder()


def read_head(files: SessionFiles) -> SessionHead | None:
    """The head of the session, `None` when it has no file. Never raises for what is in the files."""
    document = _ends(files.document)
    journal = _ends(files.journal)
    if document is None and journal is None:
        return None
    facts: dict[str, Any] = {}
    seconds = 0.0
    size_bytes = 0
    for ends in (journal, document):
        if ends is not None:
            facts.update(_facts(*ends[:2]))
            seconds = max(seconds, ends[2].st_mtime)
            size_bytes += ends[2].st_size
    stored, _ = session_file_of(facts)
    touched = stamp.from_seconds(seconds)
    updated = stamp.from_text(stored.updated_at)
    if journal is not None or updated is None:
        updated = touched
    return SessionHead(
        name=files.name,
        created_at=stamp.from_text(stored.created_at) or updated,
        updated_at=updated,
        provider=_line(stored.provider),
        model=_line(stored.model),
        total_usage=stored.total_usage or Usage(),
        message_count=stored.message_count,
        forked_from=stored.forked_from,
        preview=_line(stored.preview),
        size_bytes=size_bytes,
    )


def _ends(path: Path) -> tuple[str, str, os.stat_result] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        head = os.read(descriptor, END_BYTES)
        tail = b""
        if status.st_size > END_BYTES:
            os.lseek(descriptor, max(END_BYTES, status.st_size - END_BYTES), os.SEEK_SET)
            tail = os.read(descriptor, END_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), status


def _facts(head: str, tail: str) -> dict[str, Any]:
    """The members that stand before the messages, and those that a foreign file has behind them."""
    facts: dict[str, Any] = {}
    position = head.find("{") + 1
    while match := _KEY.match(head, position):
        if match[1] == "messages":
            break
        value, position = _value(head, match.end())
        if position < 0:
            break
        facts[match[1]] = value
    if "total_usage" not in facts:
        position = tail.rfind('"total_usage"')
        match = _KEY.match(tail, position) if position >= 0 else None
        if match is not None:
            facts["total_usage"] = _value(tail, match.end())[0]
    return facts


def _value(text: str, position: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, -1


def _line(text: str | None) -> str:
    return one_line(text or "", max_chars=MAX_CHARS)
