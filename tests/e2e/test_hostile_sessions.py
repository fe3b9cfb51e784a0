"""Session files that nobody wrote well, through the commands that read, change and copy them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

HELLO = {"id": "m1", "role": "user", "content": [{"type": "text", "text": "hello"}]}


def folder(cli) -> Path:
    place = cli.home / "sessions"
    place.mkdir(exist_ok=True)
    return place


def saved(cli, name: str, **members: Any) -> None:
    document: Mapping[str, Any] = {
        "id": name,
        "updated_at": "2026-11-02T00:00:00Z",
        "provider": "anthropic",
        "model": "claude-sonnet-4-6",
        "preview": f"this is {name}",
        **members,
        "messages": members.get("messages", [HELLO]),
    }
    (folder(cli) / f"{name}.json").write_text(json.dumps(document))


def sessions(cli, verb: str, *words: str):
    return cli.run("sessions", verb, *words, "--sessions-dir", str(folder(cli)))


@pytest.mark.parametrize("digits", [20, 30, 400])
def test_a_count_beyond_all_sense_hides_no_session(cli, digits):
    saved(cli, "good")
    saved(cli, "total", total_usage={"input_tokens": 10**digits})
    saved(cli, "spent", spent={"anthropic/claude-sonnet-4-6": {"output_tokens": 10**digits}})
    saved(cli, "turns", turn_count=10**digits, message_count=10**digits)
    listed = sessions(cli, "list", "--all")
    assert (listed.code, listed.out.count("this is")) == (0, 4)
    assert len(sessions(cli, "list", "--all", "--json").out.splitlines()) == 4
    shown = sessions(cli, "show", "total")
    assert shown.code == 0 and "total_usage.input_tokens" in shown.err


def test_numbers_that_json_does_not_have_do_not_keep_a_session_from_being_saved(cli):
    call = {"type": "tool_use", "id": "t", "name": "X", "input": {"a": float("inf"), "b": 10**30}}
    reply = {"id": "m2", "role": "assistant", "content": [call], "odd": float("nan")}
    saved(cli, "odd", unknown=float("-inf"), messages=[HELLO, reply])
    assert sessions(cli, "label", "odd", "kept").code == 0
    assert sessions(cli, "rename", "odd", "even").code == 0
    document = json.loads((folder(cli) / "even.json").read_text(), parse_constant=lambda text: 1 / 0)
    assert (document["unknown"], document["messages"][1]["odd"]) == (None, None)
    assert document["messages"][1]["content"][0]["input"] == {"a": None, "b": 10**30}


@pytest.mark.parametrize(
    "there",
    [b"", b"{", b"{}", b"[]", b"null", b'{"messages": 5}', b"\x80\xff", b"[" * 50_000, b'{"messages": [5]}'],
    ids=["empty", "cut", "object", "list", "null", "number", "bytes", "deep", "message"],
)
def test_what_is_no_session_is_copied_over_by_force_alone(cli, tmp_path, there):
    saved(cli, "good")
    target = tmp_path / "shared" / "good.json"
    target.parent.mkdir()
    target.write_bytes(there)
    refused = sessions(cli, "copy", "good", "--to", str(target.parent))
    assert (refused.code, target.read_bytes()) == (66, there)
    assert f"{target} cannot be read as a session" in refused.err
    forced = sessions(cli, "copy", "good", "--to", str(target.parent), "--force")
    assert forced.code == 0, forced.err
    assert json.loads(target.read_text())["messages"] == [HELLO]


def test_a_copy_says_what_it_leaves_behind_and_a_source_that_is_damaged_is_named(cli, tmp_path):
    saved(cli, "good")
    (folder(cli) / "good.archive").write_text(json.dumps({**HELLO, "id": "m0"}) + "\n")
    done = sessions(cli, "copy", "good", "--to", str(tmp_path / "shared"))
    assert done.code == 0 and f"stays in {folder(cli)}" in done.err
    (folder(cli) / "bad.json").write_text("{")
    refused = sessions(cli, "copy", "bad", "--to", str(tmp_path / "shared"))
    assert refused.code == 66 and str(folder(cli) / "bad.json") in refused.err


def test_a_directory_of_sessions_that_is_none_is_named(cli):
    (cli.home / "file").write_text("x")
    none = cli.run("sessions", "list", "--sessions-dir", str(cli.home / "file"))
    assert none.code == 66 and "not a directory" in none.err and "--sessions-dir" in none.err
    missing = cli.run("sessions", "list", "--sessions-dir", str(cli.home / "missing"))
    assert missing.code == 0 and f"there is no directory {cli.home / 'missing'}" in missing.err
    assert not (cli.home / "missing").exists()


def test_what_a_file_says_of_itself_stays_on_its_line(cli):
    evil = "a\x1b[2J\nlast used  never"
    origin = {"session": evil, "id": "q", "entry": None}
    saved(cli, "evil", workspace=evil, provider=evil, model=evil, labels=[evil], forked_from=origin)
    shown = sessions(cli, "show", "evil")
    assert shown.code == 0 and "\x1b" not in shown.out
    assert [line[:9] for line in shown.out.splitlines()].count("last used") == 1


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_export_goes_through_a_pipe_and_never_takes_its_place(cli, force):
    saved(cli, "a")
    pipe = cli.work / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = cli.run("sessions", "export", "a", "--output", "pipe", *force, "--sessions-dir", str(folder(cli)))
    assert (done.code, done.out) == (0, "")
    assert "hello" in os.read(reading, 100_000).decode()
    os.close(reading)
    assert pipe.is_fifo()
