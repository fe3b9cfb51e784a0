"""Imports from outside of a project through the real command: approved of once, as they are, no further."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caliban_provider_anthropic.testing import wire


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def told(cli) -> tuple[str, str]:
    """What a run tells the model, and a person."""
    cli.script(wire.exchange(wire.text("done")))
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    return json.dumps(cli.bodies()[-1]["system"]), done.err


def allowlist(cli) -> Path:
    return cli.home / ".caliban" / "imports-allowlist.json"


def test_what_was_approved_of_is_told_from_then_on_until_it_changes(cli):
    (cli.work / ".git").mkdir()
    outside = put(cli.home / "notes" / "api.md", "CANARY-1\n\n@more.md\n")
    put(cli.home / "notes" / "more.md", "CANARY-2")
    put(cli.work / "CLAUDE.md", "@~/notes/api.md")
    system, err = told(cli)
    assert "CANARY" not in system
    assert "nobody has approved" in err and "caliban memory approve" in err
    refused = cli.run("memory", "approve")
    assert (refused.code, "nobody can be asked" in refused.err) == (1, True)
    assert not allowlist(cli).exists()
    done = cli.run("memory", "approve", "--yes")
    assert (done.code, done.out.count("approved ")) == (0, 2), done.err
    assert "CANARY-1" in done.err
    assert allowlist(cli).stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        system, err = told(cli)
        assert ("CANARY-1" in system, "CANARY-2" in system, err.count("is not read")) == (True, True, 0)
    outside.write_text("CANARY-3 other\n")
    system, err = told(cli)
    assert ("CANARY-3" in system, "has changed since it was approved" in err) == (False, True)
    rows = cli.run("memory", "imports").out.splitlines()
    assert [row.split()[0] for row in rows] == ["changed"]
    assert cli.run("memory", "approve", str(outside), "--yes").code == 0
    assert "CANARY-3" in told(cli)[0]
    assert cli.run("memory", "revoke", "~/notes/api.md").out == "1 approval revoked\n"
    assert "CANARY" not in told(cli)[0]
    assert cli.run("memory", "revoke").code == 0
    assert cli.run("memory", "revoke").code == 1


def test_an_approval_is_for_one_project(cli):
    put(cli.home / "a.md", "CANARY")
    put(cli.work / "CLAUDE.md", "@~/a.md")
    other = cli.work.parent / "other"
    put(other / "CLAUDE.md", "@~/a.md")
    assert cli.run("memory", "approve", "--yes").code == 0
    assert "CANARY" in told(cli)[0]
    cli.script(wire.exchange(wire.text("done")))
    assert cli.run("-p", "go", "--workspace", str(other)).code == 0
    assert "CANARY" not in json.dumps(cli.bodies()[-1]["system"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "damaged"),
        ('{"version": 9, "imports": []}', "version"),
        (
            '{"version": 1, "imports": [{"root": "a", "target": "b", "sha256": "c", "approved_at": ""}]}',
            "digest",
        ),
        ('{"version": 1, "imports": 3}', "damaged"),
        ("\ud800", "damaged"),
    ],
    ids=["cut", "version", "digest", "kind", "bytes"],
)
def test_a_file_of_approvals_that_is_none_approves_of_nothing_and_is_named(cli, text, words):
    put(cli.home / "a.md", "CANARY")
    put(cli.work / "CLAUDE.md", "@~/a.md")
    allowlist(cli).parent.mkdir()
    allowlist(cli).write_bytes(text.encode("utf-8", "surrogatepass"))
    allowlist(cli).chmod(0o600)
    system, err = told(cli)
    assert ("CANARY" in system, words in err) == (False, True)
    assert cli.run("memory", "approve", "--yes").code != 0


def test_approvals_that_others_may_write_are_not_believed(cli):
    put(cli.home / "a.md", "CANARY")
    put(cli.work / "CLAUDE.md", "@~/a.md")
    assert cli.run("memory", "approve", "--yes").code == 0
    allowlist(cli).chmod(0o666)
    system, err = told(cli)
    assert ("CANARY" in system, "can be written by others" in err) == (False, True)


def test_doctor_says_how_memory_stands(cli):
    assert "! claudemd — no file of instructions; caliban init" in cli.run("doctor").out
    put(cli.work / "CLAUDE.md", "Use tabs.\n")
    assert "✓ claudemd — 1 file of instructions, 3 tokens" in cli.run("doctor").out
    put(cli.work / "AGENTS.md", "@/etc/passwd")
    assert "! claudemd — 2 files of instructions" in cli.run("doctor").out
    rows = json.loads(cli.run("doctor", "--json").out)["checks"]
    (row,) = [row for row in rows if row["name"] == "claudemd"]
    assert "/etc/passwd" in row["hint"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("imports", "x"), 64),
        (("revoke", "--yes"), 64),
        (("approve", "none.md"), 66),
        (("approve", "."), 64),
    ],
)
def test_what_cannot_be_approved_of_is_refused(cli, args, code):
    done = cli.run("memory", *args)
    assert done.code == code, done.err
