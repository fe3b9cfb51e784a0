"""The line below the draft: where, who, how much."""

from __future__ import annotations

from msgspec import Struct

from caliban_tui.line import ScreenLine, plain
from caliban_tui.width import cut


class StatusLine(Struct, frozen=True, kw_only=True):
    """What it says. `context_share` is from 0 to 1; `script` is what a person's own program printed."""

    cwd: str = ""
    branch: str = ""
    model: str = ""
    mode: str = "default"
    session: str = ""
    context_share: float | None = None
    cost_usd: float | None = None
    background: int = 0
    script: str = ""


def status_line(status: StatusLine, columns: int) -> ScreenLine:
    """The line, cut to the width; the default mode says nothing."""
    pieces = [
        status.script,
        f"{status.cwd} ({status.branch})" if status.branch else status.cwd,
        status.model,
        status.mode if status.mode != "default" else "",
        f"{status.context_share:.0%} context" if status.context_share is not None else "",
        f"${status.cost_usd:.2f}" if status.cost_usd else "",
        f"{status.background} in the background" if status.background else "",
    ]
    return cut(plain(" · ".join(piece for piece in pieces if piece), "dim"), columns)
