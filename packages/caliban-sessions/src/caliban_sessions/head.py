"""The head of a session without reading the session: a few KiB from each end of its file."""

from __future__ import annotations

import errno
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
from caliban_sessions.document import PREVIEW_CHARS
from caliban_sessions.files import SessionFiles
from caliban_sessions.record import session_file_of
from caliban_sessions.state import SessionHead

END_BYTES = 4096
BEGUN_BYTES = 1 << 20
"""In so much of a journal its first prompt is looked for: instructions stand before it."""
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
    problem = ""
    for ends in (journal, document):
        if isinstance(ends, str):
            problem = ends
        elif ends is not None:
            facts.update(_facts(*ends[:2]))
            seconds = max(seconds, ends[2].st_mtime)
            size_bytes += ends[2].st_size
            problem = _problem(*ends) if ends is document else problem
    if document is None and not problem:
        facts["preview"] = _first_prompt(files.journal)
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
        workspace=stored.workspace or "",
        total_usage=stored.total_usage or Usage(),
        spent=stored.spent or {},
        message_count=stored.message_count,
        turn_count=stored.turn_count,
        forked_from=stored.forked_from,
        title=_line(stored.title),
        labels=tuple(map(_line, stored.labels or ())),
        preview=_line(stored.preview),
        size_bytes=size_bytes,
        id=stored.id or files.name,
        problem=problem,
    )


def _ends(path: Path) -> tuple[str, str, os.stat_result] | str | None:
    """How a file begins and ends; what is wrong with it, or `None` where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        is_link = error.errno in (errno.ELOOP, getattr(errno, "EMLINK", errno.ELOOP))
        return "it is a link" if is_link else f"it cannot be read: {(error.strerror or '').lower()}"
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "it is no regular file"
        head = os.read(descriptor, END_BYTES)
        tail = b""
        if status.st_size > END_BYTES:
            os.lseek(descriptor, max(END_BYTES, status.st_size - END_BYTES), os.SEEK_SET)
            tail = os.read(descriptor, END_BYTES)
    except OSError as error:
        return f"it cannot be read: {(error.strerror or '').lower()}"
    finally:
        os.close(descriptor)
    return head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), status


def _first_prompt(journal: Path) -> str:
    """How the first prompt begins of a session that has no file yet: it is at work, or was killed."""
    try:
        descriptor = os.open(journal, os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY)
        with os.fdopen(descriptor, "rb") as file:
            lines = file.read(BEGUN_BYTES).split(b"\n")
    except OSError:
        return ""
    for line in lines:
        try:
            record = json.loads(line)
            blocks = record["message"]["content"] if record["message"]["role"] == "user" else ()
            text = next((block["text"] for block in blocks if block["type"] == "text"), "")
        except (ValueError, RecursionError, LookupError, TypeError):
            continue  # a line that is torn, or of another kind
        if isinstance(text, str) and text.strip():
            return one_line(text[: 8 * PREVIEW_CHARS], max_chars=PREVIEW_CHARS)
    return ""


def _problem(head: str, tail: str, status: os.stat_result) -> str:
    """What is wrong with a session file, as far as its ends show it."""
    if status.st_size <= END_BYTES:
        try:
            document = json.loads(head.removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            return "it is not JSON"
        is_one = isinstance(document, dict) and isinstance(document.get("messages"), list)
        return "" if is_one else "it has no list of messages"
    if not head.lstrip("\ufeff \t\r\n").startswith("{"):
        return "it is not a JSON object"
    return "" if tail.rstrip().endswith("}") else "it ends in the middle"


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
