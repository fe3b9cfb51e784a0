"""Whether a program that searches gets on: one that waits, or that fills the memory, is held up by something.

Linux tells it of each process; elsewhere nobody knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 128 * 1024 * 1024
"""More memory than a search of 100,000 files takes (20 MB), by far."""

_TASKS: Final = Path("/proc/self/task")


def work_done(program: str) -> Mapping[int, int] | None:
    """The processor time (ticks, of 10 ms as a rule) of each child that is `program`, by its number.

    `None` where there is none or that cannot be told, and where one holds more than `MAX_BYTES` of memory.
    """
    if sys.platform != "linux":
        return None
    name = os.path.basename(program).encode()[:15]  # noqa: PTH119 - a text in, a text out
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    done: dict[int, int] = {}
    for pid in _children():
        try:
            head, _, tail = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")
        except OSError:
            continue
        fields = tail.split()
        if head.partition(b"(")[2] != name or fields[0] in (b"Z", b"X"):
            continue
        if int(fields[21]) * page_bytes > MAX_BYTES:
            return None
        done[pid] = int(fields[11]) + int(fields[12])
    return done or None


def gets_on(before: Mapping[int, int] | None, now: Mapping[int, int] | None) -> bool:
    """Whether each that was there `before` has worked since, or has ended."""
    if before is None or now is None:
        return False
    return all(now[pid] > ticks for pid, ticks in before.items() if pid in now)


def _children() -> Iterator[int]:
    """The children of this process."""
    try:
        for task in _TASKS.iterdir():
            yield from map(int, (task / "children").read_bytes().split())
    except OSError:
        return
