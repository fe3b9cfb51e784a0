"""Bash: the bytes as given, a clean start for every call, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S, LIMITS_S, wait_until

from caliban_common.message import TextBlock
from caliban_common.tool import ToolContext
from caliban_tools_builtin import ToolOptions, builtin_tools

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Bash needs a POSIX system")

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")


def text(command: str, *, code: int = 0, out: str = "(empty)", err: str = "(empty)") -> str:
    return f"→ Bash command: {command}\n→ Exit code: {code}\n→ Stdout:\n{out}\n→ Stderr:\n{err}"


def running(word: str, *, at_start: bool = False) -> list[int]:
    """The living processes whose command line holds `word`, or begins with it."""
    pids = []
    for directory in Path("/proc").iterdir():
        try:
            state = (directory / "stat").read_bytes().rpartition(b")")[2].split()[0]
            line = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
        except (OSError, IndexError):
            continue
        if (
            directory.name.isdigit()
            and state != b"Z"
            and (line.startswith(word.encode()) if at_start else word.encode() in line)
            and int(directory.name) != os.getpid()
        ):
            pids.append(int(directory.name))
    return pids


def sleeping(unique: str) -> list[int]:
    """The living processes that have become `sleep unique`."""
    return running(f"sleep {unique}", at_start=True)


def daemon(unique: str) -> str:
    """A line of shell that starts a daemon in a session of its own, and goes on when it is there."""
    script = f"echo $$ > new; mv new daemon; exec sleep {unique}"
    return f"setsid sh -c '{script}' >/dev/null 2>&1 & until [ -e daemon ]; do sleep 0.02; done"


@pytest.fixture
def unique(tmp_path: Path) -> str:
    """A number of seconds that no other process sleeps for."""
    return f"3{os.getpid()}.{abs(hash(str(tmp_path))) % 10**6:06}"


@pytest.fixture
def sh(call):
    """The stdout of a command."""

    def run(command: str, **args) -> str:
        output = call("Bash", command=command, **{"timeout_seconds": int(HANG_S), **args})
        assert "timed out" not in output.text
        return output.text.split("→ Stdout:\n", 1)[1].rsplit("\n→ Stderr:", 1)[0]

    return run


def test_output_has_command_code_and_both_streams(call):
    command = "echo out; echo err >&2"
    assert call("Bash", command=command).text == text(command, out="out", err="err")
    assert not call("Bash", command="true").is_error


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("no-such-command", 127), ("kill -9 $$", 137)])
def test_a_code_other_than_zero_is_an_error_with_the_same_text(call, command, code):
    output = call("Bash", command=command)
    assert output.is_error and output.text.startswith(f"→ Bash command: {command}\n→ Exit code: {code}\n")


@pytest.mark.parametrize(
    ("command", "out"),
    [
        ("printf '%s' ' != ' | od -An -tx1", " 20 21 3d 20"),
        ("/bin/echo '`!`'", "`!`"),
        ("cat <<'EOF'\nx! 'q'\nEOF", "x! 'q'"),
        ("cat <<EOF\nx!\nEOF", "x!"),
        ("true | true; { echo inside; }", "inside"),
        ("bash <<'MY-MARK'\necho hi | cat\nMY-MARK", "hi"),
        ("true | true; [[ $$ =~ ^[0-9]+$ ]] && echo digits", "digits"),
        ("echo {a,b} \"$((1+1))\" '\\n'", "a b 2 \\n"),
        ("printf 'é'", "é"),
        ("printf '\\xe9\\xff\\n'", "\ufffd\ufffd"),
        ("printf 'a\\0b'", "a\u2400b"),
        ("for b in '\\xf0' '\\x9f' '\\x98' '\\x80'; do printf $b; sleep 0.02; done", "😀"),
        ("echo hello | bash -c 'bash -c cat'", "hello"),
        (f"cat <<'EOF' | {sys.executable} -c 'import os; os.system(\"cat\")'\na\nEOF", "a"),
        ("cat", "(empty)"),
        ('read x; echo "[$x]"', "[]"),
        ("tty", "not a tty"),
        ("exec > >(cat) 2>&1 && echo hi && exec >&- 2>&- && wait $!", "hi"),
    ],
)
def test_the_shell_gets_the_bytes_as_they_were_given(sh, command, out):
    assert sh(command) == out


def test_a_command_that_begins_with_a_dash_is_no_option(call):
    assert call("Bash", command="-no-such-option").text.split("\n")[1] == "→ Exit code: 127"


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_binary_output_is_named_and_never_an_image(make, ws, locale):
    call = make(env={"LANG": locale, "LC_ALL": locale})
    (ws / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)
    output = call("Bash", command="cat a.png; head -c 3000 /dev/urandom >&2")
    assert [type(block) for block in output.content] == [TextBlock]
    assert "(binary output, 1032 bytes)" in output.text
    assert "\0" not in output.text and json.loads(json.dumps(output.text)) == output.text
    assert "\ufffd" in call("Bash", command="printf 'caf\\351 au lait'").text


def test_a_long_stream_keeps_its_head_and_tail(sh, call):
    out = sh("seq 1 100000")
    assert out.startswith("1\n2\n3\n") and out.endswith("\n99999\n100000") and "bytes left out" in out
    assert len(out) < 31 * 1024
    one_line = sh("head -c 1000000 /dev/zero | tr '\\0' a")
    assert len(one_line) < 31 * 1024


def test_endless_output_costs_no_memory(call):
    tracemalloc.start()
    output = call("Bash", command="yes", timeout_seconds=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert output.is_error and "timed out after 1s" in output.text and peak < 5_000_000


def test_every_call_starts_afresh(sh, ws):
    (ws / "sub").mkdir()
    sh("cd sub; export LEAK=1; f() { echo leak; }; umask 000; exec 9>leaked; shopt -s extglob; alias ls=leak")
    out = sh('pwd; echo "[$LEAK]"; type -t f; umask; { : >&9; } 2>&1 | tail -c 20; echo end')
    assert out.split("\n")[0] == str(ws.resolve())
    assert "[]" in out and "leak" not in out and "0000" not in out and "Bad file" in out


def test_the_directory_is_the_workspace_or_one_inside_it(sh, call, ws):
    (ws / "sub").mkdir()
    assert sh("pwd") == str(ws.resolve())
    assert sh("pwd", cwd="sub") == str(ws.resolve() / "sub")
    for cwd in ("/etc", "..", "none", "file"):
        (ws / "file").touch()
        output = call("Bash", command="ls", cwd=cwd)
        assert output.is_error and output.text.startswith("Error: ")


def test_no_start_up_file_and_no_other_shell_is_used(make, ws):
    for name in (".bashrc", ".profile", ".bash_profile", "env.sh"):
        (Path(os.environ["HOME"]) / name).write_text("echo PWNED\n")
    hostile = {"BASH_ENV": f"{os.environ['HOME']}/env.sh", "ENV": "x", "SHELL": "/bin/false"}
    hostile |= {"HOME": os.environ["HOME"], "BASH_FUNC_ls%%": "() { echo PWNED; }"}
    call = make(host_environment={**hostile, "PATH": "/usr/bin:/bin"})
    output = call("Bash", command="ls -d .; echo $0")
    assert "PWNED" not in output.text and "bash" in output.text


def test_a_command_sees_the_built_environment_only(make):
    call = make(host_environment={"PATH": "/usr/bin:/bin", "SECRET": "CANARY"}, env={"MINE": "1"})
    names = {line.partition("=")[0] for line in call("Bash", command="env").text.split("\n") if "=" in line}
    assert names == {"PATH", "TERM", "MINE", "CALIBAN_SHELL", "PWD", "SHLVL", "_"}


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"command": "x" * 140_000}, "command too long"),
        ({"command": " \n"}, "empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "a\ud800"}, "Unicode"),
        ({"command": "ls", "timeout_seconds": 0}, "between 1 and 600"),
        ({"command": "ls", "timeout_seconds": 601}, "between 1 and 600"),
        ({"command": "ls", "shell": "zsh"}, "unknown argument 'shell'"),
        ({}, "missing required argument 'command'"),
    ],
)
def test_wrong_arguments_are_answered(call, args, word):
    output = call("Bash", **args)
    assert output.is_error and output.text.startswith("Error: invalid input: ") and word in output.text


def test_the_longest_command_runs(sh):
    assert sh("echo ok #" + "x" * (131_071 - 9)) == "ok"


def test_a_pipe_that_nobody_writes_to_is_left_to_the_command(call, ws):
    os.mkfifo(ws / "p")
    assert call("Bash", command="timeout 0.2 cat p").text == text("timeout 0.2 cat p", code=124)


TREES = (
    "echo partial; sleep {n}",
    "echo partial; bash -c \"bash -c 'sleep {n}'\"",
    "echo partial; trap '' TERM; sleep {n}; sleep {n}",
    "mkfifo p.$$; (while true; do echo partial; sleep 0.2; done) > p.$$ & cat p.$$; sleep {n}",
    "echo partial; (setsid sleep {n} &); setsid bash -c 'sleep {n}; true' & sleep {n}",
    "echo partial; (env -i setsid sleep {n} &); sleep {n}",
    "echo partial; set -m; sleep {n} & timeout 9999 sleep {n}",
    "echo partial; sleep {n} & exec sleep {n}",
)


@pytest.mark.anyio
async def test_at_the_time_limit_the_whole_tree_is_gone(invoke, unique):
    async def one(command: str) -> None:
        text = ""
        for limit_s in LIMITS_S:
            output = await invoke("Bash", command=command.format(n=unique), timeout_seconds=limit_s)
            text = output.text.partition(f"\n→ command timed out after {limit_s}s\n→ Stdout:\n")[2]
            assert output.is_error and text
            if text.startswith("partial"):
                return
        pytest.fail(text)

    async with anyio.create_task_group() as group:
        for command in TREES:
            group.start_soon(one, command)
    wait_until(lambda: not running(unique))


@pytest.mark.anyio
async def test_cancelling_ends_the_whole_tree(invoke, unique):
    command = f"setsid sleep {unique} & bash -c 'sleep {unique}; true'"
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: invoke("Bash", command=command, timeout_seconds=600))
        while len(sleeping(unique)) < 2:
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    wait_until(lambda: not running(unique))


@pytest.mark.anyio
async def test_a_job_that_holds_the_pipes_neither_delays_nor_survives_the_call(invoke, unique):
    output = await invoke("Bash", command=f"sleep {unique} & sleep {unique} >/dev/null 2>&1 & echo hi")
    assert not output.is_error and output.text.split("\n")[3] == "hi"
    assert output.text.endswith("\n→ Stopped 2 processes that the command had left running")
    wait_until(lambda: not running(unique))


@pytest.mark.anyio
async def test_a_daemon_in_its_own_session_stays_until_the_host_ends(invoke, unique):
    output = await invoke("Bash", command=f"{daemon(unique)}; echo hi")
    try:
        assert output.text.endswith("→ Stderr:\n(empty)") and len(running(unique)) == 1
    finally:
        for pid in running(unique):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.anyio
async def test_commands_run_in_parallel(invoke):
    # Each ends only when all of them have begun.
    waits = "".join(f"until [ -e {number} ]; do sleep 0.02; done; " for number in range(8))
    errors: list[bool] = []

    async def one(number: int) -> None:
        output = await invoke("Bash", command=f": > {number}; {waits}", timeout_seconds=int(HANG_S))
        errors.append(output.is_error)

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(one, number)
    assert errors == [False] * 8


@pytest.mark.anyio
async def test_no_descriptor_is_left_open(invoke):
    await invoke("Bash", command="true")
    before = sorted(os.listdir("/proc/self/fd"))
    await invoke("Bash", command="true")
    with anyio.move_on_after(0.1):
        await invoke("Bash", command="sleep 600")
    await invoke("Bash", command="sleep 600", timeout_seconds=1)
    with anyio.fail_after(HANG_S):  # what is closed by a thread may take a moment on a busy machine
        while len(os.listdir("/proc/self/fd")) > len(before):
            await anyio.sleep(0.01)


HOST = """
import anyio, sys
from pathlib import Path
from caliban_common.tool import ToolContext
from caliban_tools_builtin import ToolOptions, builtin_tools

async def main():
    *_, bash = builtin_tools(ToolOptions(workspace=Path(sys.argv[1])))
    context = ToolContext(session_id="s", turn=0, tool_use_id="t")
    await bash.invoke({"command": sys.argv[2]}, context)
    print("called", flush=True)
    await bash.invoke({"command": sys.argv[3]}, context)

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_outlives_a_host_that_is_killed(ws, unique, number):
    waits = f"(env -i sleep {unique} &); setsid sleep {unique} & sleep {unique}"
    arguments = [sys.executable, "-c", HOST, str(ws), daemon(unique), waits]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None and host.stdout.readline() == "called\n"
        wait_until(lambda: len(sleeping(unique)) == 4)
        host.send_signal(number)
        host.wait()
        wait_until(lambda: not running(unique))


def test_a_host_that_ends_in_peace_takes_its_daemons_along(ws, unique):
    command = [sys.executable, "-c", HOST, str(ws), daemon(unique), "true"]
    subprocess.run(command, check=True, capture_output=True)
    wait_until(lambda: not running(unique))


@pytest.mark.skipif(sys.platform != "linux", reason="process limits per command are Linux only")
def test_the_number_of_processes_of_a_command_is_bounded(sh):
    limit = "$(ulimit -u)"  # it is set from outside, once the shell is there
    waits = f'while [ "{limit}" = unlimited ] || [ "{limit}" -ge 100000 ]; do sleep 0.02; done'
    assert sh(f"{waits}; ulimit -u").isdigit()


@pytest.mark.parametrize("damage", ["rm -rf ../ws", "mv ../ws ../elsewhere"])
def test_a_workspace_that_is_gone_does_not_end_all_commands(ws, damage):
    options = ToolOptions(workspace=ws)
    bash = next(tool for tool in builtin_tools(options) if tool.spec.name == "Bash")
    assert not anyio.run(bash.invoke, {"command": damage}, CONTEXT).is_error
    output = anyio.run(bash.invoke, {"command": "echo hi; pwd -P"}, CONTEXT)
    assert not output.is_error
    assert f"hi\n{ws.parent}\n" in output.text
    assert f"The workspace {ws} does not exist any more" in output.text
    assert anyio.run(bash.invoke, {"command": "echo hi", "cwd": str(ws)}, CONTEXT).is_error


def test_the_frames_of_a_progress_bar_do_not_fill_the_output(ws):
    bash = next(tool for tool in builtin_tools(ToolOptions(workspace=ws)) if tool.spec.name == "Bash")
    command = "for n in $(seq 2000); do printf '\\rDownloading %d%%' $n; done; echo; echo done"
    output = anyio.run(bash.invoke, {"command": command}, CONTEXT)
    assert "→ Stdout:\nDownloading 2000%\ndone\n→ Stderr:" in output.text


def test_a_command_gets_the_variables_of_a_person(ws):
    host = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "src", "ANTHROPIC_API_KEY": "x", "MY_TOKEN": "x"}

    def names(strict: bool) -> set[str]:
        options = ToolOptions(workspace=ws, host_environment=host, strict_environment=strict)
        bash = next(tool for tool in builtin_tools(options) if tool.spec.name == "Bash")
        text = anyio.run(bash.invoke, {"command": "env | cut -d= -f1"}, CONTEXT).text
        return set(text.split("→ Stdout:\n")[1].split("\n→ Stderr")[0].split())

    assert names(strict=False) - names(strict=True) == {"PYTHONPATH"}
    assert not {"ANTHROPIC_API_KEY", "MY_TOKEN"} & names(strict=False)
