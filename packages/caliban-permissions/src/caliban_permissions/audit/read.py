"""The log read back: this file and those that were put away, oldest first, whatever stands in them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, cast

from msgspec import Struct

from caliban_common.files import NotRegularFile
from caliban_permissions.audit.archive import archives
from caliban_permissions.audit.log import LOG_NAME

MAX_LINE_BYTES: Final = 1 << 20


class AuditQuery(Struct, frozen=True, kw_only=True):
    """Which records are wanted; `None` is all. `since` has a time zone."""

    since: datetime | None = None
    tool: str | None = None
    action: str | None = None


class AuditRecord(Struct, frozen=True, kw_only=True):
    """One record as it stands in the log."""

    ts: datetime
    data: dict[str, Any]


class AuditGarbage(Struct, frozen=True, kw_only=True):
    """A line that is no record, or the point (`line` 0) from which on a file cannot be read, and why."""

    path: Path
    line: int
    reason: str


def read_audit(directory: Path, query: AuditQuery) -> Iterator[AuditRecord | AuditGarbage]:
    """What the log holds for `query`, in the order in which it was written, and every line that is none.

    Raises nothing for what stands in the files.
    """
    for path in (*archives(directory), directory / LOG_NAME):
        number = 0
        try:
            for number, line in enumerate(_lines(path), 1):
                record = _record(line)
                if isinstance(record, str):
                    yield AuditGarbage(path=path, line=number, reason=record)
                elif record is not None and _wanted(record, query):
                    yield record
        except FileNotFoundError:
            continue
        except (OSError, EOFError, zlib.error, NotRegularFile) as error:
            why = (getattr(error, "strerror", None) or str(error)).lower()
            yield AuditGarbage(path=path, line=0, reason=f"unreadable after line {number}: {why}")


def _lines(path: Path) -> Iterator[bytes]:
    if not path.is_file() and path.exists():
        raise NotRegularFile(f"{path} is not a regular file")
    with _opened(path) as file:
        while line := file.readline(MAX_LINE_BYTES):
            yield line
            while line and not line.endswith(b"\n"):  # one line, however long it is
                line = file.readline(MAX_LINE_BYTES)


def _opened(path: Path) -> IO[bytes]:
    if path.suffix != ".gz":
        return path.open("rb")
    import gzip

    return cast("IO[bytes]", gzip.open(path, "rb"))


def _record(line: bytes) -> AuditRecord | str | None:
    """The record in `line`, why it is none, or `None` for an empty line."""
    if not line.strip():
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(value, dict):
        return "it is no JSON object"
    moment = _moment(value.get("ts"))
    if moment is None:
        return "it has no time `ts`"
    if not isinstance(value.get("tool_name"), str) or not isinstance(value.get("action"), str):
        return "it has no `tool_name` and `action`"
    return AuditRecord(ts=moment, data=value)


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is None:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _wanted(record: AuditRecord, query: AuditQuery) -> bool:
    data = record.data
    return (
        (query.since is None or record.ts >= query.since)
        and (query.tool is None or data["tool_name"] == query.tool)
        and (query.action is None or data["action"] == query.action)
    )
