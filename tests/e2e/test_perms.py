"""The log of decisions and `caliban perms` whole, through the real command."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import pytest

from caliban_provider_anthropic.testing import wire

DONE = wire.text("done")
STATE = (".local", "state", "caliban")


def log_of(cli) -> Path:
    return cli.home.joinpath(*STATE) / "permission-decisions.jsonl"


def records(cli) -> list[dict]:
    return [json.loads(line) for line in log_of(cli).read_text().splitlines()]


def call(cli, *uses, flags=(), env=None):
    cli.script(wire.exchange(*uses), wire.exchange(DONE))
    return cli.run("-p", "go", *flags, env=env)


def test_each_call_is_one_line_that_says_who_decided_and_by_which_rule(cli):
    cli.configure('[[permissions.rules]]\npattern = "Bash:touch *"\naction = "deny"\nreason = "no touching"\n')
    (cli.work / "a.txt").write_text("x\n")
    done = call(
        cli,
        wire.tool_use("Bash", {"command": "echo hi"}, id="t1"),
        wire.tool_use("Bash", {"command": "touch made"}, id="t2"),
        wire.tool_use("Bash", {"command": "mkdir made"}, id="t3"),
        wire.tool_use("Read", {"path": "a.txt"}, id="t4"),
        wire.tool_use("Read", {"path": "/etc/passwd"}, id="t5"),
        wire.tool_use("Nothing", {}, id="t6"),
        flags=("--allow", "Bash:echo *", "--session", "mine"),
    )
    assert done.code == 0
    lines = records(cli)
    assert [(line["tool_use_id"], line["action"], line["decided_by"]) for line in lines] == [
        ("t1", "allow", "rule"),
        ("t2", "deny", "rule"),
        ("t3", "deny", "headless"),
        ("t4", "allow", "default"),
        ("t5", "allow", "default"),
        ("t6", "deny", "check"),
        ("t5", "deny", "fence"),
    ]
    assert {(line["session_id"], line["turn_index"]) for line in lines} == {("mine", 1)}
    assert [line["matched_rule"] for line in lines] == [
        {"pattern": "Bash:echo *", "action": "allow", "source": "cli"},
        {"pattern": "Bash:touch *", "action": "deny", "source": "user"},
        {"pattern": "Bash", "action": "ask", "source": "default"},
        {"pattern": "Read", "action": "allow", "source": "default"},
        {"pattern": "Read", "action": "allow", "source": "default"},
        None,
        None,
    ]
    sent = '{"command":"touch made"}'
    assert (lines[1]["input_excerpt"], lines[1]["input_bytes"]) == (sent, len(sent))
    assert lines[1]["input_sha256"] == hashlib.sha256(sent.encode()).hexdigest()
    assert "no touching" in lines[1]["reason"]
    assert stat.S_IMODE(log_of(cli).stat().st_mode) == 0o600
    assert stat.S_IMODE(log_of(cli).parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("flags", "action", "by"),
    [
        (("--permission-mode", "plan"), "deny", "plan"),
        (("--permission-mode", "acceptEdits"), "allow", "mode"),
        (("--auto-allow",), "allow", "mode"),
        (("--no-permissions",), "allow", "mode"),
        (("--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions"), "allow", "mode"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else value,
)
def test_what_a_mode_decides_is_on_record(cli, flags, action, by):
    call(cli, wire.tool_use("Write", {"path": "b.py", "content": "y\n"}), flags=flags)
    (line,) = records(cli)
    assert (line["action"], line["decided_by"]) == (action, by)


def test_the_calls_of_sub_agents_are_on_record_under_the_same_session(free_cli):
    cli = free_cli
    cli.script(
        wire.exchange(wire.tool_use("Agent", {"description": "look", "prompt": "list"}, id="a1")),
        wire.exchange(wire.tool_use("Bash", {"command": "echo x"}, id="c1")),
        wire.exchange(wire.text("child")),
        wire.exchange(DONE),
    )
    cli.run("-p", "go", "--session", "s", "--allow", "Bash:echo *")
    got = [(line["tool_use_id"], line["session_id"], bool(line["agent"])) for line in records(cli)]
    assert got == [("a1", "s", False), ("c1", "s", True)]


def test_without_a_call_there_is_no_log(cli):
    cli.script(wire.exchange(DONE))
    assert cli.run("-p", "hi").code == 0
    assert not cli.home.joinpath(*STATE).exists()


def test_it_is_switched_off_by_a_person_and_not_by_a_project(cli):
    (cli.work / ".caliban").mkdir()
    project = cli.work / ".caliban" / "settings.toml"
    project.write_text("[permissions]\naudit_log = false\n")
    call(cli, wire.tool_use("Bash", {"command": "echo a"}), flags=("--trust-project",))
    assert len(records(cli)) == 1
    cli.configure("[permissions]\naudit_log = false\n")
    project.unlink()
    call(cli, wire.tool_use("Bash", {"command": "echo a"}))
    assert len(records(cli)) == 1


def test_secrets_are_gone_before_the_excerpt_is_cut(cli):
    token = "sk-live-0123456789abcdefghijklmnop"
    line = f"curl -H 'Authorization: Bearer {token}' https://x.example/{'a' * 400} test-key"
    for padding in (0, 200, 215, 230):
        call(cli, wire.tool_use("Bash", {"command": "x" * padding + line}))
    for record in records(cli):
        assert "sk-live" not in record["input_excerpt"]
        assert token not in log_of(cli).read_text()
        assert len(record["input_excerpt"]) <= 256


def test_a_log_that_cannot_be_written_is_told_once_and_stops_nothing_but_where_it_is_required(cli):
    folder = cli.home.joinpath(*STATE)
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    uses = [wire.tool_use("Bash", {"command": f"touch made{n}"}, id=f"t{n}") for n in range(2)]
    done = call(cli, *uses, flags=("--allow", "Bash:touch *"))
    assert done.code == 0
    assert done.err.count("log of decisions cannot be written") == 1
    assert (cli.work / "made0").exists() and (cli.work / "made1").exists()
    cli.configure("[permissions]\naudit_required = true\n")
    done = call(
        cli, wire.tool_use("Bash", {"command": "touch more"}, id="t"), flags=("--allow", "Bash:touch *")
    )
    assert not (cli.work / "more").exists()
    assert "could not be recorded" in json.dumps(cli.bodies()[-1])


def test_the_log_is_read_back_with_what_is_asked_for(cli):
    uses = (
        wire.tool_use("Bash", {"command": "echo a"}, id="t1"),
        wire.tool_use("Bash", {"command": "mkdir b"}, id="t2"),
        wire.tool_use("Read", {"path": "no"}, id="t3"),
    )
    call(cli, *uses, flags=("--allow", "Bash:echo *"))
    with log_of(cli).open("ab") as file:
        file.write(b'\xff{garbage\n[1]\n{"ts": 3}\n')

    def ids(*flags) -> list[str]:
        done = cli.run("perms", "audit", "--json", *flags)
        assert done.code == 0
        assert "3 lines are no records" in done.err and "line 4" in done.err
        return [json.loads(line)["tool_use_id"] for line in done.out.splitlines()]

    assert ids() == ["t1", "t2", "t3"]
    assert ids("--tool", "Bash") == ["t1", "t2"]
    assert ids("--action", "deny") == ["t2"]
    assert ids("--head", "1") == ["t3"]
    assert ids("--since", "2999-01-01T00:00:00Z") == []
    assert len(ids("--since", "2020-01-01")) == 3
    text = cli.run("perms", "audit").out.splitlines()
    assert "deny" in text[1] and "mkdir b" in text[1]


def test_an_empty_log_is_said_and_wrong_words_are_refused(cli):
    done = cli.run("perms", "audit")
    assert (done.code, done.out) == (0, "(empty)\n")
    assert cli.run("perms", "audit", "--json").out == ""
    for words in (("--since", "yesterday"), ("--head", "-1"), ("--head", "0"), ("--action", "maybe")):
        assert cli.run("perms", "audit", *words).code == 64
