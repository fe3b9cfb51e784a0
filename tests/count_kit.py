"""How much a started command works, in calls of functions: the same on every machine, as no time is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hang_guard import wait_until

COUNTER = """\
import os, signal, sys

calls = 0

def count(frame, event, argument):
    global calls
    calls += event == "call"

def end(number, frame):
    sys.setprofile(None)
    with open(os.environ["CALLS"] + ".new", "w") as file:
        file.write(str(calls))
    os.rename(os.environ["CALLS"] + ".new", os.environ["CALLS"])

signal.signal(signal.SIGUSR1, lambda number, frame: sys.setprofile(count))
signal.signal(signal.SIGUSR2, end)
"""


class CallCounter:
    """Counts in a command that is started with `env`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(COUNTER)
        self._calls = folder / "calls"
        self.env = {"PYTHONPATH": str(folder), "CALLS": str(self._calls)}

    @contextmanager
    def counting(self, pid: int) -> Iterator[None]:
        """Count what the process does in the block."""
        self._calls.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR1)
        yield
        os.kill(pid, signal.SIGUSR2)
        wait_until(self._calls.exists)

    @property
    def count(self) -> int:
        """How many calls there were in the last block."""
        return int(self._calls.read_text())
