"""Real reports of users of such tools about commands, by their numbers, and what no command leaves behind.

Which report is shown where is in `test_reports.py`. A command that would hang is ended by its own limit,
which its result then names.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from command_kit import needs_procfs
from hang_guard import HANG_S, LIMITS_S, wait_until
from test_reports_tools import bash, put, results, run

from caliban_provider.testing.exchange import Pause
from caliban_provider_anthropic.testing import wire

FRAMES = ("--output-format", "stream-json")


def outputs(cli, *commands: str) -> list[str]:
    """What each command wrote to its standard output."""
    texts = run(cli, *map(bash, commands))
    return [text.partition("→ Stdout:\n")[2].partition("\n→ Stderr:")[0] for text in texts]


@pytest.mark.parametrize(
    "command",
    [
        "mkfifo p.$$; (while true; do echo child; sleep 1; done) > p.$$ & cat p.$$",
        "bash -c \"bash -c 'echo child; sleep 600'\"",
        "trap '' TERM; echo child; sleep 600",
        "setsid sleep 600 & echo child; wait",
    ],
)
def test_b051_a_timeout_ends_at_once_and_keeps_what_was_said(cli, command):
    for limit in LIMITS_S:
        (text,) = run(cli, bash(command, limit))[-1:]
        assert f"command timed out after {limit}s" in text
        if "→ Stdout:\nchild" in text:
            return
    raise AssertionError(text)


def test_b052_b055_no_call_waits_for_what_holds_its_pipes(cli):
    assert outputs(
        cli,
        "exec > >(tee -a t.log) 2>&1 && echo hi && sleep 0.1",
        "echo hello | bash -c 'bash -c cat'",
        "cat <<'EOF' | python3 -c 'import subprocess; subprocess.run([\"cat\"])'\na\nEOF",
        "sleep 600 & echo out",
        "coproc sleep 600; echo co",
        "(sleep 600 &) | cat & echo end",
        "cat; read x; echo code $?",
    ) == ["hi", "hello", "a", "out", "co", "end", "code 1"]
    assert (cli.work / "t.log").read_bytes() == b"hi\n"


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_b057_output_of_any_bytes_at_any_pace_is_text(cli, locale):
    cli.extra["LANG"] = cli.extra["LC_ALL"] = locale
    slow = "for b in '\\xf0' '\\x9f' '\\x98' '\\x80'; do printf $b; sleep 0.1; done"
    texts = outputs(
        cli,
        "printf '\\xe9\\xff\\n'; printf '\\xc3\\xa9'",
        slow,
        f"({slow}) >&1 | cat",
        "printf '\\xed\\xa0\\x80 half'",
        "printf 'cut \\xe2\\x82'",
        "head -c 5000 /bin/ls",
    )
    cut = "\ufffd"
    assert texts[:4] == [f"{cut * 2}\né", "\U0001f600", "\U0001f600", f"{cut * 3} half"]
    assert texts[4].startswith(f"cut {cut}") and texts[5] == "(binary output, 5000 bytes)"
    body = cli.server.requests[-1].body.decode("utf-8")
    assert not re.search(r"\\u[dD][89a-fA-F]|\\u0000", body)


def test_b059_b060_a_command_reaches_the_shell_as_it_is(cli):
    commands = [
        "printf '%s' ' != ' | od -An -tx1",
        "/bin/echo '`!`'",
        "cat <<EOF\nx! $((1+1))\nEOF\ncat <<'EOF'\nx! $HOME it's {a,b} `q` \\n\nEOF",
        "true | true; { echo inside; }",
        "bash <<'MY-MARK'\necho hi | cat\nMY-MARK",
        'true | true; [ "$$" -gt 1 ] && echo {1..3} "$(( 2 ** 3 ))"',
        "echo \"a!b\" 'c!d' e!f $'tab\\there'",
        "arr=(1 2); [[ ${arr[1]} == 2 ]] && echo ${arr[@]} # | nothing",
        "echo 日本 naïve  two\\ \\ blanks",
        "echo trailing \\",
    ]
    alone = [
        subprocess.run(["bash", "-c", command], capture_output=True, check=True, env=cli.env).stdout
        for command in commands
    ]
    assert outputs(cli, *commands) == [out.decode().removesuffix("\n") for out in alone]
    assert outputs(cli, commands[0])[-1].split() == ["20", "21", "3d", "20"]


def test_the_end_of_a_command_is_told_as_it_was(cli):
    texts = run(cli, bash("exit 300"), bash("kill -9 $$"), bash("kill -TERM $$"), bash("false | true"))
    assert [re.search(r"Exit code: (\d+)", text)[1] for text in texts] == ["44", "137", "143", "0"]


@needs_procfs
@pytest.mark.parametrize("where", ["out", "error", "background"])
def test_output_without_end_costs_no_memory(cli, where):
    """The peak of a run that reads 200 MB is that of one that reads nothing, but for what it keeps."""

    def peak_bytes(command: str) -> int:
        put(cli.work, {"f": "x"})
        more: Mapping[str, Any] = {"background": True} if where == "background" else {}
        held = wire.broken(wire.text("on"), after=2, end=Pause(HANG_S))
        cli.script(wire.exchange(wire.tool_use("Bash", {"command": f"{command}; touch over", **more})), held)
        (cli.work / "over").unlink(missing_ok=True)
        before = len(cli.bodies())
        process = cli.start("-p", "go", *FRAMES, "--no-permissions")
        wait_until(lambda: (cli.work / "over").exists() and len(cli.bodies()) == before + 2)
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.kill()
        process.communicate(timeout=HANG_S)
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    to = " >&2" if where == "error" else ""
    nothing, much = peak_bytes("true"), peak_bytes(f"(yes | head -c 200000000){to}")
    assert much - nothing < 30_000_000


TREE = r"""
trap '' TERM INT HUP
sleep 600 &
setsid sleep 600 &
(setsid sh -c 'trap "" TERM; sleep 600 & wait' &)
nohup sh -c 'sleep 600; exit' >/dev/null 2>&1 &
sh -c 'sleep 600 | cat | cat' &
"""
"""Children of every kind: in sessions of their own, deaf to signals, without a parent, holding the pipes."""
SIZE = 10


def marked(marker: str) -> set[int]:
    """The living processes that have `marker` in their environment."""
    pids = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            state = (path.parent / "stat").read_text().rpartition(")")[2].split()[0]
            if marker.encode() in path.read_bytes() and state != "Z":
                pids.add(int(path.parent.name))
        except OSError:
            pass
    return pids


class Tree:
    """A run whose command has started a tree of processes; all of it carries `marker`."""

    def __init__(self, cli, *, ends: bool = False, **more: Any) -> None:
        self.marker = uuid4().hex
        command = f"{TREE}\ntouch up; {'exit 3' if ends else 'wait; sleep 600'}"
        held = wire.broken(wire.text("on"), after=2, end=Pause(HANG_S))
        cli.script(wire.exchange(wire.tool_use("Bash", {"command": command, "timeout_seconds": 600, **more})))
        cli.script(held)
        self.cli = cli

    def start(self, *flags: str, **options: Any) -> subprocess.Popen[bytes]:
        args = ("-p", *flags) if flags else ("-p", "go", *FRAMES)
        process = self.cli.start(*args, "--no-permissions", env={"TREE_MARK": self.marker}, **options)
        wait_until((self.cli.work / "up").exists)
        return process

    def wait_for_growth(self, host: int) -> None:
        wait_until(lambda: len(marked(self.marker) - {host}) >= SIZE)

    def expect_gone(self, *but: int) -> None:
        wait_until(lambda: not marked(self.marker) - set(but))


@needs_procfs
@pytest.mark.parametrize("place", ["foreground", "background"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_b053_no_process_outlives_a_host_that_is_signalled(cli, number, place):
    tree = Tree(cli, background=place == "background")
    process = tree.start()
    tree.wait_for_growth(process.pid)
    process.send_signal(number)
    process.communicate(timeout=HANG_S)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 124)
    tree.expect_gone()


def own_terminal(descriptor: int) -> Callable[[], None]:
    """Makes the terminal `descriptor` that of the process to be started."""

    def take() -> None:
        import fcntl
        import termios

        os.setsid()
        fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)

    return take


@needs_procfs
def test_b053_no_process_outlives_its_terminal(cli):
    ours, theirs = os.openpty()
    tree = Tree(cli)
    process = tree.start(stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_terminal(theirs))
    os.close(theirs)
    tree.wait_for_growth(process.pid)
    os.close(ours)
    process.wait(timeout=HANG_S)
    tree.expect_gone()


@needs_procfs
def test_no_process_of_a_call_outlives_its_time_limit(cli):
    for limit in LIMITS_S:
        (cli.work / "up").unlink(missing_ok=True)
        tree = Tree(cli, timeout_seconds=limit)
        before = len(cli.bodies())
        process = cli.start("-p", "go", *FRAMES, "--no-permissions", env={"TREE_MARK": tree.marker})
        wait_until(lambda before=before: len(cli.bodies()) >= before + 2)
        tree.expect_gone(process.pid)  # while the host goes on
        process.kill()
        process.communicate(timeout=HANG_S)
        assert f"timed out after {limit}s" in results(cli.bodies())[0][0]["text"]
        if (cli.work / "up").exists():
            return
    raise AssertionError("no limit was long enough")


@needs_procfs
def test_no_process_of_a_call_outlives_its_interruption(cli):
    tree = Tree(cli)
    frames = ("--input-format", "stream-json", *FRAMES)
    process = cli.start(
        "-p", *frames, "--no-permissions", env={"TREE_MARK": tree.marker}, stdin=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b'{"type":"user","content":"go"}\n')
    process.stdin.flush()
    tree.wait_for_growth(process.pid)
    process.stdin.write(b'{"type":"control","subtype":"interrupt"}\n')
    process.stdin.flush()
    while json.loads(line := process.stdout.readline())["type"] != "result":
        assert line
    tree.expect_gone(process.pid)  # while the host waits for the next prompt
    process.kill()
    process.communicate(timeout=HANG_S)


@needs_procfs
def test_what_a_command_leaves_behind_goes_with_the_host_at_the_latest(cli):
    tree = Tree(cli, ends=True)
    process = tree.start()
    wait_until(lambda: len(cli.bodies()) == 2)
    assert "Exit code: 3" in results(cli.bodies())[0][0]["text"]
    process.kill()
    process.communicate(timeout=HANG_S)
    tree.expect_gone()
