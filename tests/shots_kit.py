"""Screens kept as text: what is drawn is what was drawn before, and a person reads what changes."""

from __future__ import annotations

import os
from pathlib import Path


def expect_shot(test: str, name: str, text: str) -> None:
    """Compare `text` with the file `name` beside the file `test`; `CALIBAN_GOLDEN=record` writes it."""
    path = Path(test).parent / "shots" / name
    if os.environ.get("CALIBAN_GOLDEN") == "record":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
