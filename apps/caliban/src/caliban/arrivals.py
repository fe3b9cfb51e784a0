"""Signals that arrive before anything can be cancelled: noted, and honoured once a run has begun.

Without this, a signal during start-up or while a prompt is read would end the process without a result.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

CANCELLED = 124
SECOND_INTERRUPT = 130


class Arrivals:
    """The signals that came so far. One that comes again ends the process at once."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def listen(self) -> None:
        """Take SIGINT, SIGTERM and SIGHUP from now on; a SIGHUP that is ignored, as by nohup, stays so."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and not (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number in self.numbers:
            os._exit(SECOND_INTERRUPT if number == signal.SIGINT else CANCELLED)
        self.numbers.append(number)
