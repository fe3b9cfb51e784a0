"""What keeps the programs that we start from reading our own memory and environment; Linux, best effort.

The environment that a process was started with stays readable in /proc/PID/environ to whatever runs under the
same user, however the process changes its variables later: the values are overwritten where they lie. Then
the process is marked as not dumpable, which closes its memory and its open files to all but the superuser.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final

from caliban_process.prctl import prctl

_SELF: Final = Path("/proc/self")
_STAT_FIRST: Final = 3
_ENV_START: Final = 50
_PR_SET_DUMPABLE: Final = 4


def shield_process(names: Collection[str]) -> None:
    """Overwrite the values of the variables `names` in the memory that we began with, and close it to others.

    What Python knows of the environment is not changed. Whatever of it the system refuses is left undone.
    """
    if sys.platform != "linux":
        return
    try:
        _blank({os.fsencode(name) for name in names})
    except (OSError, ValueError, IndexError):
        pass
    prctl(_PR_SET_DUMPABLE, 0)


def _blank(names: Collection[bytes]) -> None:
    fields = (_SELF / "stat").read_bytes().rpartition(b")")[2].split()
    start, end = (int(fields[number - _STAT_FIRST]) for number in (_ENV_START, _ENV_START + 1))
    memory = os.open(_SELF / "mem", os.O_RDWR | os.O_CLOEXEC)
    try:
        place = start
        for entry in os.pread(memory, end - start, start).split(b"\0"):
            name, mark, value = entry.partition(b"=")
            if mark and name in names:
                os.pwrite(memory, bytes(len(value)), place + len(name) + 1)
            place += len(entry) + 1
    finally:
        os.close(memory)
