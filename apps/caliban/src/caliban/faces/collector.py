"""When a run looks for garbage that reference counts do not free."""

from __future__ import annotations

import gc

OBJECTS = 25_000
"""How many more containers than before there have to be. With the interpreter's own 700 each turn of a run
looks, 3 % of the work of twenty turns, and finds next to nothing; with 10,000 the first look falls into the
first commands, which it keeps for 1.3 ms. The peak of 2,000 turns is 61 MB with either, and with 50,000."""


def begin_collecting() -> None:
    """Keep what is there now to the end, and look for garbage among what comes."""
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
    gc.enable()
