"""Stopping as a job of a shell: the terminal is given back until somebody lets the program go on."""

from __future__ import annotations

import os
import signal

import anyio

from caliban_tui.stage import Stage


def suspend() -> None:
    """Stop, with all that belong to us."""
    if hasattr(signal, "SIGTSTP"):
        os.killpg(os.getpgrp(), signal.SIGTSTP)


async def watch_stops(stage: Stage) -> None:
    """Give the terminal back at a stop, by key or from outside, until cancelled.

    Where nobody could let us go on (the program is no job of a shell) the system passes over the stop.
    """
    if not hasattr(signal, "SIGTSTP"):
        return
    with anyio.open_signal_receiver(signal.SIGTSTP) as received:
        async for number in received:
            with stage.paused():
                ours = signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)
                signal.signal(number, ours)
