"""Questions to the person at the terminal, for commands that only go on with a yes."""

from __future__ import annotations

import os
import sys

from caliban.early_signals import EarlySignals
from caliban.errors import CommandCancelled
from caliban.stdio import complain


def can_answer() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def has_person() -> bool:
    """Whether somebody can answer, and sees what is written to standard output."""
    return can_answer() and os.isatty(1)


def says_yes(question: str, signals: EarlySignals, *, default: bool = False) -> bool:
    """Whether a person says yes; an empty line is the `default`. Raises `CommandCancelled` at a signal."""
    complain(f"{question} [{'Y/n' if default else 'y/N'}] ")
    try:
        signals.raises(True)
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        raise CommandCancelled("cancelled; nothing was written") from None
    except (OSError, ValueError):
        return False  # a terminal that is gone, or bytes that are no text
    finally:
        signals.raises(False)
    word = line.strip().lower()
    return word in ("y", "yes") or (default and line == "\n")


def lets_count(signals: EarlySignals) -> bool:
    """Whether a person lets what was shown count in runs. Raises `CommandCancelled`."""
    return says_yes("\nMay all of this count in runs here?", signals)
