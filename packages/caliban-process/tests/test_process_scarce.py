"""Where files run out, a program is not started, in words; and when it is said to run."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import anyio
import pytest

from caliban_process import Command, NotStarted, Runner
from caliban_process.watchdog import Watchdog

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")
ENV = {"PATH": "/usr/bin:/bin"}
PIPE = os.pipe


def scarce(allowed: int) -> Iterator[None]:
    """`os.pipe`, which works so many times and then never again."""
    numbers = count(1)

    def pipe() -> tuple[int, int]:
        if next(numbers) > allowed:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return PIPE()

    return pipe


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files")
@pytest.mark.parametrize("allowed", range(4))
def test_a_program_for_which_there_are_no_pipes_left_is_not_started(monkeypatch, allowed) -> None:
    command = Command(argv=("/bin/cat",), env=ENV, stdin=b"x", data={"DATA": b"y"})

    async def main() -> None:
        runner = Runner()
        await runner.run(Command(argv=("/bin/true",), env=ENV))  # the watchdog and the loop have theirs
        before = sorted(os.listdir("/proc/self/fd"))
        monkeypatch.setattr(os, "pipe", scarce(allowed))
        with pytest.raises(NotStarted, match="too many open files"):
            await runner.run(command)
        monkeypatch.undo()
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert (await runner.run(command)).stdout.kept == b"x"

    anyio.run(main)


def test_a_program_runs_without_a_watchdog_where_that_gets_no_pipe(monkeypatch) -> None:
    watchdog = Watchdog("x" * 20)
    monkeypatch.setattr(os, "pipe", scarce(0))
    watchdog.add(os.getpgid(0), marked=False)
    watchdog.drop(os.getpgid(0))
    monkeypatch.undo()


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_program_is_said_to_run_before_it_has_ended(anyio_backend) -> None:
    order: list[str] = []

    def take(chunk: bytes) -> bool:
        order.append(chunk.decode())
        return True

    command = Command(argv=("/bin/sh", "-c", "printf out"), env=ENV)
    await Runner().feed(command, take, started=lambda: order.append("started"))
    assert order == ["started", "out"]
    with pytest.raises(NotStarted):
        missing = Command(argv=("/nowhere/at/all",), env=ENV)
        await Runner().feed(missing, take, started=lambda: order.append("never"))
    assert order == ["started", "out"]
