"""Whether a search gets on is seen from outside: by its processor time and its memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from caliban_tools_builtin.search import standstill
from caliban_tools_builtin.search.standstill import gets_on, work_done

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of its processes")


@contextmanager
def child(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A child that has begun its work: it has said so."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        try:
            yield process
        finally:
            process.kill()


def test_who_works_gets_on() -> None:
    with child(sys.executable, "-c", "print(end='x', flush=True)\nwhile True: pass") as process:
        before = work_done(sys.executable)
        assert before is not None and process.pid in before
        own = {
            process.pid: before[process.pid]
        }  # other tests of this worker may have left children that wait
        while not gets_on(own, work_done(sys.executable)):
            pass  # a tick is 10 ms of work
    left = work_done(sys.executable)
    assert left is None or process.pid not in left


def test_who_waits_does_not() -> None:
    with child("/bin/sh", "-c", "printf x; read line; exit") as process:
        before = work_done("/bin/sh")
        assert before is not None and before[process.pid] >= 0
        assert not gets_on(before, work_done("/bin/sh"))
        assert work_done("/bin/other") is None


def test_who_fills_the_memory_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with child("/bin/sh", "-c", "printf x; read line; exit"):
        assert work_done("/bin/sh") is not None
        monkeypatch.setattr(standstill, "MAX_BYTES", 1)
        assert work_done("/bin/sh") is None


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({7: 1}, {7: 2}, True),
        ({7: 1}, {7: 1}, False),
        ({7: 1, 8: 1}, {7: 2, 8: 1}, False),
        ({7: 1, 8: 1}, {7: 2}, True),
        ({7: 1}, None, False),
        (None, {7: 2}, False),
    ],
)
def test_each_has_to_get_on(
    before: dict[int, int] | None, now: dict[int, int] | None, expected: bool
) -> None:
    assert gets_on(before, now) is expected
