"""Signals that end the terminal interface, as calls, without what the face without a terminal loads."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence

import anyio


async def watch_ends(
    on_first: Callable[[], None], on_second: Callable[[], None], earlier: Sequence[int]
) -> None:
    """Wait for SIGINT, SIGTERM and SIGHUP until cancelled; two SIGINTs call `on_second`.

    `earlier` are signals that came before this was called. A SIGHUP that is ignored stays so.
    """
    if sys.platform == "win32":
        from caliban_headless.signals import watch_signals

        await watch_signals(on_first, on_second, earlier)
    names = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        names.append(signal.SIGHUP)
    interrupts = list(earlier).count(signal.SIGINT)
    with anyio.open_signal_receiver(*names) as received:
        if earlier:
            on_first()
        async for number in received:
            interrupts += number == signal.SIGINT
            (on_second if interrupts > 1 else on_first)()
