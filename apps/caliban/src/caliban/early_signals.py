"""Signals that arrive before anything can be cancelled: noted, and honoured once a run has begun.

Without this, a signal during start-up or while a prompt is read would end the process without a result.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

from caliban.last_words import OutputState, cancelled_words

CANCELLED = 124
SECOND_INTERRUPT = 130


class EarlySignals:
    """The signals that came so far. One that comes again ends the process at once, with a result.

    `format_name` is the format that was asked for, `state` what is written already. `before_end` gives back
    what the process holds of the terminal.
    """

    def __init__(self, format_name: str | None = None) -> None:
        self.numbers: list[int] = []
        self.state = OutputState()
        self.before_end: Callable[[], None] | None = None
        self._format_name = format_name
        self._listens = False
        self._raises = False

    def listen(self) -> None:
        """Take SIGINT, SIGTERM and SIGHUP from now on; a SIGHUP that is ignored, as by nohup, stays so."""
        self._listens = True
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and not (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
                signal.signal(number, self._note)

    def listen_again(self) -> None:
        """Take them back from an event loop that took them for itself, if they were taken before."""
        if self._listens:
            self.listen()

    def raises(self, on: bool) -> None:
        """Whether a signal raises `KeyboardInterrupt`: for the time that a person or a pipe is waited for.

        Raises it for a signal that has come already.
        """
        self._raises = on
        if on and self.numbers:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number in self.numbers:
            if self.before_end is not None:
                self.before_end()
            try:
                os.write(1, cancelled_words(self._format_name, self.state))
            except OSError:
                pass  # nobody reads it
            os._exit(SECOND_INTERRUPT if number == signal.SIGINT else CANCELLED)
        self.numbers.append(number)
        if self._raises:
            raise KeyboardInterrupt
