"""Calls that wait for a person, answered by another process."""

from __future__ import annotations

import json

import pytest

from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
DEFER = ("--defer-approvals",)
DONE = wire.text("done")


def left_behind(cli, *commands: str, flags=(), more=()) -> list[dict[str, object]]:
    """The calls that a first run leaves in the session `s`."""
    uses = [
        wire.tool_use("Bash", {"command": command}, id=f"toolu_{number}")
        for number, command in enumerate(commands)
    ]
    cli.script(wire.exchange(*uses, *more))
    done = cli.run("-p", "go", "--session", "s", *DEFER, *STREAM, *flags)
    result = done.frames[-1]
    assert (done.code, result["subtype"]) == (1, "error")
    assert "to be approved later" in result["error"]
    return result["pending_approvals"]


def answer(cli, *flags: str, prompt: tuple[str, ...] = ("-p",)):
    return cli.run(*prompt, "-r", "s", *STREAM, *flags)


def test_an_approved_call_runs_in_another_process_and_the_run_goes_on(cli):
    (call,) = left_behind(cli, "touch made")
    assert (call["tool_name"], call["tool_input"]) == ("Bash", {"command": "touch made"})
    assert not (cli.work / "made").exists()
    cli.script(wire.exchange(DONE))
    done = answer(cli, "--approve", call["approval"])
    assert (done.code, done.frames[-1]["result"]) == (0, "done")
    assert (cli.work / "made").exists()
    last = cli.bodies()[-1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert last[-1]["content"][0]["tool_use_id"] == "toolu_0"
    log = [
        json.loads(line)
        for path in (cli.home / ".local" / "state" / "caliban").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert [(row["action"], row["decided_by"]) for row in log] == [("ask", "person"), ("allow", "person")]


def test_a_rejected_call_is_denied_and_the_model_goes_on(cli):
    (call,) = left_behind(cli, "touch made")
    cli.script(wire.exchange(DONE))
    done = answer(cli, "--reject", call["approval"])
    assert done.frames[-1]["permission_denials"][0]["reason"] == "the user said no"
    assert not (cli.work / "made").exists()


def test_the_words_of_a_plain_run_name_the_call_and_how_to_go_on(cli):
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="toolu_0")))
    done = cli.run("-p", "go", "--session", "s", *DEFER)
    assert "  toolu_0:" in done.err and 'Bash {"command": "touch made"}' in done.err
    assert "hint: caliban -r s -p --approve CALL, or --reject CALL" in done.err


def test_of_several_calls_those_that_need_nobody_run_at_once(cli):
    calls = left_behind(cli, "touch a", "echo free", "touch b", flags=("--allow", "Bash:echo *"))
    assert [call["tool_use_id"] for call in calls] == ["toolu_0", "toolu_2"]
    assert answer(cli, "--approve", calls[0]["approval"]).code == 64
    cli.script(wire.exchange(DONE))
    done = answer(cli, "--approve", calls[0]["approval"], "--reject", calls[1]["approval"])
    assert done.code == 0
    assert (cli.work / "a").exists() and not (cli.work / "b").exists()


def test_one_may_be_answered_and_the_other_left_waiting(cli):
    first, second = left_behind(cli, "touch a", "touch b")
    done = answer(cli, "--approve", first["approval"], *DEFER)
    assert [call["tool_use_id"] for call in done.frames[-1]["pending_approvals"]] == ["toolu_1"]
    assert (cli.work / "a").exists() and not (cli.work / "b").exists()
    assert answer(cli, "--approve", first["approval"]).code == 64
    cli.script(wire.exchange(DONE))
    assert answer(cli, "--approve", second["approval"]).code == 0
    assert (cli.work / "b").exists()


def test_an_approval_is_of_what_was_shown(cli):
    (call,) = left_behind(cli, "touch made")
    session = next((cli.home / ".local" / "share" / "caliban" / "sessions").rglob("s.json"))
    session.write_text(session.read_text().replace("touch made", "touch evil"))
    done = answer(cli, "--approve", call["approval"])
    assert done.code == 64
    assert "waits in the session 's'" in done.err
    assert not (cli.work / "evil").exists()


def test_a_deny_that_was_written_meanwhile_holds(cli):
    (call,) = left_behind(cli, "touch made")
    cli.script(wire.exchange(DONE))
    done = answer(cli, "--approve", call["approval"], "--deny", "Bash:touch *")
    assert "denied by the rule Bash:touch *" in done.frames[-1]["permission_denials"][0]["reason"]
    assert not (cli.work / "made").exists()


def test_another_prompt_gives_the_call_up(cli):
    (call,) = left_behind(cli, "touch made")
    cli.script(wire.exchange(DONE))
    done = answer(cli, prompt=("-p", "never mind"))
    assert done.code == 0
    assert "given up" in done.err
    assert answer(cli, "--approve", call["approval"]).code == 64
    assert not (cli.work / "made").exists()


def test_what_is_asked_after_the_answer_is_denied_or_left_behind(cli):
    (call,) = left_behind(cli, "touch made")
    more = wire.exchange(wire.tool_use("Bash", {"command": "touch more"}, id="toolu_9"))
    cli.script(more, wire.exchange(DONE))
    done = answer(cli, "--approve", call["approval"])
    assert "Nobody can be asked here" in done.frames[-1]["permission_denials"][0]["reason"]
    assert (cli.work / "made").exists() and not (cli.work / "more").exists()


def test_a_call_of_a_killed_run_cannot_be_approved(cli):
    call = wire.tool_use("Bash", {"command": "touch made"}, id="toolu_0")
    cli.script(wire.exchange(call), wire.exchange(DONE))
    assert cli.run("-p", "go", "--session", "s").code == 0
    done = answer(cli, "--approve", "toolu_0:000000000000")
    assert done.code == 64
    assert "no call does" in done.err


def test_a_sub_agents_call_cannot_wait(cli):
    cli.script(
        wire.exchange(wire.tool_use("Agent", {"description": "d", "prompt": "p"}, id="toolu_a")),
        wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="toolu_b")),
        wire.exchange(wire.text("told")),
        wire.exchange(DONE),
    )
    done = cli.run("-p", "go", "--session", "s", *DEFER, *STREAM, "--allow", "Agent")
    assert done.code == 0 and len(done.frames[-1]["permission_denials"]) == 1
    assert not (cli.work / "made").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-p", "--approve", "x"), "a call that waits in a session"),
        (("-p", "go", "-r", "s", "--approve", "x"), "leave the prompt out"),
        (("-p", "go", "--defer-approvals", "--no-save"), "leave --no-save out"),
        (("-p", "go", "--defer-approvals", "--record", "t"), "--record cannot keep"),
        (("-p", "-r", "s", "--fork-session", "--approve", "x"), "a call that waits in a session"),
    ],
)
def test_flags_that_make_no_sense_are_refused(cli, flags, words):
    done = cli.run(*flags)
    assert done.code == 64
    assert words in done.err
    assert cli.bodies() == []
