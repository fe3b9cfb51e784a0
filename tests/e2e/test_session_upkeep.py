"""What becomes of sessions over time: a mirror that goes along, and checkpoints that go with them."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from caliban_provider_anthropic.testing import wire
from caliban_sessions import SessionStore

WRITE = wire.exchange(wire.tool_use("Write", {"path": "a.txt", "content": "x"}, id="t1"))


def store(cli) -> SessionStore:
    return SessionStore(cli.home / ".local/share/caliban/sessions")


def say(cli, *flags: str, answers=("done",), env=None):
    cli.script(*(wire.exchange(wire.text(answer)) for answer in answers))
    done = cli.run("-p", "hi", *flags, env=env)
    assert done.code == 0, done.err
    return done


def change(cli, *flags: str):
    cli.script(WRITE, wire.exchange(wire.text("done")))
    done = cli.run("-p", "go", "--permission-mode", "acceptEdits", *flags)
    assert done.code == 0, done.err


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def aged(cli, name: str) -> None:
    """Make a session one that nobody used for years."""
    path = store(cli).directory / f"{name}.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "updated_at": "2020-01-01T00:00:00.000Z"}))


def test_a_mirror_goes_along_with_a_run_and_is_what_the_command_would_write(cli):
    secret = "sk-ant-CANARY0123-456789-abcdefghijklmnop"
    hook = cli.work.parent / "hook.sh"
    find = r"""sed -n 's/.*transcript_path": "\([^"]*\).*/\1/p'"""
    hook.write_text(f"#!/bin/sh\n{find} | xargs cat > then\n")
    hook.chmod(0o755)
    settings = cli.home / ".config/caliban/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": str(hook)}]}]}}))
    (cli.work / "b.txt").write_text(secret)
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "b.txt"}, id="t1")), wire.exchange(wire.text("ok"))
    )
    done = cli.run("-p", "look", "--session", "s", "--mirror", env={"ANTHROPIC_API_KEY": secret})
    assert done.code == 0, done.err
    (path,) = (cli.home / ".claude" / "projects").rglob("*.jsonl")
    assert UUID(path.stem)
    assert path.parent.name == str(cli.work).replace("/", "-").replace("_", "-").replace(".", "-")
    assert [line["type"] for line in lines(path)] == ["user", "assistant", "user", "assistant"]
    during = lines(cli.work / "then")
    ids = [line["uuid"] for line in lines(path)]
    assert [line["uuid"] for line in during] == ids
    assert [line["parentUuid"] for line in during] == [None, *ids[:-1]]
    assert secret not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    after = path.read_bytes()
    settings.write_text("{}")
    assert cli.run("sessions", "mirror", "s").out == f"{path}\n"
    assert path.read_bytes() == after
    say(cli, "-r", "s", env={"CALIBAN_MIRROR": "1"})
    assert [line["uuid"] for line in lines(path)][:4] == ids
    assert len(lines(path)) == 6


def test_a_file_of_others_is_not_written_over_and_the_run_goes_on(cli):
    say(cli, "--session", "s", "--mirror")
    (path,) = (cli.home / ".claude" / "projects").rglob("*.jsonl")
    path.write_text('{"type": "user"}\n')
    done = say(cli, "-r", "s", "--mirror")
    assert done.err.count("not mirrored any more") == 1
    assert path.read_text() == '{"type": "user"}\n'
    assert len(store(cli).load("s").messages) == 5


def test_a_mirror_needs_a_session_and_is_not_made_unasked(cli):
    done = cli.run("-p", "hi", "--mirror", "--no-save")
    assert (done.code, "leave --no-save out" in done.err) == (64, True)
    say(cli)
    assert not (cli.home / ".claude").exists()


def test_checkpoints_go_with_an_old_session_where_a_variable_asks_for_that(cli):
    change(cli, "--session", "old")
    kept = cli.home / ".caliban" / "projects"
    (folder,) = kept.rglob("checkpoints/old")
    aged(cli, "old")
    say(cli, "--session", "new")
    assert folder.exists()
    cli.script(wire.exchange(wire.text("z")))
    done = cli.run("-p", "x", "--session", "new", env={"CALIBAN_CLEANUP_PERIOD_DAYS": "30"})
    assert "1 session not used for 30 days removed: old" in done.err
    assert not folder.exists()
    assert list(kept.iterdir()) == []


@pytest.mark.parametrize("days", ["soon", "0", "-1", "1.5", "9" * 40])
def test_a_period_that_is_no_number_of_days_is_refused_before_anything_is_sent(cli, days):
    done = cli.run("-p", "hi", env={"CALIBAN_CLEANUP_PERIOD_DAYS": days})
    assert (done.code, "CALIBAN_CLEANUP_PERIOD_DAYS must be" in done.err) == (64, True)
    assert cli.server.requests == ()


def test_checkpoints_follow_a_session_to_its_new_name_and_into_nothing(cli):
    change(cli, "--session", "one")
    assert cli.run("sessions", "rename", "one", "two").code == 0
    assert cli.run("rewind", "two", "--to", "1").code == 0
    assert not (cli.work / "a.txt").exists()
    change(cli, "--session", "other")
    assert cli.run("sessions", "rm", "two", "--yes").code == 0
    folders = [path.name for path in (cli.home / ".caliban").rglob("checkpoints/*")]
    assert folders == ["other"]
    aged(cli, "other")
    assert cli.run("sessions", "prune", "--days", "3", "--yes").code == 0
    assert list((cli.home / ".caliban").rglob("checkpoints")) == []


def test_a_list_is_narrowed_by_what_sessions_are_called(cli):
    for name in ("my-project", "other", "third"):
        say(cli, "--session", name)
    cli.run("sessions", "rename", "other", "--title", "About My PROJECT")
    cli.run("sessions", "label", "third", "projects")
    assert cli.run("sessions", "label", "third").out == "projects\n"
    rows = cli.run("sessions", "list", "PROJ", "--json").out.splitlines()
    assert sorted(json.loads(row)["name"] for row in rows) == ["my-project", "other", "third"]
    rows = cli.run("sessions", "list", "my-", "--json").out.splitlines()
    assert [json.loads(row)["name"] for row in rows] == ["my-project"]
    assert cli.run("sessions", "list", "none").out == "(no session is like that)\n"
