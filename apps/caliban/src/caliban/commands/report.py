"""How commands report notices."""

from __future__ import annotations

import sys

from caliban.stdio import complain
from caliban_drive.notice import Notice


def report(notice: Notice) -> None:
    """Write a notice to standard error; how far something is, on a terminal only."""
    if notice.subtype != "status" or (sys.stderr is not None and sys.stderr.isatty()):
        hint = f"hint: {notice.hint}\n" if notice.hint else ""
        complain(f"caliban: {notice.message}\n{hint}")
