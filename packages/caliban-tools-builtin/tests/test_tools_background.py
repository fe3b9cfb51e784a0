"""Commands in the background: started at once, read by a cursor, ended with all that they started."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S, wait_until
from msgspec.structs import replace

from caliban_common.tool import ToolContext
from caliban_process import Command, NotStarted, Runner
from caliban_tools_builtin import ToolOptions, builtin_tools
from caliban_tools_builtin.shell.background import BackgroundShells
from caliban_tools_builtin.shell.ring import OutputRing
from caliban_tools_builtin.shell.watch import KillShell

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Bash needs a POSIX system")
CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")


def running(line):
    """The living processes with this command line."""
    pids = []
    for directory in Path("/proc").iterdir():
        try:
            state = (directory / "stat").read_bytes().rpartition(b")")[2].split()[0]
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if directory.name.isdigit() and state != b"Z" and b" ".join(words).strip() == line.encode():
            pids.append(int(directory.name))
    return pids


class Set:
    """The tools of a session whose background is `tasks`."""

    def __init__(self, workspace, tasks):
        sources = []
        options = ToolOptions(workspace=workspace, tasks=tasks, announce=sources.append)
        self.news = lambda: [line for source in sources for line in source()]
        self.tools = {tool.spec.name: tool for tool in builtin_tools(options)}

    async def __call__(self, name, *, agent="", **args):
        return await self.tools[name].invoke(args, replace(CONTEXT, agent=agent))

    async def start(self, command, **args):
        output = await self("Bash", command=command, background=True, **args)
        assert not output.is_error, output.text
        return output.details["shell_id"]

    async def until(self, id, word):
        """The first look whose text holds `word`, and all text before it."""
        text = ""
        with anyio.fail_after(HANG_S):
            while word not in text:
                text += (await self("BashOutput", shell_id=id)).text
                await anyio.sleep(0.02)
        return text


@pytest.fixture
def unique(tmp_path):
    return f"7{os.getpid()}.{abs(hash(tmp_path)) % 10**6}"


@pytest.mark.anyio
async def test_a_command_is_there_at_once_and_its_output_is_read_from_where_the_last_look_ended(ws):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start("echo one; until [ -e go ]; do sleep 0.02; done; echo two >&2; exit 3")
        assert re.fullmatch("[0-9a-f]{12}", id)
        assert "→ Bytes 0-4 of 4\none" in await call.until(id, "one")
        quiet = (await call("BashOutput", shell_id=id)).text.split("\n")
        assert quiet[0].startswith(f"→ Shell {id}: running for ")
        assert quiet[1:] == ["→ Bytes 4-4 of 4", "(nothing new)"]
        (ws / "go").touch()
        text = await call.until(id, "exited with code 3")
        assert "→ Bytes 4-8 of 8\ntwo" in text
        again = await call("BashOutput", shell_id=id, since_offset=2)
        assert again.text.endswith("→ Bytes 2-8 of 8\ne\ntwo")
        assert again.details == {"shell_id": id, "next_offset": 8, "over": True}


@pytest.mark.anyio
async def test_killing_one_ends_it_with_its_children_and_unknown_ones_are_named(ws, unique):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start(f"setsid sleep {unique} & sleep {unique} & echo up; wait")
        await call.until(id, "up")
        output = await call("KillShell", shell_id=id)
        assert f"→ Shell {id}: killed after " in output.text
        wait_until(lambda: not running(f"sleep {unique}"))
        assert "killed after" in (await call("KillShell", shell_id=id)).text
        unknown = await call("BashOutput", shell_id="0" * 12)
        assert unknown.is_error and f"known: {id}" in unknown.text


@pytest.mark.anyio
async def test_one_that_ignores_the_signal_may_say_its_last_words_and_is_killed(ws):
    script = "trap 'echo no' TERM; echo up; while :; do sleep 0.02; done"
    async with anyio.create_task_group() as tasks:
        shells = BackgroundShells(Runner(), tasks, kill_grace_s=0.2)
        command = Command(argv=("/bin/sh", "-c", script), cwd=str(ws), env=dict(os.environ), merged=True)
        shell = await shells.start(command)
        with anyio.fail_after(HANG_S):
            while not shell.output.total_bytes:
                await anyio.sleep(0.02)
        output = await KillShell(shells).invoke({"shell_id": shell.id}, CONTEXT)
        assert "killed after" in output.text and "no" in output.text.split("\n")[2:]


@pytest.mark.anyio
async def test_a_limit_that_was_given_holds_in_the_background_too(ws, unique):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start(f"sleep {unique}", timeout_seconds=1)
        await call.until(id, "timed out after 1 s")
        assert not running(f"sleep {unique}")


@pytest.mark.anyio
async def test_the_end_of_the_session_ends_them_all(ws, unique):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        for _ in range(3):
            await call.start(f"sleep {unique} & sleep {unique}")
        with anyio.fail_after(HANG_S):
            while len(running(f"sleep {unique}")) < 6:
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    assert not running(f"sleep {unique}")


@pytest.mark.anyio
async def test_a_child_that_holds_the_pipe_does_not_keep_a_shell_from_ending(ws, unique):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start(f"sleep {unique} & echo gone")
        await call.until(id, "exited with code 0")
        assert not running(f"sleep {unique}")


@pytest.mark.anyio
async def test_endless_output_is_bounded_and_what_is_gone_is_said(ws):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start("head -c 5000000 /dev/zero | tr '\\0' x")
        await call.until(id, "exited with code 0")
        look = await call("BashOutput", shell_id=id, since_offset=0)
        lines = look.text.split("\n")
        start = int(re.search(r"Bytes (\d+)-", lines[1])[1])
        assert 5_000_000 - 2 * (1 << 20) <= start < 5_000_000 - 30_000
        assert "those from 0 on are gone" in lines[1] and "more with since_offset" in lines[1]
        assert len(lines[2]) == 30 * 1024


@pytest.mark.anyio
async def test_only_so_many_run_at_once(ws, unique):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        for _ in range(16):
            await call.start(f"sleep {unique}")
        output = await call("Bash", command="true", background=True)
        assert output.is_error and "16 shells run in the background already" in output.text
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_one_that_cannot_be_started_says_so_and_harms_no_other(ws):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start("until [ -e go ]; do sleep 0.02; done")
        assert (await call("Bash", command="true", background=True, cwd="gone")).is_error
        with pytest.raises(NotStarted):
            await BackgroundShells(Runner(), tasks).start(Command(argv=("/no/such/program",), env={}))
        (ws / "go").touch()
        await call.until(id, "exited with code 0")


def test_without_a_place_for_them_there_are_none(call):
    assert "nothing can run in the background" in call("Bash", command="true", background=True).text
    with pytest.raises(KeyError):
        call("BashOutput", shell_id="x")


HOST = """
import anyio, sys
from pathlib import Path
from caliban_common.tool import ToolContext
from caliban_process import Command, NotStarted, Runner
from caliban_tools_builtin import ToolOptions, builtin_tools

async def main():
    async with anyio.create_task_group() as tasks:
        tools = builtin_tools(ToolOptions(workspace=Path.cwd(), tasks=tasks))
        bash = {tool.spec.name: tool for tool in tools}["Bash"]
        context = ToolContext(session_id="s", turn=0, tool_use_id="t")
        await bash.invoke({"command": sys.argv[1], "background": True}, context)
        print("up", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_host_that_is_killed(ws, unique, number):
    command = f"sleep {unique} & setsid sleep {unique} & sleep {unique}"
    host = subprocess.Popen([sys.executable, "-c", HOST, command], cwd=ws, stdout=subprocess.PIPE)
    assert host.stdout is not None and host.stdout.readline() == b"up\n"
    wait_until(lambda: len(running(f"sleep {unique}")) == 3)
    host.send_signal(number)
    host.wait(HANG_S)
    host.stdout.close()
    wait_until(lambda: not running(f"sleep {unique}"))


def test_a_ring_numbers_its_bytes_and_cuts_no_character():
    ring = OutputRing(4)
    ring.feed("aé€".encode())
    assert (ring.first, ring.total_bytes) == (0, 6)
    assert ring.read(0, 2) == (0, b"a")
    assert ring.read(1, 4) == (1, "é".encode())
    assert ring.read(0, 9) == (0, "aé€".encode())
    ring.feed(b"0123456789")
    assert (ring.first, ring.total_bytes, ring.read(3, 9)) == (12, 16, (12, b"6789"))
    assert ring.read(99, 9) == (16, b"")


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_character_whose_rest_is_still_to_come_is_not_read_in_two(cut):
    ring, char = OutputRing(99), "😀".encode()
    ring.feed(b"a" + char[:cut])
    assert ring.read(0, 9) == (0, b"a")
    assert ring.read(0, 9, complete=True) == (0, b"a" + char[:cut])
    ring.feed(char[cut:])
    assert ring.read(1, 9) == (1, char)


@pytest.mark.anyio
async def test_the_end_that_nobody_has_seen_is_news_once(ws):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        assert call.news() == []
        long = "until [ -e go ]; do sleep 0.02; done; exit 3 # " + "x" * 200
        seen, unseen = await call.start("exit 0"), await call.start(long)
        await call.until(seen, "exited with")
        assert call.news() == []
        (ws / "go").touch()
        news = []
        with anyio.fail_after(HANG_S):
            while not news:
                news = call.news()
                await anyio.sleep(0.02)
        (line,) = news
        assert line.startswith(f"shell_id {unseen}: exited with code 3 after ") and len(line) < 200
        assert call.news() == []


@pytest.mark.anyio
async def test_what_an_agent_leaves_running_is_news_to_its_caller_until_somebody_looks(ws, unique):
    async with anyio.create_task_group() as tasks:
        call = Set(ws, tasks)
        id = await call.start(f"sleep {unique}", agent="worker")
        await call("BashOutput", shell_id=id, agent="worker")
        (line,) = call.news()
        assert line.startswith(f"shell_id {id} of the agent worker: running for ")
        assert call.news() == []
        other = await call.start(f"sleep {unique}", agent="worker")
        await call("BashOutput", shell_id=other)
        assert call.news() == []
        await call("KillShell", shell_id=id, agent="worker")
        await call("KillShell", shell_id=other)
        assert call.news() == []
        tasks.cancel_scope.cancel()
