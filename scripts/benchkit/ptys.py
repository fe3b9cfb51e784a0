"""A program on a pseudo-terminal that answers queries as xterm does, with every read stamped."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

COLUMNS, ROWS = 120, 40
GIVE_UP_S = 60.0
PROBES = "αβγδεζηθικλμνξοπρστυφχψωбвгджзийклмнпрстуфхцчшщъыьэюя"
"""Letters that nothing else on the screen has, so that an echo is found in the bytes."""

ANSWERS: Sequence[tuple[bytes, bytes]] = (
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[0c", b"\x1b[?62;22c"),
    (b"\x1b[>c", b"\x1b[>0;390;0c"),
    (b"\x1b]10;?\x07", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x07"),
    (b"\x1b]10;?\x1b\\", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
    (b"\x1b]11;?\x07", b"\x1b]11;rgb:1010/1010/1010\x07"),
    (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:1010/1010/1010\x1b\\"),
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
)
_SEQUENCE = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]|[\x00-\x20]"
)


class Terminal:
    """The program and what it wrote: `reads` are moments in nanoseconds of the monotonic clock and bytes.

    `ready` is what it writes once it takes keys.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        size: tuple[int, int] = (COLUMNS, ROWS),
        *,
        ready: bytes = b"",
    ) -> None:
        self.ready: bytes = ready
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.reads: list[tuple[int, bytes]] = []
        self.written = bytearray()
        self._answered = 0
        self.begun_ns = time.monotonic_ns()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - this process has one thread
        )
        os.close(theirs)

    def look(self, seconds: float) -> bool:
        """Take what comes within `seconds`, one read; whether there was any."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:
            return False
        self.reads.append((time.monotonic_ns(), data))
        self.written += data
        self._answer()
        return bool(data)

    def type(self, text: str | bytes) -> int:
        """Type it, reading meanwhile; the moment at which the last byte was taken."""
        data = memoryview(text.encode() if isinstance(text, str) else text)
        os.set_blocking(self._ours, False)
        try:
            while data:
                try:
                    data = data[os.write(self._ours, data) :]
                except BlockingIOError:  # a sleep would be most of what a large paste is measured to take
                    select.select([self._ours], [self._ours], [], 0.01)
                    self.look(0)
        finally:
            os.set_blocking(self._ours, True)
        return time.monotonic_ns()

    def wait(self, is_so: Callable[[], object], what: str, seconds: float = GIVE_UP_S) -> int:
        """Until it is so; the moment of the read that made it so. Raises `TimeoutError`."""
        end_s = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end_s or (not self.look(0.05) and self.process.poll() is not None):
                raise TimeoutError(
                    f"{what} did not come; the end of what did: {bytes(self.written[-1500:])!r}"
                )
        return self.reads[-1][0] if self.reads else self.begun_ns

    def rest(self, quiet_s: float, most_s: float = 8.0) -> None:
        """Until nothing has come for so long."""
        end_s = time.monotonic() + most_s
        while time.monotonic() < end_s and self.look(quiet_s):
            pass

    def collect(self, seconds: float) -> None:
        """Take all that comes for so long."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            self.look(left_s)

    def echo_ms(self, letter: str, seconds: float = 5.0) -> float:
        """Type a letter: milliseconds until it is in what was written."""
        place, data = len(self.written), letter.encode()
        begun_ns = time.monotonic_ns()
        self.type(letter)
        return (
            self.wait(lambda: data in self.written[place:], f"the echo of {letter}", seconds) - begun_ns
        ) / 1e6

    def text(self, place: int = 0) -> bytes:
        """What was written from `place` on, without sequences and blanks."""
        return _SEQUENCE.sub(b"", bytes(self.written[place:]))

    def processes(self) -> list[int]:
        """The program and all that it started."""
        parents: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
        pids, new = [], [self.process.pid]
        while new:
            pids.append(pid := new.pop())
            new += parents.get(pid, [])
        return pids

    def cpu_s(self) -> float:
        """User and system time of all of them until now, and of their children that have ended."""
        ticks = 0
        for pid in self.processes():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def pss_mb(self) -> float:
        """Proportional memory of all of them."""
        kilobytes = 0
        for pid in self.processes():
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            kilobytes += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
        return kilobytes * 1024 / 1e6

    def close(self) -> None:
        """End it, with all that it started."""
        for pid in reversed(self.processes()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()
        os.close(self._ours)

    def _answer(self) -> None:
        while True:
            queries = [
                (place, query, answer)
                for query, answer in ANSWERS
                if (place := self.written.find(query, self._answered)) >= 0
            ]
            if not queries:
                self._answered = max(self._answered, len(self.written) - 16)
                return
            place, query, answer = min(queries)
            self._answered = place + len(query)
            os.write(self._ours, answer)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def on_terminal(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    size: tuple[int, int] = (COLUMNS, ROWS),
    *,
    ready: bytes = b"",
) -> Iterator[Terminal]:
    """The program for the time of the block, on a terminal of that many columns and rows; see `Terminal`."""
    terminal = Terminal(command, folder, environment, size, ready=ready)
    try:
        yield terminal
    finally:
        terminal.close()
