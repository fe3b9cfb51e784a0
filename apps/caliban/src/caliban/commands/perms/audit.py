"""`caliban perms audit`: the log of decisions, read back."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from caliban.cli.invocation import Invocation
from caliban.commands.perms.moment import moment_of
from caliban.stdio import complain, print_text, write_out
from caliban_common.paths import state_dir
from caliban_common.text import one_line, plural
from caliban_permissions.audit.read import AuditGarbage, AuditQuery, AuditRecord, read_audit

MAX_NAMED: Final = 5
"""Garbage lines that are named one by one."""


def audit(invocation: Invocation) -> int:
    """Print what is asked for, oldest first; what is no record is counted and named on standard error.

    Where a file could not be read to its end the exit code is 1: that there is nothing more is not known.
    """
    values = invocation.values
    since = None if values["since"] is None else moment_of("--since", values["since"])
    query = AuditQuery(since=since, tool=values["tool"], action=values["action"])
    garbage: list[AuditGarbage] = []
    matches = _records(query, garbage)
    shown = _line if not values["json"] else _json
    records: Iterator[AuditRecord] = iter(deque(matches, values["head"])) if values["head"] else matches
    code, count = 0, 0
    for record in records:
        count += 1
        code = print_text(shown(record))
        if code:
            return code
    lost = any(not item.line for item in garbage)
    if not count and not values["json"] and not lost:
        code = write_out(b"(empty)\n")
    _complain(garbage)
    return code or int(lost)


def _records(query: AuditQuery, garbage: list[AuditGarbage]) -> Iterator[AuditRecord]:
    for item in read_audit(state_dir(), query):
        if isinstance(item, AuditRecord):
            yield item
        else:
            garbage.append(item)


def _json(record: AuditRecord) -> str:
    return json.dumps(record.data, separators=(",", ":")) + "\n"


def _line(record: AuditRecord) -> str:
    data = record.data
    words = [
        data.get("ts"),
        f"{_text(data.get('action')):5}",
        data.get("tool_name"),
        data.get("input_excerpt"),
    ]
    by = _text(data.get("decided_by"))
    rule = data.get("matched_rule")
    if isinstance(rule, dict):
        by += f": {_text(rule.get('action'))} {_text(rule.get('pattern'))} ({_text(rule.get('source'))})"
    agent = _text(data.get("agent"))
    end = f" [{by}]" if by else ""
    return " ".join(one_line(_text(word), max_chars=300) for word in words) + (
        f"{one_line(end)}{f' agent {one_line(agent)}' if agent else ''}\n"
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _complain(garbage: list[AuditGarbage]) -> None:
    if not garbage:
        return
    lines = [item for item in garbage if item.line]
    if lines:
        verb = "is no record" if len(lines) == 1 else "are no records"
        complain(f"caliban: {plural(len(lines), 'line')} {verb} and left out:\n")
    for item in (*lines[:MAX_NAMED], *(item for item in garbage if not item.line)):
        place = f"{item.path.name} line {item.line}" if item.line else item.path.name
        complain(f"  {place}: {one_line(item.reason)}\n")
    if len(lines) > MAX_NAMED:
        complain(f"  and {len(lines) - MAX_NAMED} more\n")
