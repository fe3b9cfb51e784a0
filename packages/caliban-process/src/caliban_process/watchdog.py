"""A small process that outlives us: when we are gone, however that came, it kills what we have started.

It reads a pipe whose other end only we hold. A line adds (`g` and its number) or drops (`d`) a process group;
the end of the pipe is our end, by `kill -9` too. What the programs of a group have started dies with it, in
whatever group it is (Linux). Where some group carries our marker (`m` adds it), it then
also looks for that in every environment of the machine (Linux), which finds what has left its group. It costs
one shell per runner, started beside the first program: nobody waits for it.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

    from caliban_process.orphans import Orphans

_SCRIPT = r"""
below() {
  found= grown=yes
  while [ "$grown" ]; do
    grown=
    for file in /proc/[0-9]*/stat; do
      read -r line < "$file" || continue
      pid=${line%% *}
      case " $found " in *" $pid "*) continue ;; esac
      set -- ${line##*) }
      case " $groups $found " in *" $2 "*|*" $3 "*) found="$found $pid" grown=yes ;; esac
    done
  done
}
watch() {
  groups= marked=
  while read -r line; do
    group=${line#?}
    case $line in
      d*) kept=
          for known in $groups; do [ "$known" = "$group" ] || kept="$kept $known"; done
          groups=$kept ;;
      m*) groups="$groups $group" marked=yes ;;
      g*) groups="$groups $group" ;;
    esac
  done
  below
  for group in $groups; do kill -9 "-$group" 2>/dev/null; done
  for pid in $found; do kill -9 "$pid" 2>/dev/null; done
  [ "$marked" ] || return
  for round in 1 2 3; do
    for file in $(grep -l -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
      pid=${file#/proc/}
      kill -9 "${pid%/environ}" 2>/dev/null
    done
  done
}
exec 3<&0
watch "$1" <&3 3<&- &
"""
_SHELL = "/bin/sh"
MIN_MARKER_CHARS = 16


class Watchdog:
    """Watches the process groups of one runner; `marker` is the text that marked environments hold.

    Whatever holds it is killed when we are gone: one that is so short that others may hold it is refused.

    `orphans`, where it is set, is told of every process that is started, the watchdog's own included.
    """

    def __init__(self, marker: str) -> None:
        if len(marker) < MIN_MARKER_CHARS:
            raise ValueError(f"a marker has at least {MIN_MARKER_CHARS} characters")
        self._marker = marker
        self._pipe: int | None = None
        self._starter: Popen[bytes] | None = None
        self._is_looking = False
        self.orphans: Orphans | None = None

    def prepare(self) -> None:
        """Stand ready before a marked program starts: it dies with us from its first moment.

        For others, which are known by their group alone, `add` starts the watch: they run meanwhile.
        """
        if self._pipe is None:
            self._start()
        if not self._is_looking:
            self._write("m\n")
            self._is_looking = self._pipe is not None

    def add(self, group: int, *, marked: bool) -> None:
        """From now on `group` dies with us, and what is marked too."""
        if self._pipe is None:
            self._start()
        if self.orphans is not None:
            self.orphans.started(group)
        self._write(f"{'m' if marked else 'g'}{group}\n")

    def drop(self, group: int) -> None:
        """The group has ended."""
        self._write(f"d{group}\n")
        if self.orphans is not None:
            self.orphans.ended(group)
        if self._starter is not None and self._starter.poll() is not None:
            self._starter = None

    def add_orphan(self, group: int) -> None:
        """From now on `group`, which a program of ours left behind, dies with us."""
        self._write(f"g{group}\n")

    def _write(self, line: str) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, line.encode("ascii"))
        except BlockingIOError:
            pass
        except OSError:  # somebody killed it: the next program starts another
            self._pipe = None

    def _start(self) -> None:
        import subprocess

        try:
            theirs, ours = os.pipe()
        except OSError:  # too many files are open: programs still run, and are ended by us
            return
        os.set_blocking(ours, False)
        try:
            # It leaves the watching to a child of its own and ends: nobody here is the parent of that one.
            self._starter = subprocess.Popen(
                [_SHELL, "-c", _SCRIPT, "caliban-watchdog", self._marker],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
            )
        except OSError:
            os.close(ours)
            return  # programs still run; they are ended by us, only not after us
        finally:
            os.close(theirs)
        self._pipe = ours
        self._is_looking = False
        if self.orphans is not None:
            self.orphans.started(self._starter.pid)
        weakref.finalize(self, _end, ours, self._starter)


def _end(pipe: int, starter: Popen[bytes]) -> None:
    try:
        os.close(pipe)
    except OSError:
        pass
    starter.wait()
