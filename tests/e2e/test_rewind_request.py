"""`rewind_files` of a host over stream-json, as the program on the other end of the pipes."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_provider_anthropic.testing import wire

FLAGS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--replay-user-messages")
EDITS = ("--permission-mode", "acceptEdits", "--session", "s")
DONE = wire.exchange(wire.text("done"))


class Host:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._requests = 0

    def say(self, frame: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> list[dict[str, Any]]:
        assert self.process.stdout is not None
        frames: list[dict[str, Any]] = []
        while line := self.process.stdout.readline():
            frames.append(json.loads(line))
            if frames[-1]["type"] == kind:
                return frames
        raise AssertionError(f"it ended: {frames}")

    def prompt(self, text: str) -> str:
        """The id of a prompt that was answered."""
        self.say({"type": "user", "content": text})
        (echo,) = [frame for frame in self.until("result") if frame["type"] == "user"]
        return echo["uuid"]

    def ask(self, subtype: object, **members: object) -> dict[str, Any]:
        """What a request is answered."""
        self._requests += 1
        id = f"req_{self._requests}"
        request = {"subtype": subtype, **members}
        self.say({"type": "control_request", "request_id": id, "request": request})
        response = self.until("control_response")[-1]["response"]
        assert response["request_id"] == id
        return response

    def rewind(self, id: object, **more: object) -> dict[str, Any]:
        response = self.ask("rewind_files", user_message_id=id, **more)
        assert response["subtype"] == "success", response
        return response["response"]

    def refused(self, id: object) -> str:
        """Why it is not done: an error, and a trial says the same."""
        response = self.ask("rewind_files", user_message_id=id)
        assert response["subtype"] == "error"
        assert self.rewind(id, dry_run=True) == {"canRewind": False, "error": response["error"]}
        return response["error"]

    def end(self) -> int:
        self.process.communicate(timeout=HANG_S)
        return self.process.returncode


@pytest.fixture
def host(cli):
    def start(*flags: str) -> Host:
        return Host(cli.begin(*FLAGS, *flags, stdin=subprocess.PIPE))

    return start


def write(content: str):
    return wire.exchange(wire.tool_use("Write", {"path": "a.txt", "content": content}))


def test_files_go_back_to_before_a_prompt_and_the_session_goes_on(cli, host):
    path = cli.work / "a.txt"
    cli.script(write("one"), DONE, write("two"), DONE)
    there = host(*EDITS)
    first, second = there.prompt("make it"), there.prompt("change it")
    assert path.read_text() == "two"
    assert there.rewind(second, dry_run=True) == {"canRewind": True, "filesChanged": [str(path)]}
    assert path.read_text() == "two"
    assert there.rewind(second) == {"canRewind": True, "filesChanged": [str(path)]}
    assert path.read_text() == "one"
    assert there.rewind(second) == {"canRewind": True, "filesChanged": []}
    assert there.rewind(first)["canRewind"]
    assert not path.exists()
    cli.script(write("three"), DONE)
    third = there.prompt("again")
    assert path.read_text() == "three"
    assert there.rewind(third)["canRewind"]
    assert not path.exists()
    assert there.end() == 0
    rows = cli.run("rewind", "s").out.splitlines()
    assert [row.split()[0] for row in rows] == ["6", "5", "4", "3", "2", "1"]


def test_what_cannot_go_back_is_said_and_nothing_is_changed(cli, host):
    path = cli.work / "a.txt"
    cli.script(write("one"), DONE)
    there = host(*EDITS)
    first = there.prompt("make it")
    path.write_text("by hand")
    assert "a.txt" in there.refused(first)
    assert path.read_text() == "by hand"
    for id in ("none", "", 3, None):
        assert there.refused(id)
    for subtype in ("set_model", "x" * 500, 3, None):
        answer = there.ask(subtype)
        assert (answer["subtype"], "not part of this version" in answer["error"]) == ("error", True)
    assert there.end() == 0


@pytest.mark.parametrize("flag", ["--no-checkpoints", "--no-save"])
def test_a_run_without_checkpoints_says_so(cli, host, flag):
    there = host(flag)
    assert there.refused("x") == "this run keeps no checkpoints"
    assert there.end() == 0


def test_a_request_that_nobody_could_be_answered_about_ends_the_input(cli):
    bad = b'{"type": "control_request", "request": {"subtype": "rewind_files"}}\n'
    done = cli.run(*FLAGS, stdin=bad)
    assert (done.code, "names no request_id" in done.out) == (64, True)


def test_a_checkpoint_that_cannot_be_read_is_no_reason_to_put_back_the_others(cli, host):
    cli.script(write("one"), DONE, write("two"), DONE)
    there = host(*EDITS)
    first, _ = there.prompt("make it"), there.prompt("change it")
    (path,) = (cli.home / ".caliban").rglob("prompt-002/manifest.json")
    path.write_text("{")
    assert "prompt-002/manifest.json is damaged" in there.refused(first)
    assert (cli.work / "a.txt").read_text() == "two"
    assert there.end() == 0
