"""Finding and signalling every process that a program has started.

The group of the program is signalled as a whole, which no fork can outrun. On Linux the process table also
gives what has left the group: other groups of the session, descendants, and whatever carries the traces of
the call: its marker in the environment, or its pipes. A process without traces, in a session of its own and
with a dead parent is not found. Elsewhere the group is all there is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator

from msgspec import Struct

IS_LINUX = sys.platform == "linux"
_PROC = "/proc"
_LOAD = "/proc/loadavg"
_CHUNK_BYTES = 1 << 16
_FEW = 256
"""So many numbers are asked for one by one; for more, the whole process table is listed."""
_STAT_BYTES = 1024
"""More than what `/proc/PID/stat` holds: 52 numbers, and a name of 64 bytes at most."""


class Entry(Struct, frozen=True, kw_only=True):
    """One living process of the process table."""

    pid: int
    parent: int
    group: int
    session: int


class Traces(Struct, frozen=True, kw_only=True):
    """What a program leaves on all its processes: a text in the environment, and pipes they write to."""

    marker: bytes | None
    pipes: frozenset[str]


def family(leader: int, traces: Traces | None, others: Collection[int] = ()) -> tuple[int, ...]:
    """The living processes that the program `leader` started, the leader left out.

    These are the members of its group and session and their descendants; with `traces`, whatever carries
    one of them as well. `others` are leaders too, and not looked at.
    """
    if not IS_LINUX:
        return ()
    members: set[int] = set()
    for entry in _younger_than(leader, others):
        if entry.pid == leader:
            continue
        related = leader in (entry.group, entry.session) or entry.parent in members or entry.parent == leader
        if (related or (traces is not None and _carries(entry.pid, traces))) and _is_process(entry.pid):
            members.add(entry.pid)
    return tuple(sorted(members))


def signal_all(leader: int | None, others: tuple[int, ...], number: signal.Signals) -> None:
    """Send a signal to the group of `leader`, which must not be reaped yet, and to `others`."""
    if leader is not None:
        _quietly(os.killpg, leader, number)
    for pid in others:
        _quietly(os.kill, pid, number)


def limit_processes(pid: int, room: int) -> None:
    """Bound what a fork bomb does to the user's other programs; Linux, best effort, without effect for root.

    The kernel counts all threads of the user, so the room is added to what runs on the whole machine.
    """
    if not IS_LINUX:
        return
    import resource

    try:
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
        wanted = int(_load()[3].partition(b"/")[2]) + room
        if soft == resource.RLIM_INFINITY or soft > wanted:
            resource.prlimit(pid, resource.RLIMIT_NPROC, (wanted, hard))
    except (OSError, ValueError):
        pass


def _quietly(send: Callable[[int, int], None], target: int, number: signal.Signals) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        pass


def _younger_than(leader: int, others: Collection[int]) -> Iterator[Entry]:
    """The processes that may have been started after `leader`, parents first, without `others`."""
    last = _last_pid()
    pids: Iterable[int]
    if leader <= last < leader + _FEW:
        # Most are nobody's: to ask that costs 0.001 ms for each, a look into the table ten times as much.
        pids = filter(_is_given, range(leader + 1, last + 1))
    else:
        pids = sorted(int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit())
        if last >= leader:
            pids = [pid for pid in pids if pid > leader]
    for pid in pids:
        entry = None if pid in others else entry_of(pid)
        if entry is not None:
            yield entry


def _last_pid() -> int:
    """The number that was given last; smaller than an older process's number once numbers have wrapped."""
    try:
        return int(_load()[-1])
    except (OSError, ValueError):
        return 0


def _load() -> list[bytes]:
    return read_proc(_LOAD).split()


def read_proc(path: str) -> bytes:
    """What a file of the process table says. Raises `OSError`.

    A third of what a file object of a path object costs; the end of a program asks for dozens.
    """
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while chunk := os.read(number, _CHUNK_BYTES):
            parts.append(chunk)
        return b"".join(parts)
    finally:
        os.close(number)


def _is_given(pid: int) -> bool:
    """Whether a process or a thread has that number, one that nobody has collected yet included."""
    try:
        os.getsid(pid)
    except ProcessLookupError:
        return False
    except OSError:  # whoever keeps us from asking knows it
        return True
    return True


def _stat(pid: int) -> list[bytes]:
    """What the process table says behind the name of a process; nothing where there is none."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(file, _STAT_BYTES).rpartition(b")")[2].split()
    except OSError:  # it has ended since
        return []
    finally:
        os.close(file)


def entry_of(pid: int) -> Entry | None:
    """The process, or `None` where there is none, or only what is left of it."""
    fields = _stat(pid)
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return Entry(pid=pid, parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]))


def remains_of(pid: int) -> Entry | None:
    """What is left of a process that has ended and that nobody has collected; else `None`."""
    fields = _stat(pid)
    if not fields or fields[0] != b"Z":
        return None
    return Entry(pid=pid, parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]))


def _is_process(pid: int) -> bool:
    """Whether that is the number of a process: those of threads are answered too, though never listed."""
    try:
        return b"\nTgid:\t%d\n" % pid in read_proc(f"/proc/{pid}/status")
    except OSError:
        return False


def is_marked(pid: int, name: str) -> bool:
    """Whether the variable `name` is in the environment of the process, whatever its value."""
    try:
        return name.encode() + b"=" in read_proc(f"/proc/{pid}/environ")
    except OSError:
        return False


def _carries(pid: int, traces: Traces) -> bool:
    try:
        if traces.marker is not None and traces.marker in read_proc(f"/proc/{pid}/environ"):
            return True
        return any(os.readlink(f"/proc/{pid}/fd/{number}") in traces.pipes for number in (1, 2))  # noqa: PTH115
    except OSError:
        return False
