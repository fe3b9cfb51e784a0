"""What a host has started dies with it, however that comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from caliban_process.watchdog import Watchdog

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")

HOST = """
import anyio, sys
from pathlib import Path
from caliban_process import Command, Runner

def command(script, **more):
    return Command(argv=("/bin/sh", "-c", script), env={"PATH": "/usr/bin:/bin"}, **more)

told = []

async def talk(runner):
    async with runner.start(command("echo $$; exec sleep 600")) as process:
        tell(await process.receive())
        await anyio.sleep_forever()

def tell(chunk):
    print(chunk.decode().strip(), flush=True)
    told.append(chunk)
    return True

async def main():
    runner = Runner()
    daemon = "setsid sh -c 'echo $$ > new; mv new daemon; exec sleep 600' >/dev/null 2>&1 &"
    await runner.run(command(daemon + "while [ ! -e daemon ]; do sleep 0.02; done", marker="MARK"))
    print(Path("daemon").read_text().strip(), flush=True)
    async with anyio.create_task_group() as group:
        group.start_soon(talk, runner)
        group.start_soon(runner.feed, command("echo $$; sleep 600", session=False), tell)
        if sys.argv[1] == "leave":
            while len(told) < 2:
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_every_kind_of_child_dies_with_a_host_that_is_killed(tmp_path, gone, number):
    arguments = [sys.executable, "-c", HOST, "stay"]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pids = [int(host.stdout.readline()) for _ in range(3)]
        host.send_signal(number)
        host.wait()
    assert [gone(pid) for pid in pids] == [True] * 3


def test_a_host_that_ends_in_peace_takes_its_daemons_along(tmp_path, gone):
    arguments = [sys.executable, "-W", "error", "-c", HOST, "leave"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert all(gone(int(pid)) for pid in done.stdout.split())


HIDDEN = """
import anyio, sys
from pathlib import Path
from caliban_process import Command, Runner
from caliban_process.watchdog import Watchdog

seen = []

class Telling(Watchdog):
    def add_orphan(self, group):
        super().add_orphan(group)
        seen.append(group)

async def main():
    runner = Runner(adopts=True)
    runner._watchdog.__class__ = Telling
    hide = "env -i setsid %s sh -c 'echo $$ > new; mv new pid; exec sleep 600' >/dev/null 2>&1 %s "
    hide = hide % (("", "&") if sys.argv[2:] else ("-f", ";"))
    wait = "while [ ! -e pid ]; do sleep 0.02; done; "
    script = hide + wait + {"ends": "", "runs": "sleep 600", "time": "sleep 600"}[sys.argv[1]]
    command = Command(
        argv=("/bin/sh", "-c", script), env={"PATH": "/usr/bin:/bin"}, marker="MARK",
        timeout_s=1.0 if sys.argv[1] == "time" else None,
    )
    if sys.argv[1] == "runs":
        async with anyio.create_task_group() as group:
            group.start_soon(runner.run, command)
            # A child of the program is found from the program; one without a parent, once it is seen.
            while not (Path("pid").exists() and (seen or sys.argv[2:])):
                await anyio.sleep(0.01)
            print(Path("pid").read_text().strip(), flush=True)
            await anyio.sleep_forever()
    completed = await runner.run(command)
    print(Path("pid").read_text().strip(), flush=True)
    print(completed.reason, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
@pytest.mark.parametrize("moment", [("ends",), ("runs",), ("runs", "child"), ("ends", "child")])
def test_what_hides_from_every_trace_dies_with_a_host_that_is_killed(tmp_path, gone, moment):
    arguments = [sys.executable, "-c", HIDDEN, *moment]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        os.kill(pid, 0)
        host.kill()
        host.wait()
    assert gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
def test_what_hides_from_every_trace_does_not_outlive_the_time_limit(tmp_path, gone):
    arguments = [sys.executable, "-c", HIDDEN, "time"]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pid, reason = int(host.stdout.readline()), host.stdout.readline().strip()
        is_gone = gone(pid)
        host.kill()
    assert (reason, is_gone) == ("timeout", True)


def test_a_marker_that_programs_of_others_may_hold_is_refused():
    with pytest.raises(ValueError, match="at least 16 characters"):
        Watchdog("x")
