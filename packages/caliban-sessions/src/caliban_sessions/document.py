"""The session file: one JSON object, readable, with the short members first and the messages last."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import to_builtins

from caliban_common.codec import nearest, usage_to_json
from caliban_common.errors import DataError
from caliban_common.text import clean, one_line
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.entry import StoredMessage, entry_from_json, nested_beyond
from caliban_sessions.errors import SessionCorrupt
from caliban_sessions.log import SessionLog
from caliban_sessions.record import SessionFile, session_file_of

PREVIEW_CHARS = 80
_HEAD_DEPTH = 20
_HALF_PAIR = rb"\\u[dD][89a-fA-F]"
"""An escape that may be half of a surrogate pair."""
_OWN = frozenset(SessionFile.__struct_fields__)


def encode(log: SessionLog) -> bytes:
    """The file of `log`, in UTF-8. Members of a loaded file that are not ours go back into it."""
    document: dict[str, Any] = {
        "name": log.name,
        "id": log.id,
        "created_at": stamp.to_text(log.created_at),
        "updated_at": stamp.to_text(log.updated_at),
        "provider": log.provider,
        "model": log.model,
        **({"workspace": log.workspace} if log.workspace else {}),
        **({"forked_from": to_builtins(log.forked_from)} if log.forked_from else {}),
        **({"title": log.title} if log.title else {}),
        **({"labels": list(log.labels)} if log.labels else {}),
        "total_usage": usage_to_json(log.usage),
        **({"spent": _spent(log.spent)} if log.spent else {}),
        "plan_mode": log.plan_mode,
        "message_count": len(log.entries),
        "turn_count": _turns(log.entries),
        "preview": _preview(log.entries),
        "journal_seq": log.sequence,
        **({"pending": list(log.pending)} if log.pending else {}),
        **({"prefix": dict(log.prefix)} if log.prefix else {}),
        **log.extra,
        "todos": list(log.todos),
        "messages": [entry.raw for entry in log.entries],
    }
    # The same bytes as the standard library's indented form, in a tenth of the time.
    text = clean(json.dumps(document, ensure_ascii=False))
    return msgspec.json.format(text.encode("utf-8"), indent=2) + b"\n"


def decode(data: bytes, *, path: Path, name: str, fallback_time: datetime, blobs: Path) -> SessionLog:
    """The log in a session file. Raises `SessionCorrupt`.

    Whatever a session can do without (a time, a count, a todo of the wrong shape) is left out with a warning;
    only a file without a list of messages is refused.
    """
    document = _object(data, path)
    stored, remarks = session_file_of(document)
    if stored.messages is None:
        raise _corrupt(path, "it has no list of messages")
    log = SessionLog(
        name=name,
        id=stored.id or name,
        created_at=stamp.from_text(stored.created_at) or fallback_time,
        blobs=blobs,
    )
    log.updated_at = stamp.from_text(stored.updated_at) or fallback_time
    log.note(stored)
    log.forked_from = stored.forked_from
    log.sequence = stored.journal_seq or 0
    log.usage = stored.total_usage or Usage()
    log.spent = dict(stored.spent or {})
    log.extra = {key: value for key, value in document.items() if key not in _OWN}
    if nested_beyond([log.extra, list(log.todos)], _HEAD_DEPTH):
        raise _corrupt(path, f"it is nested more than {_HEAD_DEPTH} levels deep")
    log.warnings.extend(f"{path}: {remark}" for remark in remarks)
    _fill(log, stored.messages, path)
    return log


def _object(data: bytes, path: Path) -> Mapping[str, Any]:
    try:
        document = _quick(data)
        if document is None:
            document = nearest(json.loads(data.decode("utf-8").removeprefix("\ufeff")))
        elif (b"\\ud" in data or b"\\uD" in data) and re.search(_HALF_PAIR, data):
            document = nearest(document)  # what cannot be written again is not shown to a model first
    except UnicodeDecodeError as error:
        raise _corrupt(path, f"it is not UTF-8 text (byte {error.start:,})") from error
    except ValueError as error:
        raise _corrupt(path, f"it is not JSON ({error})") from error
    except (RecursionError, DataError) as error:
        raise _corrupt(path, "it is nested too deeply") from error
    if not isinstance(document, dict):
        raise _corrupt(path, "it is not a JSON object")
    return document


def _quick(data: bytes) -> Any:
    """What `json` makes of `data`, in half the time (60 ms for 50 MB); `None` where only that can say."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None  # odd numbers, halves of pairs, a mark in front; or the error that json words


def _fill(log: SessionLog, messages: list[Any], path: Path) -> None:
    seen: set[str] = set()
    for number, raw in enumerate(messages, 1):
        if isinstance(raw, dict) and isinstance(raw.get("id"), str) and raw["id"] in seen:
            log.warnings.append(f"{path}: message {number} repeats the id of another one and got its own")
            raw = {key: value for key, value in raw.items() if key != "id"}
        try:
            entry, warning = entry_from_json(
                raw, parent=log.leaf, fallback_id=_free_id(number, seen), blobs=log.blobs
            )
        except DataError as error:
            raise _corrupt(path, f"message {number}: {error.message}") from error
        if warning is not None:
            log.warnings.append(f"{path}: message {number}: {warning}; it is kept in the file")
        seen.add(entry.id)
        log.add(entry)


def _free_id(number: int, seen: set[str]) -> str:
    id = f"m{number}"
    while id in seen:
        id += "x"
    return id


def _spent(spent: Mapping[str, Usage]) -> dict[str, Any]:
    return {name: usage_to_json(usage) for name, usage in spent.items()}


def _turns(entries: list[StoredMessage]) -> int:
    """How many prompts there are: what a person sent, not what tools gave."""
    messages = (entry.message for entry in entries)
    return sum(message.role == "user" and not message.tool_results for message in messages)


def _preview(entries: list[StoredMessage]) -> str:
    for entry in entries:
        if entry.message.role == "user" and entry.message.text.strip():
            return one_line(entry.message.text[: 8 * PREVIEW_CHARS], max_chars=PREVIEW_CHARS)
    return ""


def _corrupt(path: Path, reason: str) -> SessionCorrupt:
    return SessionCorrupt(
        f"{path} cannot be read as a session: {reason}",
        hint="nothing was changed: repair the file, or move it away to begin anew; "
        f"what was not folded yet is in {path.with_suffix('.journal').name}, if there is one",
        path=path,
    )
