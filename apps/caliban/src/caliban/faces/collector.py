"""When a run looks for garbage that reference counts do not free."""

from __future__ import annotations

import gc

OBJECTS = 10_000
"""How many more containers than before there have to be. With the interpreter's own 700 each turn of a run
looks, 3 % of the work of twenty turns, and finds next to nothing; what may lie about is some 2 MB."""


def begin_collecting() -> None:
    """Keep what is there now to the end, and look for garbage among what comes."""
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
    gc.enable()
