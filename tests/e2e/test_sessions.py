"""`caliban sessions` as a person calls it: list, search, show, change, export, import, remove."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_common.message import user
from caliban_provider_anthropic.testing import wire
from caliban_sessions import SessionStore

KEY = "key-" + "a1B2c3D4" * 5


def store(cli) -> SessionStore:
    return SessionStore(cli.home / ".local" / "share" / "caliban" / "sessions")


def say(cli, prompt: str, answer: str, *args: str) -> None:
    cli.script(wire.exchange(wire.text(answer)))
    assert cli.run("-p", prompt, *args).code == 0


def names(done) -> list[str]:
    return [json.loads(line)["name"] for line in done.out.splitlines()]


def test_a_list_is_of_this_directory_newest_first_with_prompts_cost_and_title(cli, tmp_path):
    say(cli, "mend the roof", "done", "--session", "roof")
    say(cli, "paint the wall", "done", "--session", "wall")
    say(cli, "again", "done", "--session", "roof")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    say(cli, "other place", "done", "--session", "other", "--workspace", str(elsewhere))
    done = cli.run("sessions", "list")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[2] for line in lines] == ["roof", "wall"]
    assert lines[0].split()[3] == "2" and "$0.00" in lines[0] and lines[0].endswith("mend the roof")
    rows = [json.loads(line) for line in cli.run("sessions", "list", "--all", "--json").out.splitlines()]
    assert [row["name"] for row in rows] == ["other", "roof", "wall"]
    assert rows[0]["workspace"] == str(elsewhere)
    assert rows[1]["cost_usd"] > 0 and rows[1]["turns"] == 2
    assert names(cli.run("sessions", "list", "--all", "--json", "--limit", "1")) == ["other"]


def test_an_empty_list_says_where_it_looked(cli):
    done = cli.run("sessions", "list")
    assert (done.code, done.out) == (0, f"(no sessions in {cli.work}; --all shows those of others)\n")


def test_damaged_files_are_named_everywhere_and_hide_nothing(cli):
    say(cli, "hello", "yes", "--session", "good")
    (store(cli).directory / "bad.json").write_text('{"name": "bad", "messages": [')
    for verb in (("list",), ("list", "--search", "hello"), ("list", "--tree")):
        done = cli.run("sessions", *verb)
        assert done.code == 0 and "good" in done.out and "bad.json is no session" in done.err, verb
    for verb in (
        ("show", "bad"),
        ("export", "bad"),
        ("fork", "bad"),
        ("rename", "bad", "x"),
        ("label", "bad", "x"),
    ):
        done = cli.run("sessions", *verb)
        assert done.code == 66 and "bad.json cannot be read as a session" in done.err, verb
    assert cli.run("sessions", "rm", "bad", "--yes").out == "removed bad\n"


def test_words_are_searched_in_prompts_and_answers(cli):
    say(cli, "mend the ROOF", "with tar", "--session", "a")
    say(cli, "paint", "the roof is red", "--session", "b")
    assert sorted(names(cli.run("sessions", "list", "--search", "roof", "--json"))) == ["a", "b"]
    done = cli.run("sessions", "list", "--search", "roof tar")
    assert "… mend the ROOF" in done.out and "  b " not in done.out
    assert cli.run("sessions", "list", "--search", "zebra").out == "(no session is like that)\n"


def test_forks_stand_in_a_tree_and_labels_choose(cli):
    say(cli, "hello", "yes", "--session", "one")
    assert cli.run("sessions", "fork", "one", "two").out == "two\n"
    fresh = cli.run("sessions", "fork", "two").out.strip()
    assert cli.run("sessions", "label", "two", "keep", "good").out == "keep\ngood\n"
    assert cli.run("sessions", "label", "two", "--remove", "good").out == "keep\n"
    assert cli.run("sessions", "rename", "one", "uno", "--title", "The first").code == 0
    rows = [json.loads(line) for line in cli.run("sessions", "list", "--tree", "--json").out.splitlines()]
    assert [(row["name"], row["depth"]) for row in rows] == [("uno", 0), ("two", 1), (fresh, 2)]
    assert rows[0]["title"] == "The first"
    assert names(cli.run("sessions", "list", "--label", "keep", "--json")) == ["two"]
    cli.script(wire.exchange(wire.text("ok")))
    assert cli.run("-p", "go on", "-r", "uno").code == 0
    assert [m["content"][0]["text"] for m in cli.bodies()[-1]["messages"]] == ["hello", "yes", "go on"]


def test_one_that_is_in_use_is_neither_removed_nor_changed(cli):
    say(cli, "hello", "yes", "--session", "one")
    with store(cli).open("one") as session:
        session.append(user("meanwhile"))
        for verb in (("rm", "one", "--yes"), ("rename", "one", "two"), ("label", "one", "x")):
            done = cli.run("sessions", *verb)
            assert done.code == 1 and f"process {os.getpid()}" in done.err, verb
    assert len(store(cli).load("one").messages) == 4


def test_nothing_is_removed_where_nobody_can_be_asked(cli):
    say(cli, "hello", "yes", "--session", "one")
    done = cli.run("sessions", "rm", "one", stdin=b"y\n")
    assert done.code == 1 and "--yes" in done.err
    assert store(cli).exists("one")


@pytest.mark.parametrize(("answer", "stays"), [(b"n\n", True), (b"\n", True), (b"yes\n", False)])
def test_a_person_at_a_terminal_is_asked(cli, answer, stays):
    say(cli, "hello", "yes", "--session", "one")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "caliban", "sessions", "rm", "one"],
        cwd=cli.work,
        env=cli.env,
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(follower)
    os.write(leader, answer)
    out, err = process.communicate(timeout=HANG_S)
    os.close(leader)
    assert b"remove one?" in err
    assert store(cli).exists("one") is stays
    assert out == (b"nothing was removed\n" if stays else b"removed one\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "nope"), 66, "there is no session 'nope'"),
        (("rm", "nope", "--yes"), 66, "there is no session 'nope'"),
        (("rm", "../x", "--yes"), 66, "there is no session"),
        (("fork", "one", "../x"), 64, "cannot name a session"),
        (("rename", "one", "a/b"), 64, "cannot name a session"),
        (("rename", "one", "one2", "--title", "x" * 201), 64, "at most 200"),
        (("rename", "one"), 64, "say what to call it"),
        (("label", "one", "x" * 41), 64, "1 to 40 characters"),
        (("export", "one", "--format", "pdf"), 2, "unknown format 'pdf'"),
        (("list", "--limit", "0"), 64, "at least 1"),
        (("prune",), 64, "say for how long"),
        (("frobnicate",), 64, "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(cli, arguments, code, words):
    say(cli, "hello", "yes", "--session", "one")
    done = cli.run("sessions", *arguments)
    assert (done.code, words in done.err, "Traceback" in done.err) == (code, True, False), done.err
    assert store(cli).list()[0].name == "one"


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_no_export_holds_a_key_wherever_it_was_said(cli, form):
    with store(cli).open("one", provider="anthropic", model="claude-sonnet-4-6") as session:
        session.append(user(f"my key is {KEY}"))
        session.describe(title=f"T {KEY}", labels=(KEY[:40],))
    (store(cli).directory / "one.json").write_text(
        (store(cli).directory / "one.json").read_text().replace('"workspace"', f'"x": "{KEY}", "workspace"')
    )
    cli.extra["ANTHROPIC_API_KEY"] = KEY
    done = cli.run("sessions", "export", "one", "--format", form, "--output", f"out.{form}")
    assert done.code == 0, done.err
    text = (cli.work / f"out.{form}").read_text()
    assert KEY not in text and KEY[:25] not in text and "[secret]" in text
    again = cli.run("sessions", "export", "one", "--output", f"out.{form}")
    assert again.code == 1 and "--force" in again.err


def test_an_export_tells_what_a_summary_has_replaced_and_what_tools_did(cli):
    (cli.work / "f").write_text("inside")
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "f"})), wire.exchange(wire.text("it says inside"))
    )
    assert cli.run("-p", "read f", "--session", "one").code == 0
    with store(cli).open("one") as session:
        session.replace((session.state.messages[0], user("summary of all")))
    text = cli.run("sessions", "export", "one").out
    assert "read f" in text and "Call of Read" in text and "inside" in text
    page = cli.run("sessions", "export", "one", "--format", "html").out
    assert "call of Read" in page and "$0." in page
    data = cli.run("sessions", "export", "one", "--format", "json").json
    roles = [message["role"] for message in data["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert set(data["messages"][3]["finished"]) == {data["messages"][2]["content"][0]["id"]}


def test_an_exported_session_comes_back_and_goes_on(cli):
    say(cli, "hello", "yes", "--session", "one")
    cli.run("sessions", "export", "one", "--output", "one.json")
    refused = cli.run("sessions", "import", "one.json")
    assert refused.code == 64 and "already" in refused.err
    assert cli.run("sessions", "import", "one.json", "--name", "back").out == "back\n"
    before, after = store(cli).load("one"), store(cli).load("back")
    assert (after.messages, after.total_usage, after.spent) == (
        before.messages,
        before.total_usage,
        before.spent,
    )
    assert after.id != before.id
    say(cli, "more", "ok", "-r", "back")


def transcript(*entries: dict[str, object] | str) -> bytes:
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return ("\n".join(lines) + "\n").encode()


def entry(uuid: str, parent: str | None, type: str, message: object, **more: object) -> dict[str, object]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": type,
        "message": message,
        "uuid": uuid,
        "timestamp": "2026-11-27T10:00:00.000Z",
        "cwd": "/p",
        "sessionId": "11111111-2222-4333-8444-555555555555",
        **more,
    }


def reply(id: str, *blocks: dict[str, object]) -> dict[str, object]:
    usage = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 20}
    return {
        "id": id,
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(blocks),
        "usage": usage,
    }


def test_a_transcript_of_claude_is_taken_over_and_goes_on(cli):
    (cli.work / "t.jsonl").write_bytes(
        transcript(
            entry("u1", None, "user", {"role": "user", "content": "look"}),
            entry("u2", "u1", "assistant", reply("m1", {"type": "text", "text": "I look"})),
            entry(
                "u3",
                "u2",
                "assistant",
                reply("m1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
            ),
            "{ torn",
            entry(
                "u4",
                "u3",
                "user",
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": [{"type": "text", "text": "a.txt"}, {"type": "tool_reference"}],
                        }
                    ],
                },
            ),
            entry("s1", "u3", "assistant", reply("s", {"type": "text", "text": "aside"}), isSidechain=True),
            entry("u5", "u4", "assistant", reply("m2", {"type": "text", "text": "one"}, {"type": "odd"})),
            entry("b1", "u1", "user", {"role": "user", "content": "another branch"}),
            entry("u6", "u5", "user", {"role": "user", "content": "thanks"}),
            {"type": "custom-title", "customTitle": "Chat", "sessionId": "x"},
            {"type": "tag", "tag": "work", "sessionId": "x"},
            {"type": "file-history-snapshot"},
        )
    )
    dry = cli.run("sessions", "import", "t.jsonl", "--dry-run")
    assert dry.code == 0 and store(cli).list() == ()
    done = cli.run("sessions", "import", "t.jsonl", "--name", "taken")
    assert (done.code, done.out) == (0, "taken\n")
    errors = done.err
    for words in (
        "text that is no JSON (line 4)",
        "a part of a result of type tool_reference (line 5)",
        "a message of a sub-agent (line 6)",
        "a block of type odd (line 7)",
        "a message of another branch, or from before a summary (line 8)",
        "an entry of type file-history-snapshot (line 12)",
    ):
        assert words in errors, words
    assert len(errors.splitlines()) == 6
    state = store(cli).load("taken")
    assert [message.role for message in state.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert (state.title, state.labels, state.workspace) == ("Chat", ("work",), "/p")
    assert state.total_usage.input_tokens == 50 and state.total_usage.cache_read_tokens == 40
    say(cli, "go on", "ok", "-r", "taken")
    assert cli.bodies()[-1]["system"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 50, b"[]\n1\n", b'{"type":"user"}\n', b"{" * 5000, transcript({"type": "summary"})],
)
def test_a_file_without_a_conversation_is_refused(cli, content):
    (cli.work / "t.jsonl").write_bytes(content)
    done = cli.run("sessions", "import", "t.jsonl")
    assert done.code == 1 and "cannot be imported" in done.err and "Traceback" not in done.err
    (cli.work / "t.json").write_bytes(content)
    assert cli.run("sessions", "import", "t.json").code == 1
    assert cli.run("sessions", "import", "none.jsonl").code == 66


@pytest.mark.parametrize("parents", [(None, "gone", "c"), ("c", "a", "b")])
def test_b133_ids_that_lead_nowhere_hide_no_message(cli, parents):
    texts = ("one", "two", "three")
    entries = [
        entry(id, parent, "user", {"role": "user", "content": text})
        for id, parent, text in zip("abc", parents, texts, strict=True)
    ]
    (cli.work / "t.jsonl").write_bytes(transcript(*entries))
    done = cli.run("sessions", "import", "t.jsonl", "--name", "t")
    assert done.code == 0 and "in the order of the file" in done.err
    assert [message.text for message in store(cli).load("t").messages[1:]] == list(texts)


def test_old_sessions_go_after_a_run_where_settings_ask_for_it_and_stay_else(cli):
    say(cli, "hello", "yes", "--session", "old")
    path: Path = store(cli).directory / "old.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "updated_at": "2020-01-01T00:00:00.000Z"}))
    say(cli, "x", "y", "--session", "new")
    assert store(cli).exists("old")
    cli.configure("cleanup_period_days = 30\n")
    assert cli.run("sessions", "prune", "--dry-run").out == "old\n1 session would be removed\n"
    mark = store(cli).directory / ".cleaned"
    mark.touch()
    os.utime(mark, (4e9, 4e9))  # the clock was wrong once
    cli.script(wire.exchange(wire.text("z")))
    done = cli.run("-p", "x", "--session", "new")
    assert "1 session not used for 30 days removed: old" in done.err
    assert [head.name for head in store(cli).list()] == ["new"]


def test_prune_removes_what_is_older_than_it_is_told(cli):
    say(cli, "hello", "yes", "--session", "new")
    old = SessionStore(store(cli).directory, clock=lambda: datetime(2020, 1, 1, tzinfo=UTC))
    with old.open("old") as session:
        session.append(user("x"))
    assert cli.run("sessions", "prune", "--days", "9").code == 1
    done = cli.run("sessions", "prune", "--days", "9", "--yes")
    assert done.out == "removed 1 session: old\n"
    assert [head.name for head in store(cli).list()] == ["new"]


def test_a_copy_in_another_directory_follows_and_never_overwrites_what_went_another_way(cli):
    say(cli, "hello", "yes", "--session", "one")
    there = cli.work / "shared"
    copy = ("sessions", "copy", "one", "--to", str(there))
    assert cli.run(*copy).out == f"copied one to {there}\n"
    assert cli.run(*copy).out == "one is there already, as it is here\n"
    say(cli, "more", "ok", "-r", "one")
    assert cli.run(*copy).out == f"copied one to {there}\n"
    assert SessionStore(there).load("one").messages == store(cli).load("one").messages
    with SessionStore(there).open("one") as session:
        session.append(user("said elsewhere"))
    say(cli, "even more", "ok", "-r", "one")
    refused = cli.run(*copy)
    assert refused.code == 1 and "another way" in refused.err
    assert SessionStore(there).load("one").messages[-1].text == "said elsewhere"
    assert cli.run(*copy, "--force").code == 0
    assert SessionStore(there).load("one").messages == store(cli).load("one").messages
    with store(cli).open("one"):
        assert cli.run(*copy).out == "one is there already, as it is here\n"
    with SessionStore(there).open("one"):
        say(cli, "again", "ok", "-r", "one")
        held = cli.run(*copy)
        assert held.code == 1 and "in use" in held.err


def test_a_mirror_is_written_anew_and_never_over_what_others_wrote(cli):
    say(cli, "hello", "yes", "--session", "one")
    cli.run("sessions", "rename", "one", "--title", "Mine")
    there = cli.work / "claude"
    done = cli.run("sessions", "mirror", "--to", str(there))
    assert (done.code, done.err) == (0, "")
    path = Path(done.out.strip())
    assert path.parent.parent == there / "projects"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["user", "assistant", "custom-title"]
    assert {line["sessionId"] for line in lines} == {path.stem}
    assert lines[0]["cwd"] == str(cli.work)
    say(cli, "more", "ok", "-r", "one")
    cli.extra["CLAUDE_CONFIG_DIR"] = str(there)
    assert cli.run("sessions", "mirror", "one").out == done.out
    assert len(path.read_text().splitlines()) == 5
    path.write_text('{"type":"user"}\n')
    refused = cli.run("sessions", "mirror", "one")
    assert refused.code == 1 and "others wrote it" in refused.err
    assert path.read_text() == '{"type":"user"}\n'
