"""Rows of the class audit: every call is on record once, whatever stands in it and whatever fails."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls_kit import run_calls

from caliban_common.permission import Decision
from caliban_permissions.audit.entry import AuditEntry
from caliban_permissions.audit.log import AuditLog
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and processes are those of POSIX")


def log_of(cli) -> Path:
    return cli.home / ".local" / "state" / "caliban" / "permission-decisions.jsonl"


def lines_of(cli) -> list[str]:
    return log_of(cli).read_text().split("\n")[:-1]


TEXTS = [
    pytest.param('echo "\n{\\"action\\":\\"deny\\"}"', id="s866"),
    pytest.param("echo \x1b]52;c;x\x07 \u202egnp\u2028x\u2029\x85", id="s867"),
    pytest.param('x\r\n{"action":"allow","tool_name":"Bash","ts":"2026-01-01T00:00:00Z"}\r\n', id="own-cr"),
    pytest.param("echo \ufeff\U000e0041\u200b\x9b31m\x0b\x0c\x1c\x1d\x1e", id="own-separators"),
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tool", ["Bash", "Read", "Nobody"])
def test_one_call_is_one_line_and_its_reader_shows_no_control(cli, text, tool):
    given = {"Bash": {"command": text}, "Read": {"path": text}, "Nobody": {"x": text}}[tool]
    run_calls(cli, (tool, given))
    lines = lines_of(cli)
    assert len(lines) == 1 and lines[0].isascii() and lines[0].isprintable()
    assert json.loads(lines[0])["tool_name"] == tool
    shown = cli.run("perms", "audit").out
    assert [char for char in shown if not (char.isprintable() or char == "\n")] == []


def test_s868_a_cut_excerpt_says_so_and_the_whole_is_known_by_length_and_digest(cli):
    command = "echo " + "a" * 100_000 + "; touch PWNED"
    run_calls(cli, ("Bash", {"command": command}))
    record = json.loads(lines_of(cli)[0])
    whole = json.dumps(
        {"command": command}, ensure_ascii=False, separators=(",", ":"), sort_keys=True
    ).encode()
    assert len(record["input_excerpt"]) < 1000 and "touch PWNED" not in record["input_excerpt"]
    assert record["input_sha256"] in {
        hashlib.sha256(form).hexdigest() for form in (whole, json.dumps({"command": command}).encode())
    }
    assert (
        record["input_chars"] >= len(command) if "input_chars" in record else record["input_bytes"] >= 100_000
    )


DECIDED = [
    pytest.param(("--allow", "Bash"), {"command": "touch a"}, "allow", "rule", id="s870-rule"),
    pytest.param((), {"command": "touch a"}, "deny", "headless", id="s870-headless"),
    pytest.param(("--deny", "Bash"), {"command": "touch a"}, "deny", "check", id="s870-deny"),
    pytest.param(("--auto-allow",), {"command": "touch a"}, "allow", "mode", id="s870-mode"),
    pytest.param(("--permission-mode", "plan"), {"command": "touch a"}, "deny", "plan", id="s870-plan"),
    pytest.param(("--no-permissions",), {"command": "touch a"}, "allow", "mode", id="s870-bypass"),
    pytest.param(("--allow", "Bash"), {"nothing": 1}, "deny", "check", id="s870-schema"),
]


@pytest.mark.parametrize(("flags", "given", "action", "by"), DECIDED)
def test_each_way_to_decide_is_one_line_that_says_who(cli, flags, given, action, by):
    run_calls(cli, ("Bash", given), ("Bash", given), flags=flags)
    records = [json.loads(line) for line in lines_of(cli)]
    assert [(r["action"], r["decided_by"]) for r in records] == [(action, by)] * 2, records


@pytest.mark.parametrize("flags", [pytest.param((), id="s871"), ("--trust-project",)])
@pytest.mark.parametrize("file", ["settings.toml", "settings.local.toml", "permissions.toml"])
def test_no_project_switches_the_log_off(cli, flags, file):
    (cli.work / ".caliban").mkdir()
    text = "audit_log = false\n" if file == "permissions.toml" else "[permissions]\naudit_log = false\n"
    (cli.work / ".caliban" / file).write_text(text)
    run_calls(cli, ("Bash", {"command": "touch a"}), flags=flags)
    assert len(lines_of(cli)) == 1


WRITER = """
import sys
from pathlib import Path
from caliban_common.permission import Decision
from caliban_permissions.audit.entry import AuditEntry
from caliban_permissions.audit.log import AuditLog
log = AuditLog(Path(sys.argv[1]))
for n in range(1000):
    log.write(AuditEntry(session_id=sys.argv[2], agent="", turn=0, tool_use_id=str(n), tool_name="Bash",
                         input={"command": "x" * (n % 300)}, decision=Decision(action="allow")))
"""


def test_s875_two_processes_that_write_at_once_lose_nothing(tmp_path):
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [process.wait() for process in started] == [0, 0]
    lines = (tmp_path / "permission-decisions.jsonl").read_text().splitlines()
    seen = {(r["session_id"], r["tool_use_id"]) for r in map(json.loads, lines)}
    assert (len(lines), len(seen)) == (2000, 2000)


def test_s877_a_rotation_that_was_cut_short_is_finished_by_the_next_run(cli):
    run_calls(cli, ("Bash", {"command": "touch a"}))
    old = log_of(cli).with_name("permission-decisions-2026-01-02.jsonl")
    log_of(cli).rename(old)
    old.with_name(f"{old.name}.gz.1.part").write_bytes(b"half")
    run_calls(cli, ("Bash", {"command": "touch b"}))
    assert sorted(p.name for p in old.parent.glob("permission*")) == [f"{old.name}.gz", log_of(cli).name]
    shown = cli.run("perms", "audit").out
    assert "touch a" in shown and "touch b" in shown


@pytest.mark.parametrize(
    "required", [pytest.param(False, id="s878-told"), pytest.param(True, id="s878-required")]
)
@pytest.mark.parametrize("fault", ["directory", "pipe-like", "full"])
def test_a_log_that_cannot_be_written_is_told_or_stops_the_call(cli, required, fault):
    state = cli.home / ".local" / "state"
    state.mkdir(parents=True)
    if fault == "directory":
        (state / "caliban" / "permission-decisions.jsonl").mkdir(parents=True)
    elif fault == "pipe-like":
        (state / "caliban").write_text("no directory")
    else:
        (state / "caliban").mkdir()
        (state / "caliban" / "permission-decisions.jsonl").symlink_to("/dev/full")
    if required:
        cli.configure("[permissions]\naudit_required = true\n")
    call = ("Bash", {"command": "touch done"})
    _, done = run_calls(cli, call, call, flags=("--allow", "Bash"))
    assert (cli.work / "done").exists() is not required
    assert done.err.count("the log of decisions cannot be written") == 1


def test_s879_the_order_of_lines_is_that_of_writing_whatever_the_clock_says(tmp_path):
    now = datetime(2026, 5, 1, tzinfo=UTC)
    for hours in (0, -5, 3, -9):
        log = AuditLog(tmp_path, clock=lambda hours=hours: now + timedelta(hours=hours))
        entry = AuditEntry(
            session_id="s",
            agent="",
            turn=0,
            tool_use_id=str(hours),
            tool_name="Bash",
            input={},
            decision=Decision(action="allow"),
        )
        log.write(entry)
    lines = (tmp_path / "permission-decisions.jsonl").read_text().splitlines()
    assert [json.loads(line)["tool_use_id"] for line in lines] == ["0", "-5", "3", "-9"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--since", "x"), id="s880-since"),
        pytest.param(("--head", "-1"), id="s880-head"),
        *(("--head", "x"), ("--since", ""), ("--action", "maybe"), ("--nothing",)),
    ],
)
def test_wrong_words_for_the_reader_are_usage(cli, words):
    done = cli.run("perms", "audit", *words)
    assert (done.code, "Traceback" in done.err) == (64, False)


def test_s880_a_corrupt_line_is_named_by_number_and_passed_over(cli):
    run_calls(cli, ("Bash", {"command": "touch a"}))
    whole = log_of(cli).read_bytes()
    log_of(cli).write_bytes(whole + b"{torn\n" + b"\xff\xfe\0\n" + b"[" * 100_000 + b"\n" + whole)
    done = cli.run("perms", "audit")
    assert done.out.count("touch a") == 2
    assert all(f":{n}" in done.err or f"line {n}" in done.err for n in (2, 3, 4)), done.err


def test_the_log_and_its_directory_are_for_their_owner_only(cli):
    wide = ["sh", "-c", 'umask 000; exec "$@"', "sh", sys.executable, "-m", "caliban"]
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch a"})), wire.exchange(wire.text("ok")))
    subprocess.run([*wide, "-p", "hi"], cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, check=True)
    assert stat.S_IMODE(log_of(cli).stat().st_mode) == 0o600
    assert stat.S_IMODE(log_of(cli).parent.stat().st_mode) == 0o700
