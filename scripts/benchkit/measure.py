"""Running one measured child: wall clock, CPU, peak memory, and what the mock server saw of it.

This process stays small on purpose: Linux counts the memory of the process that spawned a child into the
child's peak until it has replaced its image.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

SAMPLE_S = 0.01
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as the server saw it; moments in nanoseconds of the monotonic clock."""

    first_byte_ns: int
    sent_ns: int
    request_bytes: int
    begun_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The child's resident memory at a moment."""

    at_ns: int
    rss_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished child. `cpu_s` is user and system time, its own children included.

    `own_cpu_s` is that of its main thread alone, without its children; 0 where the system does not tell.
    """

    exit_code: int
    spawned_ns: int
    wall_ms: float
    cpu_s: float
    peak_rss_mb: float
    own_cpu_s: float = 0.0
    requests: tuple[Request, ...] = ()
    samples: tuple[Sample, ...] = ()

    @property
    def first_request_ms(self) -> float:
        """From the spawn to the first byte of the first request."""
        return (self.requests[0].first_byte_ns - self.spawned_ns) / 1e6

    @property
    def exit_tail_ms(self) -> float:
        """From the last byte that the server sent to the end of the process."""
        return self.wall_ms - (self.requests[-1].sent_ns - self.spawned_ns) / 1e6

    @property
    def turn_overheads_ms(self) -> tuple[float, ...]:
        """Between an answer and the next request, per turn."""
        pairs = zip(self.requests, self.requests[1:], strict=False)
        return tuple((after.first_byte_ns - before.sent_ns) / 1e6 for before, after in pairs)

    def rss_mb_at(self, moment_ns: int) -> float:
        """Resident memory in the last sample before `moment_ns`; 0 where the system does not tell."""
        before = [sample.rss_bytes for sample in self.samples if sample.at_ns <= moment_ns]
        return before[-1] / 1e6 if before else 0.0


class Door:
    """The mock server in its own process."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port
        self._runs = 0

    def url(self, scenario: str) -> tuple[str, str]:
        """A base URL nobody has used, and the name of its run."""
        self._runs += 1
        return f"http://127.0.0.1:{self.port}/{scenario}/{self._runs}", str(self._runs)

    def requests(self, run: str) -> tuple[Request, ...]:
        """What the server saw of `run`; asked for once."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", f"/log/{run}")
        entries = json.loads(connection.getresponse().read())
        connection.close()
        return tuple(Request(**entry) for entry in entries)


@contextmanager
def open_door(small_file: Path) -> Iterator[Door]:
    """The mock server, for the time of the block; its tool calls read `small_file`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchkit.server", str(small_file)],
        cwd=Path(__file__).resolve().parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Door(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


def run(command: Sequence[str], *, folder: Path, environment: Mapping[str, str], sample: bool = False,
        stdout: Path | None = None) -> Run:  # fmt: skip
    """Run `command` to its end, with nothing on stdin and its output in `stdout` or nowhere."""
    samples: list[Sample] = []
    ended = threading.Event()
    with Path(stdout or os.devnull).open("wb") as sink:
        spawned_ns = time.monotonic_ns()
        process = subprocess.Popen(
            command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
        guard = threading.Timer(TIMEOUT_S, process.kill)
        guard.start()
        if sample:
            threading.Thread(target=_sample, args=(process.pid, samples, ended), daemon=True).start()
        own_cpu_s = _own_cpu_s(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall_ms = (time.monotonic_ns() - spawned_ns) / 1e6
        ended.set()
        guard.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Run(
        exit_code=process.returncode,
        spawned_ns=spawned_ns,
        wall_ms=wall_ms,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_mb=peak_bytes / 1e6,
        own_cpu_s=own_cpu_s,
        samples=tuple(samples),
    )


def _own_cpu_s(pid: int) -> float:
    """What the main thread of a child has used, once that has ended and before it is collected."""
    if sys.platform != "linux":
        return 0.0
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _sample(pid: int, samples: list[Sample], ended: threading.Event) -> None:
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    source = Path(f"/proc/{pid}/statm")
    while not ended.wait(SAMPLE_S):
        try:
            resident = int(source.read_text().split()[1])
        except (OSError, IndexError):
            return
        samples.append(Sample(at_ns=time.monotonic_ns(), rss_bytes=resident * page_bytes))
