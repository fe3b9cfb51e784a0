"""Calls that wait for a person, as results name them and answers mean them."""

from __future__ import annotations

import json
from typing import Any, Final

from caliban_common.digest import sha256
from caliban_common.message import ToolUseBlock

DIGEST_CHARS: Final = 12


def approval_token(call: ToolUseBlock) -> str:
    """What an answer to the call is given by: its id, and a digest of its name and its input."""
    text = json.dumps([call.name, call.input], sort_keys=True, separators=(",", ":"), default=str)
    return f"{call.id}:{sha256(text.encode()).hexdigest()[:DIGEST_CHARS]}"


def pending_data(call: ToolUseBlock) -> dict[str, Any]:
    """The call in a result frame."""
    return {
        "tool_name": call.name,
        "tool_use_id": call.id,
        "tool_input": dict(call.input),
        "approval": approval_token(call),
    }
