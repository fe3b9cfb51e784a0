"""`--fork-session` through the real command: on from an old conversation, in a new session."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_common.message import Message, ToolUseBlock, assistant, user
from caliban_provider.testing.exchange import Exchange, Pause, Send
from caliban_provider_anthropic.testing import wire
from caliban_sessions import ForkOrigin, SessionStore


def directory(cli) -> Path:
    return cli.home / ".local" / "share" / "caliban" / "sessions"


def store(cli) -> SessionStore:
    return SessionStore(directory(cli))


def files(cli, name: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory(cli).glob(f"{name}.*")}


def texts(body) -> list[str]:
    return [message["content"][0]["text"] for message in body["messages"]]


def said(cli, *words: str) -> None:
    cli.script(*(wire.exchange(wire.text(word)) for word in words))


def test_a_fork_goes_on_in_a_session_of_the_given_name_and_the_old_one_stays(cli):
    said(cli, "one", "two", "three", "four")
    cli.run("-p", "first", "--session", "old")
    kept = files(cli, "old")
    done = cli.run(
        "-p", "second", "-r", "old", "--fork-session", "--session", "new", "--output-format", "stream-json"
    )
    assert done.code == 0, done.err
    assert files(cli, "old") == kept
    [init] = [f for f in done.of("system") if f["subtype"] == "init"]
    assert (init["session_id"], done.of("result")[0]["session_id"]) == ("new", "new")
    assert texts(cli.bodies()[1]) == ["first", "one", "second"]
    old = store(cli).load("old")
    assert store(cli).load("new").forked_from == ForkOrigin(
        session="old", id=old.id, entry=old.messages[-1].id
    )
    cli.run("-p", "third", "-r", "new")
    cli.run("-p", "other", "-r", "old")
    assert texts(cli.bodies()[2]) == ["first", "one", "second", "two", "third"]
    assert texts(cli.bodies()[3]) == ["first", "one", "other"]


@pytest.mark.parametrize("how", [("-c",), ("-r", "old"), ("--resume=old",)])
def test_a_fork_without_a_name_gets_a_fresh_one(cli, how):
    said(cli, "one", "two")
    cli.run("-p", "first", "--session", "old")
    done = cli.run("-p", "second", *how, "--fork-session", "--output-format", "json")
    name = done.json["session_id"]
    assert name not in ("old", "ephemeral")
    assert {head.name for head in store(cli).list()} == {"old", name}
    assert store(cli).latest() == name
    assert texts(cli.bodies()[1]) == ["first", "one", "second"]


def test_a_fork_goes_on_with_the_model_of_the_old_session_and_a_flag_changes_only_the_new_one(cli):
    said(cli, "one", "two", "three")
    cli.run("-p", "first", "--session", "old", "--model", "claude-opus-4-1")
    cli.run("-p", "x", "-r", "old", "--fork-session")
    cli.run("-p", "x", "-r", "old", "--fork-session", "--session", "new", "--model", "claude-haiku-4-5")
    assert [body["model"] for body in cli.bodies()] == [
        "claude-opus-4-1",
        "claude-opus-4-1",
        "claude-haiku-4-5",
    ]
    assert (store(cli).load("old").model, store(cli).load("new").model) == (
        "claude-opus-4-1",
        "claude-haiku-4-5",
    )


def test_a_session_that_another_run_holds_is_refused_with_a_fork_offered_and_can_be_forked(cli):
    """The held run waits in the middle of its reply: it is alive, its session locked and unfinished."""
    first, *rest = wire.reply(wire.text("slow"))
    go_on = Pause(HANG_S)
    held = Exchange(
        headers={"content-type": "text/event-stream"}, steps=(Send(first), go_on, *map(Send, rest))
    )
    cli.script(wire.exchange(wire.text("one")), held, wire.exchange(wire.text("forked")))
    cli.run("-p", "first", "--session", "old")
    holder = cli.start("-p", "second", "-r", "old")
    try:
        assert cli.server.wait_for(lambda server: len(server.requests) == 2)
        refused = cli.run("-p", "third", "-r", "old")
        assert (refused.code, refused.out) == (1, "")
        assert f"in use by process {holder.pid}" in refused.err
        assert "-r old --fork-session" in refused.err
        done = cli.run("-p", "third", "-r", "old", "--fork-session", "--session", "new")
        assert (done.code, done.out) == (0, "forked\n"), done.err
        assert holder.poll() is None
    finally:
        holder.kill()
        holder.communicate(timeout=HANG_S)
    forked = [message.text for message in store(cli).load("new").messages if message.role != "system"]
    assert forked == ["first", "one", "second", "third", "forked"]
    assert [m.text for m in store(cli).load("old").messages if m.role != "system"] == forked[:3]


def test_a_call_without_its_result_is_closed_in_the_fork_only(cli):
    with store(cli).open("old", provider="anthropic", model="claude-sonnet-4-6") as session:
        call = ToolUseBlock(id="toolu_1", name="Read", input={"path": "f"})
        session.append(user("go"))
        session.append(Message(role="assistant", content=(call,)))
    kept = files(cli, "old")
    said(cli, "ok")
    done = cli.run("-p", "on", "-r", "old", "--fork-session", "--session", "new")
    assert (done.code, done.out) == (0, "ok\n"), done.err
    results = [b for b in cli.bodies()[0]["messages"][2]["content"] if b["type"] == "tool_result"]
    assert [b["tool_use_id"] for b in results] == ["toolu_1"]
    assert files(cli, "old") == kept


def test_a_torn_session_is_forked_as_far_as_it_can_be_read(cli):
    with store(cli).open("old", provider="anthropic", model="claude-sonnet-4-6") as session:
        session.append(user("first"))
        session.append(assistant("one"))
        torn = (directory(cli) / "old.journal").read_bytes()[:-5]
    (directory(cli) / "old.json").unlink()
    (directory(cli) / "old.journal").write_bytes(torn)
    said(cli, "ok")
    done = cli.run("-p", "on", "-c", "--fork-session", "--session", "new")
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert (directory(cli) / "old.journal").read_bytes() == torn


def test_a_fork_that_is_not_saved_leaves_no_trace(cli):
    said(cli, "one", "two")
    cli.run("-p", "first", "--session", "old")
    before = sorted(os.listdir(directory(cli)))
    done = cli.run("-p", "x", "-r", "old", "--fork-session", "--no-save", "--output-format", "json")
    assert (done.json["result"], done.json["session_id"]) == ("two", "ephemeral")
    assert texts(cli.bodies()[1]) == ["first", "one", "x"]
    assert sorted(os.listdir(directory(cli))) == before


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--fork-session"], 64, "--resume NAME or --continue"),
        (["--fork-session", "--session", "new"], 64, "caliban -r OLD --fork-session [--session NEW]"),
        (["--fork-session", "-c", "-r", "old"], 64, "one session to fork"),
        (["--fork-session", "-r", "old", "--session", "old"], 64, "not that of the old session 'old'"),
        (["--fork-session", "-r", "old", "--session", "taken"], 64, "'taken' already"),
        (["--fork-session", "-c", "--session", "old"], 64, "'old' already"),
        (["--fork-session", "-r", "old", "--session", "../x"], 64, "cannot name a session"),
        (["--fork-session", "-r", "old", "--session", ""], 64, "--session"),
        (["--fork-session", "-r", "gone"], 66, "there is no session 'gone'"),
        (["--fork-session", "-r", "bad"], 66, "bad.json"),
        (["--fork-session=yes", "-r", "old"], 64, "--fork-session"),
        (["-r", "old", "--session", "new"], 64, "with --fork-session, --session names the new session"),
    ],
)
def test_what_cannot_be_forked_is_told_and_changes_nothing(cli, flags, code, words):
    for name in ("taken", "old"):
        with store(cli).open(name, provider="anthropic", model="m") as session:
            session.note(model="claude-sonnet-4-6")
    (directory(cli) / "bad.json").write_text("{")
    before = {path.name: path.read_bytes() for path in directory(cli).iterdir()}
    done = cli.run("-p", "x", *flags, "--output-format", "json")
    assert (done.code, words in done.err) == (code, True), done.err
    assert json.loads(done.out)["is_error"] is True
    assert cli.server.requests == ()
    assert {path.name: path.read_bytes() for path in directory(cli).iterdir()} == before


def test_continue_and_fork_with_no_session_at_all_says_so(cli):
    done = cli.run("-p", "x", "-c", "--fork-session")
    assert (done.code, "no sessions to continue" in done.err) == (66, True)


def test_help_tells_of_it(cli):
    assert "--fork-session" in cli.run("--help").out
