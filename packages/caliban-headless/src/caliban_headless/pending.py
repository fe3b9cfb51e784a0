"""Calls that wait for a person, in words."""

from __future__ import annotations

import json

from caliban_common.message import ToolUseBlock
from caliban_common.text import one_line
from caliban_drive.pending import approval_token


def pending_line(call: ToolUseBlock) -> str:
    """The call in words."""
    shown = one_line(json.dumps(dict(call.input), ensure_ascii=False, default=str), max_chars=2000)
    return f"  {approval_token(call)}  {one_line(call.name, max_chars=80)} {shown}\n"
