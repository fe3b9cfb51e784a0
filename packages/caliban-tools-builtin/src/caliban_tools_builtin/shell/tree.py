"""Finding and signalling every process that a command has started.

The group of the shell is signalled as a whole, which no fork can outrun. On Linux the process table also
gives what has left the group: other groups of the session, descendants, and whatever carries the traces of
the call: its marker in the environment, or its pipes. A process without traces, in a session of its own and
with a dead parent is not found. Elsewhere the group is all there is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

IS_LINUX = sys.platform == "linux"
_PROC = Path("/proc")


class Entry(Struct, frozen=True, kw_only=True):
    """One living process of the process table."""

    pid: int
    parent: int
    group: int
    session: int


class Traces(Struct, frozen=True, kw_only=True):
    """What a command leaves on all its processes: a text in the environment, and pipes they write to."""

    marker: bytes
    pipes: frozenset[str]


def family(leader: int, traces: Traces | None) -> tuple[int, ...]:
    """The living processes that the command of `leader` started, the leader left out.

    These are the members of its group and session and their descendants; with `traces`, whatever carries
    one of them as well.
    """
    if not IS_LINUX:
        return ()
    found: set[int] = set()
    for entry in _younger_than(leader):
        if entry.pid == leader:
            continue
        related = leader in (entry.group, entry.session) or entry.parent in found or entry.parent == leader
        if related or (traces is not None and _carries(entry.pid, traces)):
            found.add(entry.pid)
    return tuple(sorted(found))


def signal_all(leader: int, others: tuple[int, ...], number: signal.Signals) -> None:
    """Send a signal to the group of `leader`, which must not be reaped yet, and to `others`."""
    _quietly(os.killpg, leader, number)
    for pid in others:
        _quietly(os.kill, pid, number)


def threads_running() -> int:
    """How many processes and threads the machine has. Raises `OSError` and `ValueError` away from Linux."""
    return int((_PROC / "loadavg").read_bytes().split()[3].partition(b"/")[2])


def _quietly(send: Callable[[int, int], None], target: int, number: signal.Signals) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        pass


def _younger_than(leader: int) -> Iterator[Entry]:
    """The processes that may have been started after `leader`, parents first."""
    pids = sorted(int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit())
    if _last_pid() >= leader:
        pids = [pid for pid in pids if pid > leader]
    for pid in pids:
        entry = _entry(pid)
        if entry is not None:
            yield entry


def _last_pid() -> int:
    """The number that was given last; smaller than an older process's number once numbers have wrapped."""
    try:
        return int((_PROC / "loadavg").read_bytes().split()[-1])
    except (OSError, ValueError):
        return 0


def _entry(pid: int) -> Entry | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return Entry(pid=pid, parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]))


def _carries(pid: int, traces: Traces) -> bool:
    process = _PROC / str(pid)
    try:
        if traces.marker in (process / "environ").read_bytes():
            return True
        return any(str((process / "fd" / number).readlink()) in traces.pipes for number in ("1", "2"))
    except OSError:
        return False
