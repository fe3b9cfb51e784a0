"""Sessions through the real command: begun, resumed, continued, cut off."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_common.codec import message_from_json
from caliban_common.history import TargetModel, close_open_calls, repair
from caliban_provider.testing.exchange import Pause
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator
from caliban_sessions import SessionStore

KILLS = int(os.environ.get("CALIBAN_KILLS", "12"))
TURNS = 30


def store(cli) -> SessionStore:
    return SessionStore(cli.home / ".local" / "share" / "caliban" / "sessions")


def texts(body) -> list[tuple[str, str]]:
    return [(m["role"], m["content"][0]["text"]) for m in body["messages"]]


def test_a_named_session_is_kept_and_resumed(cli):
    cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("two")))
    assert cli.run("-p", "first", "--session", "work").code == 0
    done = cli.run("-p", "second", "-r", "work", "--output-format", "json")
    assert done.json["session_id"] == "work"
    assert texts(cli.bodies()[1]) == [("user", "first"), ("assistant", "one"), ("user", "second")]


def test_b093_the_session_of_a_result_can_be_resumed_with_a_prompt_on_standard_input(cli):
    cli.script(*(wire.exchange(wire.text(word)) for word in ("one", "two", "three")))
    first = cli.run("-p", "first", "--output-format", "json")
    second = cli.run("-p", "--resume", first.json["session_id"], stdin=b"second")
    third = cli.run("-p", "-c", stdin=b"third")
    assert (second.out, third.out) == ("two\n", "three\n")
    assert texts(cli.bodies()[2])[2] == ("user", "second")


def test_the_session_file_is_json_for_people(cli):
    cli.script(wire.exchange(wire.text("one")))
    cli.run("-p", "first", "--session", "work")
    path = cli.home / ".local" / "share" / "caliban" / "sessions" / "work.json"
    data = json.loads(path.read_text())
    assert data["name"] == "work"
    assert [m["role"] for m in data["messages"]] == ["system", "user", "assistant"]
    assert path.read_text().count("\n") > 10
    assert path.stat().st_mode & 0o077 == 0


def test_no_save_leaves_no_trace(cli):
    cli.script(wire.exchange(wire.text("one")))
    done = cli.run("-p", "first", "--no-save", "--output-format", "json")
    assert done.json["session_id"] == "ephemeral"
    assert not (cli.home / ".local" / "share" / "caliban").exists()


def test_a_session_may_be_called_what_runs_without_one_are_called(cli):
    cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("two")))
    assert cli.run("-p", "first", "--session", "ephemeral").code == 0
    done = cli.run("-p", "second", "-r", "ephemeral", "--output-format", "json")
    assert done.json["session_id"] == "ephemeral"
    assert texts(cli.bodies()[1]) == [("user", "first"), ("assistant", "one"), ("user", "second")]


@pytest.mark.parametrize("name", ["../x", "a/b", "", "x" * 65, "ü"])
def test_a_session_name_outside_the_alphabet_is_refused(cli, name):
    done = cli.run("-p", "x", "--session", name)
    assert done.code != 0
    assert "Traceback" not in done.err
    assert cli.server.requests == ()


def test_a_damaged_session_file_is_named_and_kept(cli):
    directory = cli.home / "sessions"
    directory.mkdir()
    (directory / "bad.json").write_text('{"name": "bad", "messages": [')
    done = cli.run("-p", "x", "--session", "bad", "--sessions-dir", str(directory))
    assert done.code == 66
    assert "bad.json" in done.err
    assert (directory / "bad.json").read_text() == '{"name": "bad", "messages": ['


def test_a_session_in_use_is_refused_with_the_way_on(cli):
    session = store(cli).open("work", create=True, provider="anthropic", model="m")
    try:
        done = cli.run("-p", "x", "--session", "work")
    finally:
        session.close()
    assert done.code == 1
    assert "work" in done.err and "--no-save" in done.err
    assert cli.server.requests == ()


def test_a_full_disk_loses_neither_the_answer_nor_the_old_session(cli):
    cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("x" * 50_000)))
    assert cli.run("-p", "first", "--session", "work").code == 0
    before = store(cli).load("work").messages
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    process = cli.start("-p", "second", "--session", "work", preexec_fn=limit)
    out, err = process.communicate(timeout=HANG_S)
    assert out.decode() == "x" * 50_000 + "\n"
    assert process.returncode == 78
    assert b"not saved" in err
    assert store(cli).load("work").messages[: len(before)] == before


def test_signed_thinking_survives_a_resume(free_cli):
    cli = free_cli
    (cli.work / "f").write_text("x")
    cli.script(
        wire.exchange(
            wire.thinking("abc", signature="SIG1"),
            wire.redacted("CIPHER"),
            wire.tool_use("Read", {"path": "f"}),
        ),
        wire.exchange(wire.text("done")),
        wire.exchange(wire.text("again")),
    )
    cli.run("-p", "go", "--session", "work")
    cli.run("-p", "more", "--session", "work")
    for body in cli.bodies()[1:]:
        content = body["messages"][1]["content"]
        assert content[:2] == [
            {"type": "thinking", "thinking": "abc", "signature": "SIG1"},
            {"type": "redacted_thinking", "data": "CIPHER"},
        ]


@pytest.mark.long
@pytest.mark.slow
def test_kill_at_any_instant_loses_nothing_that_was_shown(cli, tmp_path: Path):
    """The process is killed at random instants; whatever message was printed is in the session afterwards."""
    (cli.work / "f").write_text("x")
    seed = random.Random(20261128)
    seen_cut = 0
    for number in range(KILLS):
        exchanges = [
            wire.exchange(wire.text(f"step {turn}"), wire.tool_use("Read", {"path": "f"}, id=f"t{turn}"))
            for turn in range(TURNS)
        ]
        place = seed.randrange(TURNS)
        if number % 3 == 0:  # of these it is certain that they are cut
            exchanges[place] = wire.broken(wire.text("never said"), after=3, end=Pause(HANG_S))
        with LoopbackServer(
            [*exchanges, wire.exchange(wire.text("end"))], validator=StrictValidator()
        ) as server:
            name = f"kill{number}"
            process = cli.start(
                "-p",
                "go",
                "--session",
                name,
                "--output-format",
                "stream-json",
                env={"ANTHROPIC_BASE_URL": server.url},
            )
            assert server.wait_for(lambda s: len(s.requests) > place)  # noqa: B023 - it is called at once
            time.sleep(seed.random() * 0.02)
            process.kill()
            out = process.communicate(timeout=HANG_S)[0]
        frames = [json.loads(line) for line in out.splitlines() if line.endswith(b"}")]
        shown = [f["content"][0]["text"] for f in frames if f["type"] == "message"]
        state = store(cli).load(name)
        kept = [m.text for m in state.messages if m.role == "assistant"]
        assert kept[: len(shown)] == shown
        reader = TargetModel(family="anthropic", model="claude-sonnet-4-6")
        history = repair(close_open_calls(state.messages), reader)
        for message, follower in pairwise(history):
            calls = [call.id for call in message.tool_uses]
            assert [r.tool_use_id for r in follower.tool_results][: len(calls)] == calls
        seen_cut += len(kept) < TURNS
        cli.script(wire.exchange(wire.text("resumed")))
        done = cli.run("-p", "go on", "-r", name)
        assert (done.code, done.out) == (0, "resumed\n"), done.err
    assert seen_cut > 0


def test_a_result_that_was_shown_outlives_a_kill_and_the_call_beside_it_was_interrupted(cli, is_gone):
    calls = (
        wire.tool_use("Write", {"path": "made.txt", "content": "made"}, id="t_write"),
        wire.tool_use(
            "Bash", {"command": "echo $$ > pid; exec sleep 600", "timeout_seconds": 600}, id="t_sleep"
        ),
    )
    cli.script(wire.exchange(*calls))
    process = cli.start(
        "-p", "go", "--session", "killed", "--output-format", "stream-json",
        "--permission-mode", "acceptEdits", "--allow", "Bash",
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "tool_result":
            break
    process.kill()
    process.communicate(timeout=HANG_S)
    assert (cli.work / "made.txt").read_text() == "made"
    kept = {r.tool_use_id: r for m in store(cli).load("killed").messages for r in m.tool_results}
    assert not kept["t_write"].is_error and kept["t_sleep"].is_error
    cli.script(wire.exchange(wire.text("resumed")))
    done = cli.run("-p", "go on", "-r", "killed")
    assert (done.code, done.out) == (0, "resumed\n"), done.err
    results = {
        block["tool_use_id"]: (block.get("is_error", False), str(block["content"]))
        for message in cli.bodies()[-1]["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert not results["t_write"][0] and "made.txt" in results["t_write"][1]
    assert results["t_sleep"][0] and "interrupted" in results["t_sleep"][1]
    pid = cli.work / "pid"
    assert not pid.exists() or is_gone(int(pid.read_text()))


def test_the_session_messages_read_back_as_they_were(cli):
    cli.script(wire.exchange(wire.text("one")))
    cli.run("-p", "first", "--session", "work")
    path = cli.home / ".local" / "share" / "caliban" / "sessions" / "work.json"
    raw = [message_from_json(item) for item in json.loads(path.read_text())["messages"]]
    assert [m.text for m in raw] == [m.text for m in store(cli).load("work").messages]


def test_two_runs_in_different_sessions_do_not_disturb_each_other(cli):
    cli.script(wire.exchange(wire.text("a")), wire.exchange(wire.text("a")))
    processes = [cli.start("-p", "x", "--session", name) for name in ("one", "two")]
    assert [p.communicate(timeout=HANG_S)[0] for p in processes] == [b"a\n", b"a\n"]
    assert {head.name for head in store(cli).list()} == {"one", "two"}


def system_of(body) -> str:
    return "".join(block["text"] for block in body["system"])


def test_a_resumed_session_is_told_where_it_works_now(cli):
    (cli.work / "sub").mkdir()
    cli.script(*(wire.exchange(wire.text("x")) for _ in range(3)))
    cli.run("-p", "a", "--session", "work")
    cli.run("-p", "b", "-r", "work", "--workspace", "sub")
    cli.run("-p", "c", "-r", "work", "--no-tools")
    assert [str(cli.work / "sub") in system_of(body) for body in cli.bodies()] == [False, True, False]
    assert "calling tools" not in system_of(cli.bodies()[2])


def test_a_system_prompt_of_ones_own_outlives_a_resume(cli):
    cli.script(*(wire.exchange(wire.text("x")) for _ in range(4)))
    cli.run("-p", "a", "--session", "pirate", "--system", "Speak like a pirate.")
    cli.run("-p", "b", "-r", "pirate")
    cli.run("-p", "a", "--session", "bare", "--no-system")
    cli.run("-p", "b", "-r", "bare")
    assert system_of(cli.bodies()[1]) == "Speak like a pirate."
    assert "system" not in cli.bodies()[3]


def test_a_session_goes_on_with_the_model_it_was_used_with_last(cli):
    cli.script(*(wire.exchange(wire.text("x")) for _ in range(3)))
    cli.run("-p", "a", "--session", "work")
    cli.run("-p", "b", "-r", "work", "--model", "claude-haiku-4-5")
    cli.run("-p", "c", "-r", "work")
    assert [body["model"] for body in cli.bodies()[1:]] == ["claude-haiku-4-5"] * 2


def test_naming_the_provider_of_a_session_keeps_its_model(cli):
    cli.script(*(wire.exchange(wire.text("x")) for _ in range(2)))
    cli.run("-p", "a", "--session", "work", "--model", "claude-opus-4-1")
    cli.run("-p", "b", "-r", "work", "--provider", "anthropic")
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-1"] * 2


@pytest.mark.parametrize("place", ["file", "missing parent"])
def test_sessions_that_cannot_be_stored_are_a_matter_of_configuration(cli, place):
    (cli.work / "file").write_text("x")
    directory = {"file": "file", "missing parent": "file/sub"}[place]
    done = cli.run("-p", "hi", "--sessions-dir", directory)
    assert done.code == 78
    assert "--no-save" in done.err
    assert cli.server.requests == ()


def test_what_a_failed_run_cost_is_in_the_session(cli):
    cli.script(*[wire.broken(wire.text("partial words"), after=4)] * 3)
    assert cli.run("-p", "hi", "--session", "work").code == 1
    state = store(cli).load("work")
    assert [message.role for message in state.messages] == ["system", "user", "assistant"]
    assert state.total_usage.input_tokens > 0


def test_a_resumed_session_still_knows_the_summary_of_what_was_before(cli):
    long = "word " * 4000

    def answer(request):
        is_summary = b"You keep the memory of a software agent" in request.body
        return wire.exchange(wire.text("MARK-7" if is_summary else long))

    with LoopbackServer(answer) as server:
        env, settings = {"ANTHROPIC_BASE_URL": server.url}, '{"auto_compact_threshold": 0.02}'
        for number in range(6):
            flags = ("-p", f"{number} {long}", "--session", "s", "--settings", settings)
            assert cli.run(*flags, env=env).code == 0
        assert cli.run("-p", "and?", "--resume", "s", env=env).code == 0
        summarised = ["MARK-7" in json.dumps(request.json.get("system")) for request in server.requests]
    assert summarised[-1]
    assert not all(summarised)


def test_a_run_that_was_given_no_prompt_is_not_what_continue_goes_on_with(cli):
    cli.script(wire.exchange(wire.text("one")), wire.exchange(wire.text("two")))
    cli.run("-p", "first", "--session", "real")
    frames = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
    assert cli.run(*frames, stdin=b"garbage\n").code == 64
    assert cli.run(*frames, stdin=b"").code == 66
    listed = cli.run("sessions", "list", "--json")
    assert [json.loads(line)["name"] for line in listed.out.splitlines()] == ["real"]
    assert cli.run("-c", "-p", "second", "--output-format", "json").json["session_id"] == "real"
