"""One wrapper stands around every child process, of whatever kind."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from caliban_process import Command, ProcessError, Runner

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")]


class Fence:
    """A wrapper as a sandbox would be: another program in front, a variable more, and a note of it all."""

    def __init__(self) -> None:
        self.seen: list[Command] = []

    def wrap(self, command: Command) -> Command:
        self.seen.append(command)
        env = {**command.env, "FENCED": "yes"}
        return replace(command, argv=("/usr/bin/env", "WRAPPED=yes", *command.argv), env=env)


async def test_every_form_of_running_goes_through_the_wrapper(sh):
    fence = Fence()
    runner = Runner(fence)
    command = sh("echo $WRAPPED $FENCED", marker="MARK")
    assert (await runner.run(command)).stdout.kept == b"yes yes\n"
    chunks: list[bytes] = []
    await runner.feed(command, lambda chunk: not chunks.append(chunk))
    async with runner.start(command) as process:
        chunks.append(await process.receive())
    assert chunks == [b"yes yes\n"] * 2
    assert [seen.argv for seen in fence.seen] == [command.argv] * 3
    marks = {seen.env["MARK"] for seen in fence.seen}
    assert len(marks) == 3  # the wrapper sees what the program will have, and no two calls are alike


async def test_a_wrapper_can_refuse(sh, tmp_path):
    class Refusing:
        def wrap(self, command: Command) -> Command:
            raise ProcessError("there is no sandbox here")

    with pytest.raises(ProcessError, match="there is no sandbox here"):
        await Runner(Refusing()).run(sh("touch ran"))
    assert not (tmp_path / "ran").exists()


async def test_a_wrapper_is_open_for_as_long_as_the_program_runs(sh):
    events: list[str] = []

    class Opened:
        @asynccontextmanager
        async def wrap(self, command: Command):
            events.append("open")
            yield replace(command, argv=("/usr/bin/env", "INNER=yes", *command.argv))
            events.append("closed")

    fence = Fence()
    runner = Runner(fence).within(Opened())
    done = await runner.run(sh("echo $WRAPPED $INNER"))
    assert done.stdout.kept == b"yes yes\n" and events == ["open", "closed"]
    assert fence.seen[0].argv[:2] == ("/usr/bin/env", "INNER=yes")  # the one within goes first


async def test_data_is_read_from_descriptors_under_their_numbers(sh):
    command = replace(sh("cat /dev/fd/$0 /dev/fd/$1"), data={"first": b"one\n", "second": b"two\n"})
    command = replace(command, argv=(*command.argv, "first", "second"))
    out = (await Runner().run(command)).stdout.kept
    assert out.startswith(b"one\ntwo\n")


async def test_data_that_no_pipe_holds_is_refused(sh):
    with pytest.raises(ProcessError, match="could not be started"):
        await Runner().run(replace(sh("echo ran"), data={"x": b"x" * 70_000}))


async def test_a_monitor_that_fails_by_itself_has_started_nothing(sh):
    with pytest.raises(ProcessError, match="could not be started: no room"):
        await Runner().run(sh("echo 'guard: no room' >&2; exit 1", monitor="guard: "))
    done = await Runner().run(sh("echo 'guard: no room' >&2; exit 2", monitor="guard: "))
    assert done.exit_code == 2


async def test_nothing_starts_unprepared(sh, tmp_path):
    trials: list[str] = []

    def prepare() -> None:
        trials.append("tried")
        if len(trials) < 3:
            raise ProcessError("not ready")

    runner = Runner(prepare=prepare)
    for _ in range(2):
        with pytest.raises(ProcessError, match="not ready"):
            await runner.run(sh("touch ran"))
        assert not (tmp_path / "ran").exists()
    for _ in range(2):
        assert (await runner.run(sh("echo ran"))).stdout.kept == b"ran\n"
    assert len(trials) == 3
