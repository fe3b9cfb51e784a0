"""Settings that change while a run is at work: taken over between turns, or told of and left."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from caliban_provider.testing.exchange import Request
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

Edit = Callable[[], object]


def call(name: str, number: int, **arguments: str):
    return wire.exchange(wire.tool_use(name, arguments, id=f"toolu_{number}"))


def echo(number: int):
    return call("Bash", number, command=f'echo "at {number}: [$MARK]"')


@contextmanager
def edited(cli, edits: dict[int, Edit], answers: list) -> Iterator[None]:
    """A server that edits files while it is asked for the answer of that number."""
    given = iter(range(len(answers)))

    def serve(request: Request):
        del request
        number = next(given)
        edits.get(number, lambda: None)()
        return answers[number]

    before = cli.server
    with LoopbackServer(serve, validator=StrictValidator()) as cli.server:
        yield
        cli.ended = list(cli.server.requests)
    cli.server = before


def results(requests) -> list[str]:
    content = [block for message in requests[-1].json["messages"] for block in message["content"]]
    return [json.dumps(block["content"]) for block in content if block["type"] == "tool_result"]


def test_rules_variables_and_hooks_change_between_two_turns(cli):
    path = cli.configure('model = "m"\n[permissions]\nallow = ["Bash:echo *", "Read"]\n')
    (cli.work / "note.txt").write_text("a note\n")
    log = cli.home / "log"
    changed = (
        'model = "other"\n[permissions]\nallow = ["Bash:echo *"]\ndeny = ["Read"]\n[env]\nMARK = "seen"\n'
        "[[hooks.ConfigChange]]\nmatcher = 'user_settings'\n"
        f"handlers = [{{ type = 'command', command = 'cat >> {log}' }}]\n"
        f"[[hooks.PreToolUse]]\nhandlers = [{{ type = 'command', command = 'echo tool >> {log}' }}]\n"
    )
    answers = [
        echo(0),
        echo(1),
        call("Read", 2, path="note.txt"),
        wire.exchange(wire.text("done")),
    ]
    with edited(cli, {0: lambda: path.write_text(changed)}, answers):
        done = cli.run("-p", "go")
    assert done.code == 0, done.err
    first, second, third = results(cli.ended)
    assert "at 0: []" in first
    assert "at 1: [seen]" in second
    assert "denied" in third.lower() and "a note" not in third
    assert "count from now on: " in done.err and "permissions.deny" in done.err
    assert done.err.count(f"model was changed in {path}:1 and counts from the next start on") == 1
    assert [request.json["model"] for request in cli.ended] == ["m"] * 4
    lines = log.read_text().splitlines()
    event = json.loads(lines[0].replace("}tool", "}"))
    assert (event["hook_event_name"], event["source"]) == ("ConfigChange", "user_settings")
    assert event["file_path"] == str(path)
    assert log.read_text().count("tool\n") == 2  # the first call was judged before the change


def test_a_broken_file_keeps_what_was_good_and_is_told_of_once(cli):
    path = cli.configure('[permissions]\nallow = ["Bash:echo *"]\ndeny = ["Read:note.txt"]\n')
    (cli.work / "note.txt").write_text("a note\n")
    broken = '[permissions]\nallow = ["Bash:echo *", "Read"]\n\n[memory]\ncap_tokens_auto = "many"\n'
    mended = '[permissions]\nallow = ["Bash:echo *", "Read"]\n'
    answers = [
        echo(0),
        call("Read", 1, path="note.txt"),
        call("Read", 2, path="note.txt"),
        call("Read", 3, path="note.txt"),
        wire.exchange(wire.text("done")),
    ]
    edits = {0: lambda: path.write_text(broken), 2: lambda: path.write_text(mended)}
    with edited(cli, edits, answers):
        done = cli.run("-p", "go")
    assert done.code == 0, done.err
    _, first, second, third = results(cli.ended)
    assert "a note" not in first + second and "a note" in third
    words = f"{path}:5: `memory.cap_tokens_auto` must be an integer, got a string"
    assert done.err.count(words) == 1 and "those of before go on" in done.err


def test_a_project_that_changes_in_a_run_is_not_trusted_unseen(cli):
    own = cli.work / ".caliban" / "settings.toml"
    own.parent.mkdir()
    own.write_text('[permissions]\nallow = ["Bash:echo *"]\n')
    (cli.work / "note.txt").write_text("a note\n")

    def widen() -> None:
        own.write_text('[permissions]\nallow = ["Bash"]\n')

    answers = [echo(0), call("Bash", 1, command="touch made"), wire.exchange(wire.text("done"))]
    with edited(cli, {0: widen}, answers):
        done = cli.run("-p", "go", "--trust-project")
    assert done.code == 0, done.err
    first, _ = results(cli.ended)
    assert "at 0" in first and not Path(cli.work / "made").exists()
    assert "--trust-project was about what was there before" in done.err


def test_limits_count_from_the_next_prompt_on(cli):
    path = cli.configure("max_tokens = 100\n")
    frames = b"".join(
        json.dumps({"type": "user", "content": text}).encode() + b"\n" for text in ("one", "two")
    )
    answers = [wire.exchange(wire.text("1")), wire.exchange(wire.text("2"))]
    with edited(cli, {0: lambda: path.write_text("max_tokens = 200\n")}, answers):
        done = cli.run("-p", "--input-format", "stream-json", "--output-format", "stream-json", stdin=frames)
    assert done.code == 0, done.err
    assert [request.json["max_tokens"] for request in cli.ended] == [100, 200]
