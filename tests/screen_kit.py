"""The real command on a pseudo-terminal with an emulator behind it: what a person sees, and what was sent."""

from __future__ import annotations

import fcntl
import os
import queue
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyte
from command_kit import Cli, take_terminal
from hang_guard import HANG_S

LOOK_S = 0.01
SCREEN_S = HANG_S / 5
"""Only ends what hangs, and shows the screen then."""

BEGIN, END = b"\x1b[?2026h", b"\x1b[?2026l"

KEYS = {
    "enter": "\r",
    "alt+enter": "\x1b\r",
    "alt+o": "\x1bo",
    "alt+up": "\x1b[1;3A",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "esc": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "backspace": "\x7f",
}


class _WholeScreen(pyte.HistoryScreen):
    """pyte leaves a row as it was where an empty one comes in its place; here none is missing.

    Where it becomes lower it does as terminals do: empty rows below the cursor go first, then those at the
    top, into what scrolled off, and the cursor stays with its text.
    """

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        lines = lines or self.lines
        if lines < self.lines:
            last = max(row for row, text in enumerate(self.display) if text.strip() or row <= self.cursor.y)
            pushed = max(last + 1 - lines, 0)
            place = self.cursor.y
            self.cursor.y = self.lines - 1
            for _ in range(pushed):
                self.index()
            self.cursor.y = place - pushed
            for row in range(lines, self.lines):
                self.buffer.pop(row, None)
            self.lines = lines
        super().resize(lines, columns)

    def insert_lines(self, count: int | None = None) -> None:
        self._touch()
        super().insert_lines(count)

    def delete_lines(self, count: int | None = None) -> None:
        self._touch()
        super().delete_lines(count)

    def _touch(self) -> None:
        for row in range(self.lines):
            self.buffer[row]


class _Line:
    """A connection on which everything takes `latency_s`, in order; with none it is there at once."""

    def __init__(self, latency_s: float, arrive: Callable[[bytes], None]) -> None:
        self._latency_s, self._arrive = latency_s, arrive
        self._under_way: queue.SimpleQueue[tuple[float, bytes] | None] = queue.SimpleQueue()
        self._carrier = threading.Thread(target=self._carry, daemon=True)
        self._carrier.start()

    def send(self, data: bytes) -> None:
        self._under_way.put((time.monotonic() + self._latency_s, data))

    def close(self) -> None:
        """Let all arrive that is under way."""
        self._under_way.put(None)
        self._carrier.join(HANG_S)

    def _carry(self) -> None:
        while (sent := self._under_way.get()) is not None:
            time.sleep(max(sent[0] - time.monotonic(), 0))
            self._arrive(sent[1])


class Screen:
    """A terminal of `columns` by `rows` with the command on it. `sent` are all bytes that it wrote.

    `prepare` is called in its process before it begins; with that, or where it `starts`, it is no fork. With
    `latency_s` the terminal is far away: so long everything takes that goes there or comes from there.
    `answers` is what it says once it is asked for its attributes.
    """

    def __init__(
        self,
        cli: Cli,
        *args: str,
        columns: int,
        rows: int,
        env: Mapping[str, str] | None = None,
        prepare: Callable[[], object] | None = None,
        starts: bool = False,
        latency_s: float = 0.0,
        answers: bytes = b"",
    ) -> None:
        self._answers = answers
        self.columns, self.rows = columns, rows
        self._emulator = _WholeScreen(columns, rows, history=100_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._emulator)
        self._lock = threading.Lock()
        self._reads = threading.Event()
        self._reads.set()
        self.sent = bytearray()
        self._open_frame = b""
        self._ours, theirs = os.openpty()
        self._end, self._ends = os.pipe()  # a reader that is blocked would keep the terminal open
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.modes_before = termios.tcgetattr(theirs)
        self._theirs = theirs
        options = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
        environ = {"TERM": "xterm-256color", **(env or {})}
        if prepare is None and not starts:
            self.process = cli.begin(*args, env=environ, **options)
        else:
            prepared = prepare or (lambda: None)
            options["preexec_fn"] = lambda: (take_terminal(), prepared())
            self.process = cli.start(*args, env=environ, **options)
        self._there = _Line(latency_s, self._show) if latency_s else None
        self._back = _Line(latency_s, self._typed) if latency_s else None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            self._reads.wait()
            try:
                if self._end in select.select([self._ours, self._end], [], [])[0]:
                    return
                if self._there is not None:
                    data = os.read(self._ours, 1 << 16)
                    self._there.send(data)
                else:
                    with self._lock:  # what is read stands on the screen before anybody looks
                        data = os.read(self._ours, 1 << 16)
                        self._put(data)
            except (OSError, ValueError):
                return
            if not data:
                return

    def _show(self, data: bytes) -> None:
        with self._lock:
            self._put(data)

    def _put(self, data: bytes) -> None:
        self.sent += data
        self._feed(data)
        if self._answers and b"\x1b[c" in self.sent:
            answers, self._answers = self._answers, b""
            self._send(answers)

    def _feed(self, data: bytes) -> None:
        """Show `data`, but for a synchronised frame that is not whole: nobody sees a half of one."""
        data = self._open_frame + data
        begin = data.rfind(BEGIN)
        tail = data.rfind(BEGIN[:1], max(len(data) - len(BEGIN) + 1, 0))
        if tail > begin and BEGIN.startswith(data[tail:]):
            begin = tail
        whole = begin if begin > data.rfind(END) else len(data)
        self._open_frame = data[whole:]
        self._stream.feed(data[:whole])

    @property
    def lines(self) -> list[str]:
        """The rows of the screen now, without blanks at their ends."""
        with self._lock:
            return [row.rstrip() for row in self._emulator.display]

    @property
    def text(self) -> str:
        """The screen now."""
        return "\n".join(self.lines)

    @property
    def scrollback(self) -> list[str]:
        """The rows that went off the top, then those of the screen."""
        with self._lock:
            gone = [
                "".join(row[column].data for column in range(self.columns)).rstrip()
                for row in self._emulator.history.top
            ]
            return gone + [row.rstrip() for row in self._emulator.display]

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 0."""
        with self._lock:
            return self._emulator.cursor.y, self._emulator.cursor.x

    def hold(self) -> None:
        """Read no more of what the command writes, but for what is read already."""
        self._reads.clear()

    def release(self) -> None:
        """Read again."""
        self._reads.set()

    def type(self, text: str) -> None:
        """Type it."""
        self._send(text.encode())

    def _send(self, data: bytes) -> None:
        if self._back is not None:
            self._back.send(data)
        else:
            self._typed(data)

    def _typed(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._ours, data) :]

    def press(self, *names: str) -> None:
        """Press keys by name: `enter`, `ctrl+c`, or one character."""
        for name in names:
            if name.startswith("ctrl+"):
                self.type(chr(ord(name[5:].upper()) & 0x1F))
            else:
                self.type(KEYS.get(name, name))

    def wait(self, is_so: Callable[[], object] | str) -> str:
        """Wait until it is so, or a text stands on the screen, wherever its lines end; the screen then."""
        end_s = time.monotonic() + SCREEN_S
        while not (self._shows(is_so) if isinstance(is_so, str) else is_so()):
            assert self.process.poll() is None, f"the command has ended; its screen:\n{self.text}"
            assert time.monotonic() < end_s, f"{is_so!r} does not come; the screen:\n{self.text}"
            time.sleep(LOOK_S)
        return self.text

    def _shows(self, words: str) -> bool:
        """Whether they stand there as they are, or broken where a path before them was long."""
        text = self.text
        return words in text or words in " ".join(text.split())

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal another size."""
        with self._lock:
            self._emulator.resize(rows, columns)
            self.columns, self.rows = columns, rows
            fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ended(self) -> int:
        """Wait for the end, and until all that was written is on the screen; the exit code."""
        code = self.process.wait(SCREEN_S)
        if self._there is not None:
            self._there.close()
            self._there = None
        while select.select([self._ours], [], [], 0)[0]:
            time.sleep(LOOK_S)
        with self._lock:
            self._stream.feed(self._open_frame)
            self._open_frame = b""
            return code

    @property
    def modes(self) -> list[object]:
        """The modes of the terminal, as `termios` has them."""
        return list(termios.tcgetattr(self._theirs))

    def hang_up(self) -> None:
        """Close the terminal, as a window is closed or a connection breaks; the command may live on."""
        if self._ends < 0:
            return
        self.release()
        os.close(self._ends)
        self._ends = -1
        self._reader.join(HANG_S)
        for line in filter(None, (self._there, self._back)):
            line.close()
        for descriptor in (self._ours, self._theirs, self._end):
            os.close(descriptor)

    def close(self) -> None:
        """End the command, and close the terminal."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(HANG_S)
        self.hang_up()


@contextmanager
def on_screen(
    cli: Cli,
    *args: str,
    columns: int = 80,
    rows: int = 24,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> Iterator[Screen]:
    """The command on a terminal of this size; `options` are those of `Screen`."""
    screen = Screen(cli, *args, columns=columns, rows=rows, env=env, **options)
    try:
        yield screen
    except subprocess.SubprocessError as error:
        raise AssertionError(f"{error}; the screen:\n{screen.text}") from error
    finally:
        screen.close()
