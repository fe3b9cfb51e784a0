"""A session as JSON: what `caliban sessions import` takes back, with all data inside."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import to_builtins

from caliban_common.codec import message_to_json, usage_to_json
from caliban_common.text import clean
from caliban_sessions import stamp
from caliban_sessions.export.script import Script, Step

FORM: Final = "caliban-session"
VERSION: Final = 1


def as_json(script: Script) -> str:
    """One JSON object, indented. Messages have the form of the session file, with images in base64."""
    state = script.state
    document: dict[str, Any] = {
        "form": FORM,
        "version": VERSION,
        "name": state.name,
        "id": state.id,
        "title": state.title,
        "labels": list(state.labels),
        "created_at": stamp.to_text(state.created_at),
        "updated_at": stamp.to_text(state.updated_at),
        "provider": state.provider,
        "model": state.model,
        "workspace": state.workspace,
        "forked_from": to_builtins(state.forked_from),
        "total_usage": usage_to_json(state.total_usage),
        "spent": {name: usage_to_json(usage) for name, usage in state.spent.items()},
        "cost_usd": script.cost_usd,
        "plan_mode": state.plan_mode,
        "todos": [dict(todo) for todo in state.todos],
        "messages": [_message(step) for step in script.steps],
    }
    return clean(json.dumps(document, ensure_ascii=False, indent=2)) + "\n"


def _message(step: Step) -> dict[str, Any]:
    raw: dict[str, Any] = {"id": step.message.id, **message_to_json(step.message)}
    if step.at is not None:
        raw["at"] = stamp.to_text(step.at)
    if step.usage is not None:
        raw["usage"] = usage_to_json(step.usage)
        raw["cost_usd"] = step.cost_usd
    if step.finished:
        raw["finished"] = {id: stamp.to_text(moment) for id, moment in step.finished.items()}
    return raw
