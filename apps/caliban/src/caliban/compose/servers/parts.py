"""Who is asked what servers ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_common.hook import Hooks
from caliban_mcp.status import ServerNews

if TYPE_CHECKING:
    from caliban.compose.permissions import Permissions
    from caliban_mcp.elicit import Elicitor


class AskedParts(Struct, frozen=True, kw_only=True):
    """Who is asked what servers ask. `session_id` is that of the run, once there is one."""

    workspace: Path
    report: Callable[[ServerNews], None]
    hooks: Hooks | None = None
    elicitor: Elicitor | None = None
    permissions: Permissions | None = None
    session_id: Callable[[], str] = str
