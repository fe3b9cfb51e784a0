"""An explanation as one JSON object, for programs."""

from __future__ import annotations

import json
from typing import Any

from msgspec import to_builtins

from caliban_common.text import clean
from caliban_permissions import Explanation

LEFT_OUT = ("match", "guards")


def as_json(explanation: Explanation) -> bytes:
    """All of it in one line; `perms list --effective --json` prints the rules that count."""
    fields = [name for name in explanation.__struct_fields__ if name not in LEFT_OUT]
    data: dict[str, Any] = {name: to_builtins(getattr(explanation, name)) for name in fields}
    match = explanation.match
    data["matched_rule"] = None if match is None else to_builtins(match)
    data["guards"] = [{"kind": kind, "text": text} for kind, text in explanation.guards]
    text = json.dumps(data, ensure_ascii=False, default=str)
    return clean(text).encode() + b"\n"
