"""A program run to its end, its limit or its cancellation, with nothing left of it."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S, LIMITS_S

from caliban_process import (
    CapturedOutput,
    Command,
    Completed,
    NotStarted,
    OutputLimit,
    OutputTooLarge,
    windows,
)

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")]


def completed(out: bytes = b"", err: bytes = b"", code: int = 0, stopped: int = 0) -> Completed:
    streams = [CapturedOutput(head=data, total_bytes=len(data)) for data in (out, err)]
    return Completed(reason="exited", exit_code=code, stdout=streams[0], stderr=streams[1], stopped=stopped)


async def test_a_program_gives_its_code_and_both_streams(runner, sh):
    assert await runner.run(sh("echo out; echo err >&2; exit 3")) == completed(b"out\n", b"err\n", 3)
    assert await runner.run(sh("kill -9 $$")) == completed(code=-9)


async def test_merged_streams_keep_their_order(runner, sh):
    command = sh("echo 1; echo 2 >&2; echo 3", merged=True)
    assert await runner.run(command) == completed(b"1\n2\n3\n")


async def test_it_has_the_environment_that_it_is_given_and_nothing_else(runner):
    command = Command(argv=("/usr/bin/env",), env={"A": "1"}, marker="MARK")
    lines = (await runner.run(command)).stdout.text().splitlines()
    assert sorted(line.partition("=")[0] for line in lines) == ["A", "MARK"]


async def test_without_input_it_reads_an_end_and_with_input_all_of_it(runner, sh):
    assert await runner.run(sh("cat; echo end")) == completed(b"end\n")
    large = b"x" * 300_000
    assert await runner.run(sh("cat | wc -c", stdin=large)) == completed(b"300000\n")


async def test_input_that_is_not_read_holds_nothing_up(runner, sh):
    assert await runner.run(sh("exec 0<&-; echo done", stdin=b"x" * 300_000)) == completed(b"done\n")


@pytest.mark.parametrize("stream", ["", " >&2"])
async def test_output_beyond_a_limit_that_refuses_ends_the_program(runner, sh, stream):
    limit = OutputLimit(head_bytes=1000, tail_bytes=0, refuse=True)
    with pytest.raises(OutputTooLarge, match="/bin/sh printed more than 1,000 bytes"):
        await runner.run(sh(f"yes{stream}", output=limit))


async def test_output_beyond_any_other_limit_is_counted(runner, sh):
    limit = OutputLimit(head_bytes=4, tail_bytes=4)
    done = await runner.run(sh("seq 1 1000; seq 1 1000 >&2", output=limit))
    kept = CapturedOutput(head=b"1\n2\n", tail=b"000\n", total_bytes=3893)
    assert (done.stdout, done.stderr, done.stdout.omitted_bytes) == (kept, kept, 3885)


@pytest.mark.parametrize(("session", "grace_s"), [(True, 0.2), (False, 0)])
async def test_at_the_time_limit_the_whole_tree_is_gone(runner, sh, tmp_path, gone, session, grace_s):
    far = "setsid sh -c 'echo $$ > new; mv new far; sleep 600'"
    script = f"trap '' TERM; sleep 600 & echo $! > child; ({far} &); until [ -e far ]; do sleep 0.02; done"
    for timeout_s in LIMITS_S:
        bounds = {"session": session, "grace_s": grace_s, "timeout_s": timeout_s, "marker": "MARK"}
        done = await runner.run(sh(f"{script}; echo part; sleep 600", **bounds))
        assert (done.reason, done.timed_out, done.exit_code) == ("timeout", True, None)
        if done.stdout.total_bytes:
            break
    assert done.stdout.text() == "part\n" and done.stopped >= 1
    assert all(gone(int((tmp_path / name).read_text())) for name in ("child", "far"))


async def test_cancelling_ends_the_whole_tree(runner, sh, tmp_path, gone):
    mark = tmp_path / "child"
    async with anyio.create_task_group() as group:
        group.start_soon(runner.run, sh("sleep 600 & echo $! > new; mv new child; sleep 600"))
        with anyio.fail_after(HANG_S):
            while not mark.exists():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert gone(int(mark.read_text()))


async def test_what_a_program_leaves_behind_is_stopped_and_its_pipes_are_not_waited_on(
    runner, sh, tmp_path, gone
):
    with anyio.fail_after(HANG_S):
        done = await runner.run(sh("sleep 6000 & echo $! > child; echo hi"))
    assert done == completed(b"hi\n", stopped=1)
    assert gone(int((tmp_path / "child").read_text()))


async def test_a_thread_of_what_is_left_behind_is_not_counted_as_a_process(runner, sh, python):
    threads = (
        "import os, threading, time\n"
        "for _ in range(5): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "open('ready', 'w').close(); time.sleep(600)"
    )
    program = python(threads).argv[0]
    script = f'"{program}" -c "$CODE" >/dev/null 2>&1 & while [ ! -e ready ]; do sleep 0.02; done'
    assert (await runner.run(sh(script, env={"CODE": threads}))).stopped == 1


async def test_a_daemon_in_a_session_of_its_own_is_left_alone(runner, sh, tmp_path):
    script = "setsid sh -c 'echo $$ > new; mv new daemon; exec sleep 600' >/dev/null 2>&1 &"
    done = await runner.run(sh(f"{script} while [ ! -e daemon ]; do sleep 0.02; done"))
    pid = int((tmp_path / "daemon").read_text())
    os.kill(pid, 0)
    os.kill(pid, 9)
    assert done == completed()


@pytest.mark.parametrize(
    ("argv", "reason", "has_number"),
    [
        (("no-such-program",), "no such file or directory", True),
        (("/bin/sh", "-c", "x" * 5_000_000), "argument list too long", True),
        (("/bin/sh", "a\0b"), "embedded null byte", False),
    ],
)
async def test_a_program_that_cannot_be_started_says_why(runner, argv, reason, has_number):
    before = len(os.listdir("/proc/self/fd"))
    for run in (runner.run, windows.run):
        with pytest.raises(NotStarted) as caught:
            await run(Command(argv=argv, env={"PATH": "/usr/bin:/bin"}))
        assert caught.value.message == f"{argv[0]} could not be started: {reason}"
        assert (caught.value.reason, caught.value.errno is not None) == (reason, has_number)
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # what an event loop keeps


async def test_pieces_are_fed_until_there_are_enough(runner, sh):
    lines: list[bytes] = []

    def take(chunk: bytes) -> bool:
        lines.append(chunk)
        return sum(map(len, lines)) < 1_000_000

    done = await runner.feed(sh("yes", grace_s=0), take)
    assert (done.reason, done.exit_code, done.stdout) == ("enough", None, CapturedOutput())
    assert b"".join(lines).startswith(b"y\ny\n")


async def test_all_pieces_are_fed_where_there_are_never_enough(runner, sh):
    chunks: list[bytes] = []
    done = await runner.feed(sh("seq 1 200000"), lambda chunk: not chunks.append(chunk))
    assert (done.reason, done.exit_code) == ("exited", 0)
    assert b"".join(chunks) == b"".join(b"%d\n" % number for number in range(1, 200_001))


async def test_what_the_reader_of_pieces_raises_arrives_and_ends_the_program(runner, sh, tmp_path, gone):
    def take(chunk: bytes) -> bool:
        raise LookupError(chunk.decode().strip())

    with pytest.raises(LookupError, match="hi"):
        await runner.feed(sh("echo $$ > leader; echo hi; sleep 600"), take)
    assert gone(int((tmp_path / "leader").read_text()))


def children() -> set[str]:
    """The processes that somebody in this one has started."""
    return set(" ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split())


def zombies() -> set[str]:
    """Those of them that have ended and nobody has asked how."""
    state = {pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in children()}
    return {pid for pid, letter in state.items() if letter == "Z"}


async def test_no_descriptor_and_no_zombie_is_left(runner, sh):
    gc.collect()  # the runners of other tests, with their pipes
    await runner.run(sh("true", marker="MARK"))
    left_by_others = children()
    before = len(os.listdir("/proc/self/fd"))
    for command in (sh("true"), sh("cat", stdin=b"x"), sh("sleep 600", timeout_s=0.05)):
        await runner.run(command)
    assert len(os.listdir("/proc/self/fd")) == before
    assert zombies() <= left_by_others


async def test_without_pipes_the_same_comes_as_a_whole(sh):
    assert await windows.run(sh("cat; echo err >&2; exit 3", stdin=b"in")) == completed(b"in", b"err\n", 3)
    for timeout_s in LIMITS_S:
        slow = await windows.run(sh("echo part; exec sleep 600", timeout_s=timeout_s))
        assert (slow.reason, slow.exit_code) == ("timeout", None)
        if slow.stdout.total_bytes:
            break
    assert slow.stdout.text() == "part\n"
    enough = await windows.feed(sh("echo hi"), lambda chunk: False)
    assert (enough.reason, enough.exit_code) == ("enough", None)
    with pytest.raises(OutputTooLarge):
        await windows.run(sh("echo 12345", output=OutputLimit(head_bytes=2, tail_bytes=2, refuse=True)))


async def test_without_pipes_cancelling_ends_the_program(sh, tmp_path, gone):
    mark = tmp_path / "leader"
    async with anyio.create_task_group() as group:
        group.start_soon(windows.run, sh("echo $$ > new; mv new leader; exec sleep 600"))
        with anyio.fail_after(HANG_S):
            while not mark.exists():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert gone(int(mark.read_text()))
