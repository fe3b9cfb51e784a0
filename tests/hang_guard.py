"""How long a test waits for what must come, so that one that hangs ends at all."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_S = 300.0
"""Far above what the slowest machine takes: what passes or fails never depends on it."""

LIMITS_S = (1, 10, 100)
"""Limits to try in turn, where one has to end something that has begun: no first one fits every machine."""


def wait_until(holds: Callable[[], object]) -> None:
    """Look until `holds()`, for what another process does and nothing here is woken by."""
    end_s = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < end_s, "it did not come to that"
        time.sleep(0.01)
