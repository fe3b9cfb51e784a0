"""What is said to a run at work: read with its next turn, or at once, and never lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hang_guard import HANG_S, wait_until

from caliban_provider.testing.exchange import Pause, Request
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--max-turns", "5000")


def frame(content: str, **members: Any) -> bytes:
    return json.dumps({"type": "user", "content": content, **members}).encode() + b"\n"


def said(body: dict[str, Any]) -> list[str]:
    """The texts of a request that a person said, in order."""
    blocks = (block for m in body["messages"] if m["role"] == "user" for block in m["content"])
    return [block["text"] for block in blocks if block["type"] == "text"]


@contextmanager
def played(cli, serve) -> Iterator[None]:
    """The command, whose server asks `serve` for each answer."""
    before = cli.server
    with LoopbackServer(serve, validator=StrictValidator()) as cli.server:
        yield
    cli.server = before


def busy_until(words: str):
    """A model that reads a file over and over, until it is told `words`."""
    calls = iter(range(10_000))

    def serve(request: Request):
        if any(words in text for text in said(request.json)):
            return wire.exchange(wire.text("As you say."))
        return wire.exchange(wire.tool_use("Read", {"path": "note.txt"}, id=f"toolu_{next(calls)}"))

    return serve


def test_a_message_of_priority_next_is_read_by_the_run_at_work(cli):
    (cli.work / "note.txt").write_text("a note\n")
    with played(cli, busy_until("enough")):
        steer(cli)


def steer(cli) -> None:
    process = cli.begin(*FRAMES, "--replay-user-messages", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(frame("read on"))
    process.stdin.flush()
    while b'"tool_result"' not in process.stdout.readline():
        pass  # it is at work
    process.stdin.write(frame("that is enough", priority="next"))
    process.stdin.close()
    frames = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert process.wait(HANG_S) == 0
    assert said(cli.bodies()[-1]) == ["read on", "that is enough"]
    assert [f["content"] for f in frames if f["type"] == "user"] in (
        ["that is enough"],
        [[{"type": "text", "text": "that is enough"}]],
    )
    results = [f for f in frames if f["type"] == "result"]
    assert [(f["subtype"], f["result"]) for f in results] == [("success", "As you say.")]


def test_a_message_of_priority_now_ends_the_run_at_work_and_is_answered_first(cli):
    cli.script(
        wire.broken(wire.text("I begin", " now"), after=5, end=Pause(HANG_S)),
        wire.exchange(wire.text("At once.")),
    )
    process = cli.begin(*FRAMES, "--include-partial-messages", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(frame("a long task"))
    process.stdin.flush()
    while b"begin" not in process.stdout.readline():
        pass
    process.stdin.write(frame("stop, and do this", priority="now"))
    process.stdin.close()
    frames = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert process.wait(HANG_S) == 0
    assert [f["subtype"] for f in frames if f["type"] == "result"] == ["cancelled", "success"]
    assert said(cli.bodies()[1])[-1] == "stop, and do this"


def test_a_message_to_no_run_is_a_prompt_of_its_own(cli):
    cli.script(wire.exchange(wire.text("hello")), wire.exchange(wire.text("again")))
    lines = frame("hi", priority="next") + frame("and now?", priority="now")
    done = cli.run(*FRAMES, stdin=lines)
    assert done.code == 0, done.err
    assert sorted(said(cli.bodies()[-1])) == ["and now?", "hi"]


def test_a_message_that_comes_too_late_is_not_lost(cli):
    for _ in range(5):  # it may come before, during or after the run: the model hears it once in any case
        with played(cli, lambda request: wire.exchange(wire.text("heard"))):
            done = cli.run(*FRAMES, "--no-save", stdin=frame("one") + frame("two", priority="next"))
            assert done.code == 0, done.err
            assert sorted(said(cli.bodies()[-1])) == ["one", "two"]
            assert len(cli.bodies()) <= 2


def test_a_priority_that_is_none_is_named(cli):
    done = cli.run(*FRAMES, stdin=frame("hi", priority="soon"))
    assert done.code != 0
    assert "an input frame's priority must be later, next or now, not 'soon'" in done.out + done.err
    assert cli.server.requests == ()


def test_what_was_said_to_a_run_at_work_is_said_again_in_a_replay(cli):
    """It is said while a command runs: a recording does not tell on which side of a turn's end it was."""
    waits = {"command": "until [ -e said ]; do sleep 0.01; done"}

    def serve(request: Request):
        heard = any("enough" in text for text in said(request.json))
        return wire.exchange(
            wire.text("As you say.") if heard else wire.tool_use("Bash", waits, id="toolu_1")
        )

    with played(cli, serve):
        process = cli.begin(*FRAMES, "--allow", "Bash", "--record", "run.jsonl", stdin=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(frame("wait"))
        process.stdin.flush()
        shown = b""
        while b'"tool_use"' not in shown:
            shown += process.stdout.readline()
        process.stdin.write(frame("that is enough", priority="next"))
        process.stdin.close()
        wait_until(lambda: b'"steer"' in (cli.work / "run.jsonl").read_bytes())
        (cli.work / "said").touch()
        shown += process.stdout.read()
        assert process.wait(HANG_S) == 0
        asked = len(cli.bodies())
        again = cli.run("replay", "run.jsonl", "--strict")
        assert (again.code, again.out.encode()) == (0, shown), again.err
        assert len(cli.bodies()) == asked


def test_what_came_too_late_for_a_run_is_no_second_prompt_in_a_replay(cli):
    with played(cli, lambda request: wire.exchange(wire.text("heard"))):
        lines = frame("one") + frame("two", priority="next") + frame("three", priority="now")
        done = cli.run(*FRAMES, "--no-save", "--record", "run.jsonl", stdin=lines)
        again = cli.run("replay", "run.jsonl", "--strict")
        assert (again.code, again.out) == (done.code, done.out), again.err
