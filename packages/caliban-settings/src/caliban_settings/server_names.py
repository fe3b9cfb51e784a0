"""Names of MCP servers that other harnesses take, as names of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

MAX_CHARS: Final = 64


def server_name(name: str) -> str:
    """`name` as a server is called here: what no name may hold is `_`, and two of these are one.

    Other harnesses do the same to it in the names of its tools, and rules carry over. Empty where nothing is
    left of it; one that fits stays as it is.
    """
    return re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_")[:MAX_CHARS].rstrip("_")


def written_name(names: Iterable[str], name: str) -> str | None:
    """Which of `names`, as a file has them, is the server called `name` here."""
    given = tuple(names)
    if name in given:
        return name
    return next((one for one in given if server_name(one) == name), None)
