"""A program that a person works in: it has the terminal, and all of the person's environment."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def run_in_foreground(words: Sequence[str]) -> int:
    """Run a program on the standard streams of this process until it ends; gives its exit code.

    It stays in the group of the terminal's foreground, so that it can read keys and hears of Ctrl-C itself.
    Raises `OSError` where it cannot be started, `ValueError` for words that are none.
    """
    return subprocess.run(list(words), check=False).returncode
