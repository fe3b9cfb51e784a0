"""What a sandbox does on other systems, by platforms that tests name: nothing of macOS is run here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from caliban_process import Command, ProcessError, Runner
from caliban_sandbox import FilePolicy, LimitPolicy, Sandbox, SandboxHost, SandboxPolicy
from caliban_sandbox.limits import counts_by_namespace, limited

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="POSIX programs")]

STAND_IN = """#!/bin/sh
# Keeps what it was told, runs what follows `--`, and refuses to write as the profile would.
printf '%s\\n' "$@" >> {log}
while [ "$1" != -- ]; do shift; done
shift
case "$*" in *caliban-trial*) {trial} ;; esac
exec "$@"
"""


def stand_in(folder: Path, *, trial: str = "exit 1") -> Path:
    program = folder / "sandbox-exec"
    program.write_text(STAND_IN.format(log=folder / "log", trial=trial))
    program.chmod(0o755)
    return program


def boxed(folder: Path, policy: SandboxPolicy, platform: str) -> tuple[Sandbox, Runner]:
    runner = Runner()
    sandbox = Sandbox(policy, runner, host=SandboxHost(platform=platform))
    return sandbox, runner.within(sandbox)


async def test_on_macos_the_same_policy_goes_through_sandbox_exec(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    files = FilePolicy(writable=(str(work),), protected=(f"{work}/.git",))
    limits = LimitPolicy(file_bytes=1 << 20, processes=7)
    policy = SandboxPolicy(files=files, limits=limits, backend=str(stand_in(tmp_path)))
    sandbox, runner = boxed(tmp_path, policy, "darwin")
    state = await sandbox.ready()
    assert state.holds and not state.is_full and "without a machine to try it on" in state.weaker
    async with sandbox.opened():
        line = 'echo "$TMPDIR"; ulimit -f; ulimit -n 10'
        command = Command(argv=("/bin/sh", "-c", line), env={"PATH": "/usr/bin:/bin"}, cwd=str(work))
        done = await runner.run(command)
    scratch, blocks = done.stdout.text().split()
    log = (tmp_path / "log").read_text()
    assert blocks in ("2048", "1024") and f"={work}\n" in log and f"={scratch}\n" in log
    assert "(deny default)" in log and "ulimit -u" not in log
    assert not Path(scratch).exists()


async def test_a_sandbox_exec_that_holds_nothing_is_not_believed(tmp_path):
    policy = SandboxPolicy(backend=str(stand_in(tmp_path, trial=":")))
    sandbox, runner = boxed(tmp_path, policy, "darwin")
    assert "lets a program write outside" in (await sandbox.ready()).problem
    with pytest.raises(ProcessError, match="nothing runs without the sandbox"):
        await runner.run(Command(argv=("/bin/true",), env={}))


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("darwin", "/usr/bin/sandbox-exec is not there"),
        ("win32", "there is no sandbox for Windows (use WSL)"),
        ("freebsd14", "there is no sandbox for freebsd14"),
    ],
)
async def test_a_system_without_a_sandbox_is_named(tmp_path, platform, words):
    sandbox, _ = boxed(tmp_path, SandboxPolicy(), platform)
    assert words in (await sandbox.ready()).problem


async def test_limits_hold_for_what_a_command_starts_and_cannot_be_lifted():
    limits = LimitPolicy(memory_bytes=64 << 20, cpu_s=5, file_bytes=1024)
    line = "ulimit -d; ulimit -t; ulimit -t 100; sh -c 'ulimit -t'"
    argv = limited(("/bin/sh", "-c", line), limits, counts=True)
    done = await Runner().run(Command(argv=argv, env={"PATH": "/usr/bin:/bin"}))
    words = done.stdout.text().split()
    assert words[:2] == ["65536", "5"] and words[-1] == ("5" if len(words) == 3 else "100")
    assert limited(("a", "b"), LimitPolicy(), counts=True) == ("a", "b")


def test_processes_are_counted_only_where_the_kernel_counts_those_of_the_sandbox_alone():
    counting = [
        counts_by_namespace(release, nested=False) for release in ("6.1.0-9", "5.14.2", "5.13.9", "?")
    ]
    assert counting == [True, True, False, False]
    assert not counts_by_namespace("6.1.0", nested=True)
    limits = LimitPolicy(processes=9)
    assert "ulimit -u 9" in " ".join(limited(("a",), limits, counts=True))
    assert limited(("a",), limits, counts=False) == ("a",)
