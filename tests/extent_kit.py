"""How much of what is generated and of long tables a run of the tests takes: everything, or an everyday part.

`CALIBAN_TEST_EXTENT` chooses: `all` (where nothing is said) or `everyday`, which `scripts/check` says
unless it is given `--all`. ADR 0082 says what may be left to the machine that judges a change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

CHOICE = "CALIBAN_TEST_EXTENT"
LEFT = "CALIBAN_TEST_LEFT"
"""A file that the number of what was left out is written to, for the summary of `scripts/check`."""

SHARE = 5
LEAST_EXAMPLES = 10

Each = TypeVar("Each")


def is_everyday() -> bool:
    """Whether this run is one of before each change, and leaves out what only `--all` takes."""
    choice = os.environ.get(CHOICE) or "all"
    assert choice in ("all", "everyday"), f"{CHOICE} must be all or everyday, not {choice!r}"
    return choice == "everyday"


def examples(count: int) -> int:
    """How many generated examples a law gets: all of them, or a fifth, other ones in each run."""
    return max(count // SHARE, min(count, LEAST_EXAMPLES)) if is_everyday() else count


def some(values: Sequence[Each]) -> Sequence[Each]:
    """All of the seeds that one test tries by itself, or every fifth."""
    return values[::SHARE] if is_everyday() else values


def left_out(items: Iterable[Any]) -> list[Any]:
    """The tests that an everyday run leaves to `--all`.

    `@pytest.mark.long` leaves a test out as a whole; `@pytest.mark.long(keep=5)` keeps the first of its
    rows and each fifth after that; it is odd, since rows of two kinds often alternate.
    """
    left, rows = [], {}
    for item in items:
        mark = item.get_closest_marker("long")
        if mark is None:
            continue
        keep = mark.kwargs.get("keep")
        table = item.nodeid.partition("[")[0]
        rows[table] = rows.get(table, -1) + 1
        if keep is None or rows[table] % keep:
            left.append(item)
    return left
