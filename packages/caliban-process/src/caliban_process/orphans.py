"""Processes that a program left behind and that hide from every trace; Linux only.

A process in a session of its own, with an empty environment and a dead parent, would belong to init. Where
we adopt orphans (prctl(2), PR_SET_CHILD_SUBREAPER) it becomes a child of ours, one that we did not start.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from time import monotonic
from typing import Final

from caliban_process.lookout import Lookout
from caliban_process.prctl import prctl
from caliban_process.tree import IS_LINUX, Entry, entry_of, read_proc, remains_of

_PR_SET_CHILD_SUBREAPER: Final = 36


class Orphans:
    """Knows which children of this process nobody here has started. Tell it of each one that somebody has.

    From its making on orphans are adopted: make it before the first program starts. `lookout` has whoever
    started a program look at them while it runs.
    """

    def __init__(self) -> None:
        self.lookout: Lookout = Lookout()
        self._own: set[int] = set()
        self._seen: set[int] = set()
        self._looked: tuple[float, tuple[Entry, ...]] = (0.0, ())
        self._adopts = IS_LINUX and prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def started(self, pid: int) -> None:
        """`pid` is no orphan."""
        self._own.add(pid)

    def ended(self, pid: int) -> None:
        """`pid` has been reaped; its number may be given to another."""
        self._own.discard(pid)

    @property
    def own(self) -> Collection[int]:
        """The programs that were started here, and have not been reaped."""
        return self._own

    def look(self, max_age_s: float = 0) -> tuple[Entry, ...]:
        """The living orphans in sessions other than ours; those that have ended are reaped.

        What was seen up to `max_age_s` ago will do.
        """
        if not self._adopts:
            return ()
        looked_at, seen = self._looked
        if monotonic() - looked_at < max_age_s:
            return seen
        session = os.getsid(0)
        orphans: list[Entry] = []
        for pid in _children():
            if pid in self._own:
                continue
            entry = entry_of(pid)
            if entry is not None:
                # What is in a session that was begun here leaves traces, or is the watchdog.
                if entry.session != session and entry.session not in self._own:
                    self._seen.add(pid)
                    orphans.append(entry)
            elif pid in self._seen:  # of others' children somebody else wants the exit code
                self._seen.discard(pid)
                _reap(pid)
        self._looked = (monotonic(), tuple(orphans))
        return tuple(orphans)

    def bury(self) -> None:
        """Collect what a monitor left dead in a session of its own: it began in none of ours."""
        if not self._adopts:
            return
        ours = os.getsid(0)
        for pid in _children():
            if pid in self._own:
                continue
            remains = remains_of(pid)
            if remains is not None and remains.session != ours and remains.session not in self._own:
                self._seen.discard(pid)
                _reap(pid)


def _children() -> Iterable[int]:
    """The children of our main thread: the kernel gives orphans to the first thread of whoever adopts them.

    What other threads have started is none of them.
    """
    pid = os.getpid()
    try:
        return map(int, read_proc(f"/proc/{pid}/task/{pid}/children").split())
    except OSError:
        return ()


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except OSError:
        pass
