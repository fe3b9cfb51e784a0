"""Signals as calls: the first one asks the run to end, a second SIGINT ends it at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence

import anyio

LOOK_S = 0.1
"""How often it is looked for a signal where none can wake the event loop."""


async def watch_signals(
    on_first: Callable[[], None], on_second: Callable[[], None], earlier: Sequence[int] = ()
) -> None:
    """Wait for SIGINT, SIGTERM and SIGHUP until cancelled. Two SIGINTs call `on_second`.

    `earlier` are signals that came before this was called. A SIGHUP that the process ignores, as under nohup,
    stays ignored. On Windows no loop waits for signals: there, whoever fills `earlier` goes on doing so.
    """
    if sys.platform == "win32":
        await look_out(on_first, earlier)
    names = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        names.append(signal.SIGHUP)
    interrupts = 0
    with anyio.open_signal_receiver(*names) as received:
        if earlier:
            interrupts = list(earlier).count(signal.SIGINT)
            on_first()
        async for number in received:
            interrupts += number == signal.SIGINT
            if interrupts > 1:
                on_second()
            else:
                on_first()


async def look_out(on_first: Callable[[], None], arrivals: Sequence[int]) -> None:
    """Call `on_first` once there are `arrivals`, then wait to be cancelled."""
    while not arrivals:
        await anyio.sleep(LOOK_S)
    on_first()
    await anyio.sleep_forever()
