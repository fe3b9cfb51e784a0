"""A question to the person at the terminal, for commands that go on with a yes alone."""

from __future__ import annotations

import os
import sys

from caliban.early_signals import EarlySignals
from caliban.errors import CommandCancelled
from caliban.stdio import complain


def has_person() -> bool:
    """Whether somebody sees what is written, and can answer."""
    return sys.stdin is not None and sys.stdin.isatty() and os.isatty(1)


def says_yes(question: str, signals: EarlySignals) -> bool:
    """Whether a person says yes; anything else is no. Raises `CommandCancelled`."""
    complain(f"\n{question} [y/N] ")
    try:
        signals.raises(True)
        line = sys.stdin.readline()
        signals.raises(False)
    except KeyboardInterrupt:
        raise CommandCancelled("cancelled; nothing was written") from None
    return line.strip().lower() in ("y", "yes")
