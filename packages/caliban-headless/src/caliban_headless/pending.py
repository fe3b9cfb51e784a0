"""Calls that wait for a person, as results name them."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from caliban_common.message import ToolUseBlock
from caliban_common.text import one_line

DIGEST_CHARS: Final = 12


def approval_token(call: ToolUseBlock) -> str:
    """What an answer to the call is given by: its id, and a digest of its name and its input."""
    text = json.dumps([call.name, call.input], sort_keys=True, separators=(",", ":"), default=str)
    return f"{call.id}:{hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARS]}"


def pending_data(call: ToolUseBlock) -> dict[str, Any]:
    """The call in a result frame."""
    return {
        "tool_name": call.name,
        "tool_use_id": call.id,
        "tool_input": dict(call.input),
        "approval": approval_token(call),
    }


def pending_line(call: ToolUseBlock) -> str:
    """The call in words."""
    shown = one_line(json.dumps(dict(call.input), ensure_ascii=False, default=str), max_chars=2000)
    return f"  {approval_token(call)}  {one_line(call.name, max_chars=80)} {shown}\n"
