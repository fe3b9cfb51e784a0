"""The log of decisions and `caliban perms` whole, through the real command."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
from pathlib import Path

import pytest
from hang_guard import HANG_S, wait_until

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
    cli.configure(
        '[[permissions.rules]]\npattern = "Bash:touch *"\naction = "deny"\nreason = "no touching"\n'
    )
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
    assert {(line["session_id"], line["turn_index"]) for line in lines} == {("mine", 0)}
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


def test_without_a_call_there_is_no_log_and_nothing_of_it_is_loaded(cli):
    cli.script(wire.exchange(DONE))
    done = cli.run("-p", "hi", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert (done.code, "caliban_permissions.audit" in done.err) == (0, False)
    assert not cli.home.joinpath(*STATE).exists()
    done = call(cli, wire.tool_use("Read", {"path": "no"}), env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert "caliban_permissions.audit.log" in done.err


def test_a_call_is_on_record_before_it_runs_so_that_a_killed_run_shows_it(cli):
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch begun; exec sleep 1000"}, id="k")))
    process = cli.start("-p", "go", "--allow", "Bash", start_new_session=True)
    wait_until((cli.work / "begun").exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=HANG_S)
    assert [line["tool_use_id"] for line in records(cli)] == ["k"]


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


USER = (".config", "caliban", "permissions.toml")


def verdict(cli, command: str, *flags) -> int:
    return cli.run("perms", "test", "Bash", json.dumps({"command": command}), *flags).code


def test_p13_a_rule_is_written_listed_counts_and_is_taken_out_again(cli):
    path = cli.work / ".caliban" / "permissions.toml"
    done = cli.run("perms", "add", "Bash:foo *", "allow", "--scope", "project", "--comment", "c")
    assert (done.code, "--trust-project" in done.err) == (0, True)
    assert 'pattern = "Bash:foo *"\naction = "allow"\ncomment = "c"\n' in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert verdict(cli, "foo x") == 2
    assert verdict(cli, "foo x", "--trust-project") == 0
    assert cli.run("perms", "list", "--scope", "project").out == "  1 allow Bash:foo *   [c]\n"
    again = cli.run("perms", "add", "Bash:foo *", "allow")
    assert (again.code, "already there" in again.out) == (0, True)
    removed = cli.run("perms", "remove", "--pattern", "Bash:foo *", "--scope", "project")
    assert (removed.code, path.read_text()) == (0, "")
    absent = cli.run("perms", "remove", "--pattern", "Bash:foo *", "--scope", "project")
    assert (absent.code, "no matching rule" in absent.err) == (1, True)


def test_other_bytes_of_the_file_stay_and_a_rule_goes_by_its_number(cli):
    path = cli.home.joinpath(*USER)
    path.parent.mkdir(parents=True)
    text = "# mine ${HOME}\r\n[[permissions.rules]] # one\r\naction='deny'\r\npattern='Bash:rm *'\r\n"
    path.write_bytes(text.encode())
    path.chmod(0o640)
    assert cli.run("perms", "add", "Bash:curl *", "deny", "--scope", "user", "--reason", "fetch").code == 0
    assert verdict(cli, "curl x") == 1
    listed = [json.loads(line) for line in cli.run("perms", "list", "--json").out.splitlines()]
    assert listed[1] == {
        "scope": "user",
        "index": 2,
        "pattern": "Bash:curl *",
        "action": "deny",
        "reason": "fetch",
    }
    assert cli.run("perms", "remove", "--index", "2", "--scope", "user").code == 0
    assert path.read_bytes() == text.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert cli.run("perms", "remove", "--index", "9", "--scope", "user").code == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("Bash:[x", "allow"), 1, "not written"),
        (("Bash(git *", "deny"), 1, "not written"),
        (("Bsh:git *", "deny"), 1, "did you mean Bash?"),
        (("Bash:ok *", "alow"), 64, "did you mean allow?"),
        (("Bash:ok *", "allow", "--scope", "projekt"), 1, "did you mean project?"),
        (("Bash:ok *", "allow", "--scope", "cli"), 1, "stand in no file"),
        (("Bash:ok *", "allow", "--expires-at", "soon"), 64, "no date"),
        (("Bash:ok *", "allow", "--expires-at", "2001-01-01"), 64, "is over"),
        (("Bash:git push", "allow", "--scope", "user"), 1, "already decides"),
        (("Bash:git log", "deny", "--scope", "user"), 1, "already decides"),
        (("",), 64, "hint"),
    ],
)
def test_a_rule_that_would_do_nothing_is_not_written(cli, words, code, said):
    path = cli.home.joinpath(*USER)
    path.parent.mkdir(parents=True)
    text = '[[permissions.rules]]\npattern = "Bash:git *"\naction = "deny"\n'
    path.write_text(text)
    done = cli.run("perms", "add", *words)
    assert (done.code, path.read_text()) == (code, text)
    assert said in done.err
    assert not (cli.work / ".caliban").exists()


def test_the_effective_rules_are_in_the_order_in_which_they_count(cli):
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text(
        "[permissions]\nallow = ['Bash:a']\ndeny = ['Bash:b']\n"
    )
    cli.configure("[permissions]\nallow = ['Bash:c']\n")
    flags = ("perms", "list", "--effective", "--json", "--allow", "Bash:d")

    def rows(*more):
        listed = [json.loads(line) for line in cli.run(*flags, *more).out.splitlines()]
        assert [row["index"] for row in listed] == list(range(1, len(listed) + 1))
        return [(row["scope"], row["pattern"]) for row in listed if row["scope"] != "default"]

    assert rows() == [("cli", "Bash:d"), ("project", "Bash:b"), ("user", "Bash:c")]
    assert ("project", "Bash:a") in rows("--trust-project")
    assert "--trust-project" in cli.run(*flags).err
    only = cli.run("perms", "list", "--scope", "cli", "--deny", "Bash:x").out
    assert only == "  1 deny  Bash:x\n"
    assert cli.run("perms", "list", "--scope", "managed").out == "(no rules)\n"


def test_p14_export_is_read_again_as_the_same_rules(cli):
    cli.configure("[permissions]\nallow = ['Bash:a', 'Read']\nask = ['Bash:b \"x\"']\n")
    toml = cli.run("perms", "export", "--scope", "user")
    rules = cli.run("perms", "export", "--scope", "user", "--format", "json").json["permissions"]["rules"]
    assert rules[0] == {"pattern": 'Bash:b "x"', "action": "ask"}
    (cli.home / ".config" / "caliban" / "settings.toml").unlink()
    cli.home.joinpath(*USER).write_text(toml.out)
    again = cli.run("perms", "export", "--scope", "user", "--format", "json").json["permissions"]["rules"]
    assert again == rules
    yaml = cli.run("perms", "export", "--format", "yaml")
    assert (yaml.code, "toml or json" in yaml.err) == (2, True)


CLAUDE = {
    "permissions": {
        "allow": ["Read", "Bash(git log:*)", "mcp__files", "Read(/etc/x)"],
        "deny": ["WebFetch(domain:evil.example)"],
        "ask": ["Bash([x)"],
        "defaultMode": "plan",
    }
}


def test_p15_rules_of_another_harness_are_shown_and_then_written(cli):
    source = cli.home / ".claude" / "settings.json"
    source.parent.mkdir()
    source.write_text(json.dumps(CLAUDE))
    dry = cli.run("perms", "import", "--from", "~/.claude/settings.json", "--dry-run")
    assert dry.code == 0
    assert "would import: allow Bash(git log:*)\n    commands that are `git log` or begin" in dry.out
    for left in ("Read(/etc/x)", "Bash([x)", "defaultMode"):
        assert f"{left}" in dry.out.partition("left out")[2]
    assert not cli.home.joinpath(*USER).exists()
    assert cli.run("perms", "import", "--from", str(source)).code == 0
    listed = cli.run("perms", "list", "--scope", "user").out
    assert (
        " ".join(listed.split())
        == "1 deny WebFetch(domain:evil.example) 2 allow Read 3 allow Bash(git log:*) 4 allow mcp__files__*"
    )
    twice = cli.run("perms", "import", "--from", str(source))
    assert (twice.code, "4 rules already there" in twice.out) == (0, True)


@pytest.mark.parametrize(
    ("name", "text", "code", "said"),
    [
        ("a.json", "{", 78, "not JSON"),
        ("a.json", '{"x": 1}', 1, "no permission rules"),
        ("config.toml", 'approval_policy = "never"\n', 1, "how Codex asks"),
        ("a.rules", "prefix_rule(pattern=[\n", 1, "no list of rules"),
        ("none.json", None, 66, "no such file"),
    ],
)
def test_a_file_without_rules_is_refused_by_name(cli, name, text, code, said):
    if text is not None:
        (cli.home / name).write_text(text)
    done = cli.run("perms", "import", "--from", str(cli.home / name))
    assert (done.code, said in done.err) == (code, True), done.err


def test_rules_of_codex_and_of_older_files_are_taken_over(cli):
    (cli.home / "d.rules").write_text(
        "prefix_rule(pattern=['git', ['push', 'fetch']], decision='prompt')\n"
        "prefix_rule(pattern=['rm'], decision='forbidden', justification='no')\n"
        "prefix_rule(pattern=['echo', 'a b'])\nprint(1)\n"
    )
    done = cli.run("perms", "import", "--from", str(cli.home / "d.rules"))
    assert done.code == 0 and done.out.count("left out") == 2
    (cli.home / "old.toml").write_text("[[rule]]\ntool = 'Bash:make *'\naction = 'allow'\n")
    assert cli.run("perms", "import", "--from", str(cli.home / "old.toml")).code == 0
    exits = [verdict(cli, line) for line in ("git fetch", "rm x", "make all")]
    assert exits == [2, 1, 0]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", 0, "OK ("),
        ("deny = ['Bash:rm *']\nask = ['mcp__*']\n", 0, "OK ("),
        ("deny = ['Read', 'Read']\n", 1, 'duplicate: pattern="Read" action=deny'),
        ("allow = ['Bash:[x']\n", 1, "unreadable"),
        ("allow = ['Bash:*']\n", 1, "grants code"),
        ("allow = ['Bash:git *', 'Bash:git log']\n", 1, "unreachable"),
        ("allow = ['Reed']\n", 1, "did you mean Read?"),
        ("deny = ['']\n", 1, "invalid"),
    ],
)
def test_p12_lint_says_what_is_wrong_with_the_rules_of_a_scope(cli, text, code, said):
    cli.configure(f"[permissions]\n{text}")
    done = cli.run("perms", "lint", "--scope", "user")
    assert (done.code, said in done.out) == (code, True), done.out
    assert cli.run("perms", "lint").code == code


def test_s331_a_deny_behind_an_allow_of_everything_is_found(cli):
    rules = [("Bash:*", "allow"), ("Bash:~rm *", "deny")]
    cli.configure("".join(f'[[permissions.rules]]\npattern = "{p}"\naction = "{a}"\n' for p, a in rules))
    done = cli.run("perms", "lint", "--scope", "user")
    assert done.code == 1
    assert 'conflict: pattern="Bash:~rm *" action=deny (user 2): rule user 1 (' in done.out


CALLS = """
[[call]]
tool = "Bash"
input = { command = "git status" }
expect = "allow"

[[call]]
tool = "Bash"
input = { command = "rm x" }
expect = "deny"
"""


def test_a_file_of_calls_is_tested_for_the_machine_that_judges_a_change(cli):
    cli.configure("[permissions]\nallow = ['Bash:git *']\ndeny = ['Bash:rm *']\n")
    (cli.work / "calls.toml").write_text(CALLS)
    done = cli.run("perms", "test", "calls.toml")
    assert (done.code, done.out) == (0, "OK (2 calls)\n")
    (cli.work / "calls.toml").write_text(CALLS.replace('"deny"', '"ask"'))
    done = cli.run("perms", "test", "calls.toml")
    assert done.code == 1
    assert "call 2: Bash" in done.out and "expected ask, got deny by Bash:rm *" in done.out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, 66),
        ("", 78),
        ("[[call]\n", 78),
        ("[[call]]\ntool = 3\n", 78),
        ("[[call]]\ntool = 'Bash'\nexpect = 'maybe'\n", 78),
        ("[[call]]\ntool = 'Bash'\nexpected = 'ask'\n", 78),
        ("[[call]]\ntool = 'Bash'\ninput = 'x'\nexpect = 'ask'\n", 78),
        ("\xff", 78),
    ],
)
def test_a_file_that_is_none_of_calls_is_refused(cli, text, code):
    if text is not None:
        (cli.work / "calls.toml").write_bytes(text.encode("latin-1"))
    assert cli.run("perms", "test", "calls.toml").code == code


def test_a_verb_has_its_help_and_a_word_that_is_none_is_told(cli):
    for words in (("perms", "add", "--help"), ("help", "perms", "add")):
        assert "--comment TEXT" in cli.run(*words).out
    assert "perms VERB --help" in cli.run("perms").out
    done = cli.run("perms", "lst")
    assert (done.code, "did you mean list?" in done.err) == (64, True)
    assert cli.run("--workspace", str(cli.work), "perms", "list").code == 0


def test_s867_what_stands_in_the_log_does_not_steer_a_terminal(cli):
    line = 'echo \x1b]52;c;x\x07 \u202e \u2028 "\n{"action":"deny"}'
    call(cli, wire.tool_use("Bash", {"command": line}))
    text = log_of(cli).read_bytes()
    assert text.isascii() and text.count(b"\n") == 1 and b"\x1b" not in text
    with log_of(cli).open("ab") as file:  # what others wrote into it
        file.write('{"ts":"2026-01-01","tool_name":"\x9b31m\u202e","action":"deny"}\n'.encode())
    shown = cli.run("perms", "audit").out
    assert len(shown.splitlines()) == 2
    assert not set(shown) & set("\x1b\x07\x9b\u202e\u2028")
