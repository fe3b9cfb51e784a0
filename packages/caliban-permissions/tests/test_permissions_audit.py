"""The log of decisions: whole lines whatever dies, writes at the same time or stands in it already."""

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.mask import MASK, Masker
from caliban_common.permission import Decision, RuleMatch
from caliban_permissions.audit.archive import archives, compress_left, move_away
from caliban_permissions.audit.entry import EXCERPT_CHARS, AuditEntry, audit_line
from caliban_permissions.audit.log import LOG_NAME, AuditLog
from caliban_permissions.audit.read import AuditGarbage, AuditQuery, AuditRecord, read_audit
from caliban_permissions.audit.redact import redacted
from caliban_permissions.errors import AuditFailed

NOW = datetime(2026, 6, 1, 14, 23, 1, 123456, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def entry(**changed):
    given = {
        "session_id": "s",
        "agent": "",
        "turn": 4,
        "tool_use_id": "t",
        "tool_name": "Bash",
        "input": {"command": "git push origin main"},
        "decision": Decision(action="allow", by="rule"),
    }
    return AuditEntry(**{**given, **changed})


def read(directory: Path, **query):
    items = list(read_audit(directory, AuditQuery(**query)))
    return [item.data for item in items if isinstance(item, AuditRecord)], [
        item for item in items if isinstance(item, AuditGarbage)
    ]


def test_a_line_is_the_documented_one():
    match = RuleMatch(pattern="Bash:git *", action="allow", source="user")
    line = audit_line(entry(decision=Decision(action="allow", match=match, by="rule")), NOW, str)
    assert line == (
        b'{"ts":"2026-06-01T14:23:01.123456Z","session_id":"s","agent":"","turn_index":4,"tool_use_id":"t",'
        b'"tool_name":"Bash","input_excerpt":"{\\"command\\":\\"git push origin main\\"}","input_bytes":34,'
        b'"input_sha256":"af1b4b3c17d3e4650d609c72472402dd9874f9d1a13aeab9e2988a25d88d6f97","action":"allow",'
        b'"decided_by":"rule","matched_rule":{"pattern":"Bash:git *","action":"allow","source":"user"},'
        b'"reason":""}\n'
    )


@given(
    st.dictionaries(st.text(), JSON, max_size=4),
    st.text(st.characters(exclude_categories=())),
    st.text(st.characters(exclude_categories=())),
)
def test_whatever_a_model_wrote_is_one_line_of_ascii(given_input, name, reason):
    line = audit_line(
        entry(input=given_input, tool_name=name, decision=Decision(action="deny", reason=reason)), NOW, str
    )
    assert line.isascii() and line.count(b"\n") == 1 and line.endswith(b"\n")
    assert all(byte >= 32 for byte in line[:-1])
    value = json.loads(line)
    assert len(value["input_excerpt"]) <= EXCERPT_CHARS and value["input_bytes"] >= 2


@pytest.mark.parametrize("padding", [0, 100, 200, 215, 226, 240])
def test_known_and_unknown_secrets_are_gone_before_the_cut(padding):
    mask = Masker(["my-known-key-12345678"]).text
    command = "x" * padding + "curl -H 'Authorization: Bearer sk-0123456789abcdefghij' my-known-key-12345678"
    excerpt = json.loads(audit_line(entry(input={"command": command}), NOW, mask))["input_excerpt"]
    assert "sk-0" not in excerpt and "my-kn" not in excerpt


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefgh12345678",
        "export OPENAI_API_KEY=abcdef123456",
        '{"password": "hunter22xyz"}',
        "https://user:passw0rd@host/x",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "AKIA0123456789ABCDEF",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "tool --token abcdef123456",
        "tool -token abcdef123456",
        "tool --client-secret 'abcdef123456'",
        "mysql --password hunter22xyz db",
        "mysql -u root -phunter22xyz db",
        "curl -u me:hunter22xyz https://host/x",
        "curl -ume:hunter22xyz https://host/x",
        "curl --user me:hunter22xyz https://host/x",
        "docker login -u me -p hunter22xyz",
        "sshpass -p hunter22xyz ssh host",
        "gh auth login --with-token abcdef123456",
        "aws configure set aws_secret_access_key wJalrXUtnFEMI/K7MDENG",
        "https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXX",
        "https://host/blob?sig=abcdef123456&x=1",
        "AccountKey=abcdef123456==;EndpointSuffix=core",
        "hvs.CAESIabcdefghijklmnopqrstuv",
        "pypi-AgEIcHlwaS5vcmcCJGFiY2RlZg12345678",
        "dckr_pat_abcdefghijklmnopqrstuvwxyz",
        "SG.abcdefghijklmnopqrstuv.abcdefghijklmnop",
    ],
)
def test_what_looks_like_a_secret_is_none_any_more(text):
    assert MASK in redacted(text)
    assert redacted("git status && ls -la /tmp; token rotation; the secret of life") == (
        "git status && ls -la /tmp; token rotation; the secret of life"
    )


@pytest.mark.parametrize(
    "text",
    [
        "grep -n token src/app.py",
        "git push -u origin feature:main",
        "git push -u https://host:8443/x",
        "docker run -u 1000:1000 image",
        "mysql -u root -p db",
        "npm login -p",
        "rm --token-file tokens.txt",
        "kubectl get secret the-name-of-one",
    ],
)
def test_what_only_speaks_of_secrets_stays(text):
    assert redacted(text) == text


@given(st.integers(0, 9000), st.integers(0, 300))
def test_no_cut_leaves_a_piece_of_a_secret(before, behind):
    token = "ghp_" + "Ab0" * 12
    command = "x " * (before // 2) + token + " y" * behind
    excerpt = json.loads(audit_line(entry(input={"command": command}), NOW, str))["input_excerpt"]
    assert token[:6] not in excerpt


@pytest.mark.parametrize(
    "text", ["a_" * 30_000, "token=" * 10_000, "mysql login " * 9_000, "://" * 20_000, "-----BEGIN " * 8_000]
)
def test_text_made_to_be_slow_is_not(text):
    assert isinstance(redacted(text), str)


def test_the_file_is_for_its_owner_whatever_the_umask_says(tmp_path):
    before = os.umask(0)
    try:
        log = AuditLog(tmp_path / "a" / "b")
        log.write(entry())
    finally:
        os.umask(before)
    path = tmp_path / "a" / "b" / LOG_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["link", "directory", "fifo"])
def test_what_is_in_the_way_is_an_error_in_words(tmp_path, kind):
    path = tmp_path / LOG_NAME
    if kind == "link":
        path.symlink_to(tmp_path / "victim")
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(AuditFailed, match="cannot write"):
        AuditLog(tmp_path).write(entry())
    assert not (tmp_path / "victim").exists()


def test_a_torn_line_costs_only_itself(tmp_path):
    log = AuditLog(tmp_path)
    log.write(entry(tool_use_id="1"))
    with (tmp_path / LOG_NAME).open("ab") as file:
        file.write(b'{"ts":"2026-06-')
    log.write(entry(tool_use_id="2"))
    records, garbage = read(tmp_path)
    assert [record["tool_use_id"] for record in records] == ["1", "2"]
    assert [item.line for item in garbage] == [2]


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    log = AuditLog(tmp_path)
    log.write(entry(tool_use_id="1"))
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[:20]))
    with pytest.raises(AuditFailed):
        log.write(entry(tool_use_id="2"))
    monkeypatch.undo()
    log.write(entry(tool_use_id="3"))
    records, garbage = read(tmp_path)
    assert ([record["tool_use_id"] for record in records], garbage) == (["1", "3"], [])


WRITER = """
import sys
from pathlib import Path
from caliban_common.permission import Decision
from caliban_permissions.audit.entry import AuditEntry
from caliban_permissions.audit.log import AuditLog
log = AuditLog(Path(sys.argv[1]), max_bytes=int(sys.argv[3]))
for n in range(int(sys.argv[4])):
    log.write(AuditEntry(session_id=sys.argv[2], agent="", turn=n, tool_use_id=f"{sys.argv[2]}-{n}",
        tool_name="Bash", input={"command": "x" * (n % 300)}, decision=Decision(action="deny")))
    if n == 0: print("begun", flush=True)
    if len(sys.argv) > 5 and n % 50 == 0: log.close()
log.close()
"""


def writer(directory: Path, name: str, max_bytes: int, count: int, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(directory), name, str(max_bytes), str(count), *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("max_bytes", [1 << 30, 20_000])
def test_s875_processes_that_write_at_once_lose_nothing_rotation_or_not(tmp_path, max_bytes):
    running = [writer(tmp_path, str(number), max_bytes, 300, "close") for number in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [(None, 0)] * 4
    records, garbage = read(tmp_path)
    assert garbage == []
    ids = [record["tool_use_id"] for record in records]
    assert sorted(ids) == sorted(f"{number}-{n}" for number in range(4) for n in range(300))
    for number in range(4):  # each process's lines are in its order
        own = [record["turn_index"] for record in records if record["session_id"] == str(number)]
        assert own == list(range(300))
    if max_bytes < 1 << 30:
        assert len(archives(tmp_path)) > 1
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_kill_9_loses_at_most_the_line_that_is_being_written(tmp_path):
    process = writer(tmp_path, "k", 1 << 30, 10_000_000)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    AuditLog(tmp_path).write(entry(session_id="after"))
    records, garbage = read(tmp_path)
    turns = [record["turn_index"] for record in records if record["session_id"] == "k"]
    assert turns == list(range(len(turns))) and turns
    assert records[-1]["session_id"] == "after" and len(garbage) <= 1


def test_s877_a_half_rotation_is_finished_and_nothing_is_there_twice(tmp_path):
    log = AuditLog(tmp_path)
    log.write(entry(tool_use_id="1"))
    first = move_away(tmp_path / LOG_NAME, NOW)
    assert first is not None and first.name == "permission-decisions-2026-06-01.jsonl"
    log.write(entry(tool_use_id="2"))
    second = move_away(tmp_path / LOG_NAME, NOW)
    assert second is not None and second.name == "permission-decisions-2026-06-01-2.jsonl"
    packed = first.with_name(f"{first.name}.gz")
    packed.write_bytes(gzip.compress(first.read_bytes()))  # it died before the original was removed
    assert [record["tool_use_id"] for record in read(tmp_path)[0]] == ["1", "2"]
    compress_left(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{second.name}.gz", packed.name]
    log.write(entry(tool_use_id="3"))
    third = move_away(tmp_path / LOG_NAME, NOW)
    assert third is not None and third.name.endswith("-01-3.jsonl")
    assert [record["tool_use_id"] for record in read(tmp_path)[0]] == ["1", "2", "3"]


@given(st.lists(st.binary(max_size=40) | st.just(b'{"ts":"2026-01-01","tool_name":"x","action":"deny"}')))
def test_any_bytes_are_read_as_records_and_named_garbage(tmp_path_factory, lines):
    directory = tmp_path_factory.mktemp("log")
    (directory / LOG_NAME).write_bytes(b"\n".join(lines))
    records, garbage = read(directory)
    assert len(records) >= lines.count(b'{"ts":"2026-01-01","tool_name":"x","action":"deny"}')
    assert all(item.line > 0 for item in garbage)


def test_a_broken_archive_and_a_directory_are_named(tmp_path):
    (tmp_path / "permission-decisions-2026-01-01.jsonl.gz").write_bytes(b"no archive")
    cut = gzip.compress(audit_line(entry(), NOW, str) * 2000)
    (tmp_path / "permission-decisions-2026-01-02.jsonl.gz").write_bytes(cut[: len(cut) // 2])
    (tmp_path / LOG_NAME).mkdir()
    records, garbage = read(tmp_path)
    assert [item.line for item in garbage[-1:]] == [0] and len(garbage) >= 3
    assert all(record["tool_name"] == "Bash" for record in records)
