"""One line of the log: what was decided about one call, as one JSON object in plain ASCII."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from caliban_common.digest import sha256
from caliban_common.permission import Decision
from caliban_permissions.audit.redact import redacted

EXCERPT_CHARS: Final = 256
REASON_CHARS: Final = 2000
NAME_CHARS: Final = 256
WINDOW_CHARS: Final = 4096
_ASCII: Final = json.JSONEncoder(separators=(",", ":"))
_PLAIN: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One call and the last word on it. `agent` is empty for the main one; `turn` is from 0."""

    session_id: str
    agent: str
    turn: int
    tool_use_id: str
    tool_name: str
    input: Mapping[str, Any]
    decision: Decision


def audit_line(entry: AuditEntry, now: datetime, mask: Callable[[str], str]) -> bytes:
    """The line for `entry`, its end included.

    Secrets (`mask` takes out the known ones) are gone before anything is cut. `input_bytes` and
    `input_sha256` are those of the whole input as compact JSON. What a model wrote cannot end the line or
    steer a terminal: everything but ASCII is escaped.
    """
    text = _compact(entry.input)
    raw = text.encode("utf-8", "surrogatepass")
    decision, match = entry.decision, entry.decision.match

    def shown(words: str, limit: int) -> str:
        return _shown(mask(words), limit)

    rule = None if match is None else {"pattern": shown(match.pattern, REASON_CHARS), "action": match.action}
    if rule is not None and match is not None:
        rule["source"] = match.source
    record = {
        "ts": now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "session_id": _cut(entry.session_id, NAME_CHARS),
        "agent": _cut(entry.agent, NAME_CHARS),
        "turn_index": entry.turn,
        "tool_use_id": shown(entry.tool_use_id, NAME_CHARS),
        "tool_name": shown(entry.tool_name, NAME_CHARS),
        "input_excerpt": shown(text, EXCERPT_CHARS),
        "input_bytes": len(raw),
        "input_sha256": sha256(raw).hexdigest(),
        "action": decision.action,
        "decided_by": decision.by,
        "matched_rule": rule,
        "reason": shown(decision.reason, REASON_CHARS),
    }
    return _ASCII.encode(record).encode("ascii") + b"\n"


def _shown(text: str, limit: int) -> str:
    """The beginning of `text` without what looks like a secret; of long text no more is looked at."""
    if len(text) <= WINDOW_CHARS:
        return _cut(redacted(text), limit)
    return _cut(
        redacted(text[:WINDOW_CHARS])[:-EXCERPT_CHARS] + "…", limit
    )  # a secret may lie across its end


def _compact(value: Mapping[str, Any]) -> str:
    try:
        return _PLAIN.encode(value)
    except (TypeError, ValueError, RecursionError):  # an embedder's own arguments need not be JSON
        return repr(dict(value))


def _cut(text: str, limit: int) -> str:
    """`text` within `limit` characters; the last of them says that it is cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
