"""A program to talk with, closed in order: its input, then SIGTERM, then SIGKILL for all of its group."""

from __future__ import annotations

import os
import sys

import anyio
import pytest
from hang_guard import HANG_S, LIMITS_S
from msgspec.structs import replace

from caliban_process import InputClosed, NotStarted, OutputLimit

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")]


async def read_until(process, end: bytes) -> bytes:
    data = b""
    with anyio.fail_after(HANG_S):
        while not data.endswith(end):
            chunk = await process.receive()
            assert chunk, data
            data += chunk
    return data


async def test_bytes_go_to_and_fro_and_the_end_of_input_ends_it(runner, sh, tmp_path):
    script = 'while read line; do echo "<$line>"; done; echo bye > last'
    async with runner.start(sh(script, stdin=b"", grace_s=HANG_S)) as process:
        for word in (b"one", b"two"):
            await process.send(word + b"\n")
            assert await read_until(process, b"\n") == b"<" + word + b">\n"
        assert process.exit_code is None
    assert (process.exit_code, process.stopped) == (0, 0)
    assert (tmp_path / "last").read_text() == "bye\n"


async def test_one_that_ignores_the_end_of_its_input_is_asked_by_a_signal(runner, sh, tmp_path):
    script = "trap ': > asked; exit 5' TERM; echo ready; while :; do sleep 0.02; done"
    for grace_s in (0.5, *LIMITS_S):
        async with runner.start(sh(script, stdin=b"", grace_s=grace_s)) as process:
            await read_until(process, b"ready\n")
        if process.exit_code != -9:  # it had the time to answer
            break
    assert (process.exit_code, (tmp_path / "asked").exists()) == (5, True)


async def test_one_that_ignores_signals_too_is_killed_with_its_children(runner, sh, tmp_path, gone):
    script = "trap '' TERM; sleep 600 & echo $! > child; echo ready; while :; do sleep 0.02; done"
    async with runner.start(sh(script, stdin=b"", grace_s=0.1)) as process:
        await read_until(process, b"ready\n")
    assert process.exit_code == -9
    assert gone(int((tmp_path / "child").read_text()))


async def test_the_group_is_killed_where_its_leader_has_gone_before(runner, sh, tmp_path, gone):
    script = "trap '' TERM; sleep 600 & echo $! > child; exit 4"
    async with runner.start(sh(script, stdin=b"", grace_s=0.1)) as process:
        with anyio.fail_after(HANG_S):
            await process.exited()
        assert not gone(int((tmp_path / "child").read_text()), within_s=0.1)
    assert (process.exit_code, process.stopped) == (4, 1)
    assert gone(int((tmp_path / "child").read_text()))


async def test_several_are_closed_side_by_side(runner, sh):
    names = [str(number) for number in range(4)]
    exit_codes: list[int | None] = []
    waits = "".join(f"while [ ! -e {name} ]; do sleep 0.02; done; " for name in names)
    ready, left = [], anyio.Event()

    async def serve(name: str) -> None:
        # Each ends only when all of them have been asked to.
        script = f"trap ': > {name}; {waits}exit 0' TERM; echo ready; while :; do sleep 0.02; done"
        async with runner.start(sh(script, grace_s=HANG_S)) as process:
            await read_until(process, b"ready\n")
            ready.append(name)
            if len(ready) == len(names):
                left.set()
            await left.wait()
        exit_codes.append(process.exit_code)

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(serve, name)
    assert exit_codes == [0] * len(names)


async def test_standard_error_never_blocks_it_and_stays_bounded(runner, sh):
    script = "seq 1 200000 >&2; echo done; cat"
    limit = OutputLimit(head_bytes=4, tail_bytes=7)
    async with runner.start(sh(script, stdin=b"", output=limit)) as process:
        assert await read_until(process, b"done\n") == b"done\n"
        with anyio.fail_after(HANG_S):
            while process.stderr.tail != b"200000\n":
                await anyio.sleep(0.01)
    assert (process.stderr.head, process.stderr.total_bytes) == (b"1\n2\n", 1288895)


async def test_any_number_of_tasks_may_wait_for_its_end(runner, sh):
    ended: list[str] = []

    async def wait(process) -> None:
        await process.exited()
        ended.append("seen")

    async with anyio.create_task_group() as group:
        async with runner.start(sh("cat", stdin=b"", grace_s=HANG_S)) as process:
            for _ in range(3):
                group.start_soon(wait, process)
            await anyio.wait_all_tasks_blocked()
        assert process.exit_code == 0
        with anyio.fail_after(HANG_S):
            while len(ended) < 3:
                await anyio.sleep(0.01)


async def test_whoever_still_reads_when_it_is_closed_is_woken(runner, sh):
    async def read(process) -> None:
        assert await process.receive() == b""

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            # What holds the pipe open is a daemon, which is not stopped with the program.
            script = "setsid sh -c 'echo $$; exec sleep 600' & read end"
            async with runner.start(sh(script, stdin=b"", grace_s=HANG_S)) as process:
                pid = int(await process.receive())
                group.start_soon(read, process)
                await anyio.wait_all_tasks_blocked()
                process.end_input()
                await process.exited()
    os.kill(pid, 9)


async def test_one_that_reads_no_more_says_so_and_its_output_ends(runner, sh):
    async with runner.start(sh("exit 0", stdin=b"")) as process:
        with anyio.fail_after(HANG_S):
            assert await process.receive() == b""
            await process.exited()
            with pytest.raises(InputClosed, match="/bin/sh reads no input any more"):
                await process.send(b"x" * 100_000)


async def test_what_the_block_raises_arrives_as_it_is_and_ends_the_program(runner, sh, gone):
    with pytest.raises(LookupError, match="mine"):
        async with runner.start(sh("trap '' TERM; sleep 600", stdin=b"", grace_s=0)) as process:
            raise LookupError("mine")
    assert process.exit_code == -9
    assert gone(process.pid)


async def test_cancelling_the_block_ends_the_program(runner, sh, gone):
    with anyio.CancelScope() as scope:
        async with runner.start(sh("sleep 600", stdin=b"", grace_s=0)) as process:
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught and process.exit_code == -9
    assert gone(process.pid)


async def test_one_that_cannot_be_started_says_why(runner, sh):
    with pytest.raises(NotStarted, match="no such file or directory"):
        async with runner.start(replace(sh(""), argv=("/no/such/program",))):
            pytest.fail("it was started")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux only")
async def test_the_number_of_its_processes_is_bounded_from_the_start(runner, sh):
    async with runner.start(
        sh("read go; grep processes /proc/$$/limits", stdin=b"", max_processes=2048)
    ) as process:
        await process.send(b"go\n")
        line = await read_until(process, b"\n")
    assert 2048 < int(line.split()[2]) < 100_000


async def test_after_the_end_nothing_is_read_from_a_number_that_others_may_have(runner, sh):
    async with runner.start(sh("cat", stdin=b"")) as process:
        pass
    assert await process.receive() == b""
    with pytest.raises(InputClosed):
        await process.send(b"x")
