"""A small process that outlives us: when we are gone, however that came, it kills what we have started.

It reads a pipe whose other end only we hold. `+n` and `-n` add and drop a process group; the end of the pipe
is our end, by `kill -9` too. On Linux it then also looks for our marker in every environment, which finds
what has left its group. It costs one shell per tool set, started with the first command.
"""

from __future__ import annotations

import os
import weakref

_SCRIPT = r"""
watch() {
  groups=
  while read -r line; do
    group=${line#?}
    case $line in
      +*) groups="$groups $group" ;;
      -*) kept=
          for known in $groups; do [ "$known" = "$group" ] || kept="$kept $known"; done
          groups=$kept ;;
    esac
  done
  for group in $groups; do kill -9 "-$group" 2>/dev/null; done
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


class Watchdog:
    """Watches the process groups of one tool set; `marker` is the text that their environments hold."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._pipe: int | None = None

    def add(self, group: int) -> None:
        """From now on `group` dies with us."""
        if self._pipe is None:
            self._start()
        self._say(f"+{group}\n")

    def drop(self, group: int) -> None:
        """The group has ended."""
        self._say(f"-{group}\n")

    def _say(self, line: str) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, line.encode("ascii"))
        except BlockingIOError:
            pass
        except OSError:  # somebody killed it: the next command starts another
            self._pipe = None

    def _start(self) -> None:
        import subprocess

        theirs, ours = os.pipe()
        os.set_blocking(ours, False)
        try:
            subprocess.run(
                [_SHELL, "-c", _SCRIPT, "caliban-watchdog", self._marker],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
                check=False,
            )
        except OSError:
            os.close(ours)
            return  # commands still run; they are ended by us, only not after us
        finally:
            os.close(theirs)
        self._pipe = ours
        weakref.finalize(self, _close, ours)


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        pass
