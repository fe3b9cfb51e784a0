"""The day of the list prices, without reading them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("rates.json")
HEAD_BYTES: Final = 200


def prices_as_of() -> str | None:
    """The date at the head of the table of prices, such as 2026-11-28; `None` where it says none."""
    try:
        with FILE.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None
    match = re.search(rb'"date":"([0-9-]{10})"', head)
    return None if match is None else match[1].decode("ascii")
