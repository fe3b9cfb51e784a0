"""Runs that are recorded and played again: the same output, without a server, a program or a file."""

from __future__ import annotations

import json
import os

import pytest

from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
DONE = wire.text("done")
SECRET = "sk-ant-test-4711-abcdefghijklmnop"


def record(cli, *args, **options):
    """A run that is recorded in `run.jsonl`."""
    return cli.run(*args, "--record", "run.jsonl", **options)


def replayed(cli, *args, **options):
    """The recording played again, without a key, and without a server: nobody listens on port 9."""
    options.setdefault("env", {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    return cli.run("replay", "run.jsonl", *args, **options)


def lines(cli):
    return [json.loads(line) for line in (cli.work / "run.jsonl").read_text().splitlines()]


def kinds(cli):
    return [line["type"] for line in lines(cli)]


def script_edit(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(
        wire.exchange(wire.text("Let me look."), wire.tool_use("Read", {"path": "a.py"}, id="t1")),
        wire.exchange(
            wire.tool_use("Bash", {"command": "cat a.py"}, id="t2"),
            wire.tool_use("Bash", {"command": "rm a.py"}, id="t3"),
            wire.tool_use("Edit", {"path": "a.py", "old_string": "1", "new_string": "2"}, id="t4"),
        ),
        wire.exchange(DONE),
    )


@pytest.mark.parametrize(
    "flags", [(), STREAM, ("--output-format", "json"), (*STREAM, "--include-partial-messages")], ids=str
)
def test_a_replay_prints_what_the_run_printed_and_touches_nothing(cli, flags):
    script_edit(cli)
    done = record(cli, "-p", "go", *flags, "--permission-mode", "acceptEdits")
    assert (cli.work / "a.py").read_text() == "x = 2\n"
    (cli.work / "a.py").unlink()
    again = replayed(cli)
    assert (again.code, again.out) == (done.code, done.out)
    assert done.code == 0
    assert sorted(os.listdir(cli.work)) == ["run.jsonl"]


def test_strict_passes_where_nothing_changed(cli):
    script_edit(cli)
    done = record(cli, "-p", "go", *STREAM, "--permission-mode", "acceptEdits")
    again = replayed(cli, "--strict")
    assert (again.code, again.out, again.err) == (0, done.out, "")
