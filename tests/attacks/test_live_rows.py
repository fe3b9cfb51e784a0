"""Rows about settings that change while a run is at work, about what is asked, and about doors of our own."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from command_kit import Cli
from hang_guard import HANG_S

from caliban_provider.testing.exchange import Request
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are those of POSIX")
DONE = wire.exchange(wire.text("done"))


@contextmanager
def reading(cli: Cli, edits: list[Callable[[], object]], times: int) -> Iterator[list[Request]]:
    """A server that has note.txt read so many times, and makes the edit of each number before."""
    numbers = count()
    uses = [wire.tool_use("Read", {"path": "note.txt"}, id=f"toolu_{number}") for number in range(times)]
    answers = [*map(wire.exchange, uses), DONE]

    def serve(request: Request):
        del request
        number = next(numbers)
        if number < len(edits):
            edits[number]()
        return answers[number]

    before, seen = cli.server, list[Request]()
    with LoopbackServer(serve, validator=StrictValidator()) as cli.server:
        yield seen
        seen += cli.server.requests
    cli.server = before


def results(requests: list[Request]) -> list[str]:
    blocks = [block for message in requests[-1].json["messages"] for block in message["content"]]
    return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


def test_s456_a_file_that_is_being_written_lifts_no_rule(cli):
    whole = 'permissions.deny = ["Read:note.txt"]\n'
    path = cli.configure(whole)
    (cli.work / "note.txt").write_text("a note\n")
    edits = [
        lambda: path.write_text(""),
        lambda: path.write_text("\n" + whole[:-4]),
        lambda: path.write_text("# the end\n"),
    ]
    with reading(cli, edits, 4) as requests:
        done = cli.run("-p", "go", "--auto-allow")
    assert done.code == 0, done.err
    first, empty, half, end = results(requests)
    assert "a note" not in first + empty + half and "a note" in end
    assert done.err.count(f"{path} is empty now") == 1
    assert "those of before go on" in done.err


def test_s457_after_a_storm_of_writes_the_last_state_counts(cli):
    path = cli.configure('permissions.deny = ["Read:note.txt"]\n')
    (cli.work / "note.txt").write_text("a note\n")

    def storm() -> None:
        for number in range(2_000):
            path.write_text(f'permissions.deny = ["Read:other{number}.txt"]\n')

    with reading(cli, [lambda: None, storm], 3) as requests:  # what is there when a request goes out counts
        done = cli.run("-p", "go", "--auto-allow")
    assert done.code == 0, done.err
    first, during, after = results(requests)
    assert "a note" not in first + during and "a note" in after
    assert done.err.count("settings changed and count from now on") == 1


PROBE = """
import sys
def watch(event, args):
    if event in ("socket.bind", "socket.connect"):
        open("sockets", "a").write(f"{event}\\n")
sys.addaudithook(watch)
from caliban.__main__ import main
main()
"""


@pytest.mark.parametrize("row", [pytest.param("any run", id="s649-s928-s942")])
def test_a_run_listens_nowhere(cli, row):
    """There is no port and no named socket of ours that a page or another user could try."""
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "true"})), DONE)
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, "-p", "go", "--auto-allow"],
        cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert set((cli.work / "sockets").read_text().split()) == {"socket.connect"}


ASKING = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json"),
    *("--permission-prompt-tool", "stdio"),
)


def questions(cli: Cli, flags: tuple[str, ...], answers: list[dict]) -> list[dict]:
    """What a person is shown in a run with one prompt, who gives `answers` to it in turn."""
    process = cli.begin(*ASKING, *flags, stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    shown = []

    def say(frame: object) -> None:
        process.stdin.write(json.dumps(frame).encode() + b"\n")
        process.stdin.flush()

    try:
        say({"type": "user", "content": "go"})
        for line in process.stdout:
            frame = json.loads(line)
            if frame["type"] == "result":
                break
            if frame["type"] == "control_request":
                shown.append(frame["request"])
                body = answers[len(shown) - 1]
                response = {"subtype": "success", "request_id": frame["request_id"], "response": body}
                say({"type": "control_response", "response": response})
    finally:
        process.kill()
        process.communicate(timeout=HANG_S)
    return shown


def hook(cli: Cli, matcher: str, command: str) -> None:
    answer = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": command}}})
    handler = {"type": "command", "command": f"echo {shlex.quote(answer)}"}
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}})
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_s609_a_person_is_shown_what_a_hook_made_of_the_call(cli):
    hook(cli, "Bash", "touch changed")
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch first"})), DONE)
    (shown,) = questions(cli, (), [{"behavior": "allow"}])
    assert shown["input"] == {"command": "touch changed"}
    assert (cli.work / "changed").exists() and not (cli.work / "first").exists()


def test_s609_an_approval_of_before_is_not_for_what_a_hook_makes_of_the_call_now(cli):
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch first"}, id="toolu_1")))
    left = cli.run("-p", "go", "--session", "s", "--defer-approvals")
    named = re.search(r"toolu_1:[0-9a-f]+", left.out + left.err)
    assert named is not None, left.err
    hook(cli, "Bash", "touch changed")
    cli.script(DONE)
    done = cli.run("-r", "s", "-p", "--approve", named[0])
    assert "running `touch changed` is covered by no allow rule" in done.err
    assert not (cli.work / "changed").exists()


def test_s842_each_plan_is_approved_by_itself(cli):
    def plan(text: str, id: str):
        return wire.exchange(wire.tool_use("ExitPlanMode", {"plan": text}, id=id))

    again = wire.exchange(wire.tool_use("EnterPlanMode", {}, id="toolu_2"))
    write = wire.tool_use("Write", {"path": "made", "content": "x"}, id="toolu_4")
    cli.script(plan("one", "toolu_1"), again, plan("two", "toolu_3"), wire.exchange(write), DONE)
    flags = ("--permission-mode", "plan", "--allow", "ExitPlanMode", "--allow", "Write")
    shown = questions(cli, flags, [{"behavior": "allow"}, {"behavior": "deny", "message": "no"}])
    assert [one["input"] for one in shown] == [{"plan": "one"}, {"plan": "two"}]
    assert not (cli.work / "made").exists()
