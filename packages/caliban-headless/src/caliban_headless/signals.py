"""Signals as calls: the first one asks the run to end, a second SIGINT ends it at once."""

from __future__ import annotations

import signal
from collections.abc import Callable

import anyio


async def watch_signals(on_first: Callable[[], None], on_second: Callable[[], None]) -> None:
    """Wait for SIGINT, SIGTERM and SIGHUP until cancelled. Two SIGINTs call `on_second`."""
    names = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):
        names.append(signal.SIGHUP)
    interrupts = 0
    with anyio.open_signal_receiver(*names) as received:
        async for number in received:
            interrupts += number == signal.SIGINT
            if interrupts > 1:
                on_second()
            else:
                on_first()
