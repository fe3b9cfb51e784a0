"""Tasks, plan mode and questions through the real command, in the session and in the frames."""

from __future__ import annotations

import json
import re
import signal

import pytest
from hang_guard import HANG_S, wait_until
from test_tool_loop import results

from caliban_provider.testing.exchange import Pause
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("done"))
STREAM = ("--output-format", "stream-json")
WRITE = wire.tool_use("Write", {"path": "made", "content": "x"})
PLAN = wire.tool_use("ExitPlanMode", {"plan": "1. write made"})


def saved(cli) -> dict:
    return json.loads((cli.home / ".local/share/caliban/sessions/s.json").read_text())


def say(cli, *replies, flags=()):
    """One prompt to the session `s`, answered by a call per reply."""
    cli.script(*(wire.exchange(reply) for reply in replies), DONE)
    return cli.run("-p", "go", "--session", "s", *STREAM, *flags)


def test_the_list_of_tasks_is_kept_in_the_session_and_shown_as_a_call(cli):
    todos = [{"id": "a", "content": "look", "status": "completed"}]
    done = say(cli, wire.tool_use("TodoWrite", {"todos": todos}, id="t1"))
    assert results(cli) == ["→ TodoWrite: 1 total (1 completed)"]
    assert saved(cli)["todos"] == todos
    (use,), (result,) = done.of("tool_use"), done.of("tool_result")
    assert (use["name"], result["is_error"]) == ("TodoWrite", False)
    say(cli, wire.tool_use("TodoWrite", {"todos": []}))
    assert saved(cli)["todos"] == []


def test_the_list_is_masked_like_everything_that_is_kept(cli):
    key = "sk-ant-" + "k" * 40
    cli.extra["ANTHROPIC_API_KEY"] = key
    say(cli, wire.tool_use("TodoWrite", {"todos": [{"content": f"use {key}", "status": "pending"}]}))
    assert key not in json.dumps(saved(cli)) and saved(cli)["todos"]


def test_plan_mode_of_the_models_own_is_left_where_nobody_can_be_asked(cli):
    enter = wire.tool_use("EnterPlanMode", {})
    done = say(cli, enter, WRITE, PLAN, WRITE, flags=("--permission-mode", "acceptEdits"))
    assert "Plan mode is on" in results(cli, 1)[0]
    assert "not available in plan mode" in results(cli, 2)[0] and "ExitPlanMode" in results(cli, 2)[0]
    assert "Plan mode is off" in results(cli, 3)[0]
    assert "Wrote made" in results(cli, 4)[0] and (cli.work / "made").exists()
    assert (done.code, saved(cli)["plan_mode"]) == (0, False)


def test_what_stands_behind_the_beginning_of_plan_mode_in_one_reply_is_held_by_it(cli):
    enter = wire.tool_use("EnterPlanMode", {}, id="t1")
    before, behind = (
        wire.tool_use("Write", {"path": name, "content": "x"}, id=name) for name in ("before", "made")
    )
    cli.script(wire.exchange(before, enter, behind), DONE)
    cli.run("-p", "go", "--session", "s", *STREAM, "--permission-mode", "acceptEdits")
    texts = results(cli, 1)
    assert "Wrote before" in texts[0] and "Plan mode is on" in texts[1]
    assert "not available in plan mode" in texts[2]
    assert (cli.work / "before").exists() and not (cli.work / "made").exists()


def test_a_plan_that_a_person_asked_for_is_approved_by_the_next_run(cli):
    done = say(cli, PLAN, WRITE, flags=("--permission-mode", "plan", "--allow", "ExitPlanMode"))
    denial = results(cli, 1)[0]
    assert "needs the user's approval" in denial and "--permission-mode acceptEdits" in denial
    assert not (cli.work / "made").exists()
    assert [one["tool_name"] for one in done.frames[-1]["permission_denials"]] == ["ExitPlanMode", "Write"]
    say(cli, WRITE, flags=("--permission-mode", "acceptEdits"))
    assert (cli.work / "made").exists()


def test_a_session_that_was_left_in_plan_mode_goes_on_in_it_until_a_flag_says_otherwise(cli):
    say(cli, wire.tool_use("EnterPlanMode", {}))
    assert saved(cli)["plan_mode"] is True
    cli.configure('[permissions]\ndefault_mode = "acceptEdits"\n')
    again = say(cli, WRITE, PLAN)
    assert again.frames[0]["permission_mode"] == "plan"
    assert "the session is in plan mode" in again.err
    assert not (cli.work / "made").exists() and saved(cli)["plan_mode"] is True
    say(cli, WRITE, flags=("--permission-mode", "acceptEdits"))
    assert (cli.work / "made").exists() and saved(cli)["plan_mode"] is False


def test_a_question_is_declined_without_a_person(cli):
    done = say(cli, wire.tool_use("AskUser", {"questions": [{"question": "Which?", "options": ["a"]}]}))
    assert results(cli)[0].startswith("Declined: nobody is here to answer")
    assert done.of("tool_result")[0]["is_error"] is True


@pytest.mark.parametrize("name", ["TodoWrite", "EnterPlanMode", "ExitPlanMode", "AskUser"])
def test_a_tool_that_rules_deny_is_neither_offered_nor_run(cli, name):
    cli.script(DONE)
    cli.run("-p", "go", "--deny", name)
    assert name not in [tool["name"] for tool in cli.bodies()[0]["tools"]]


def test_a_background_command_is_read_killed_and_gone_with_the_run(cli, is_gone):
    line = "echo $$ > pid; sleep 600 & echo $! > child; echo up; wait"
    looks = (("BashOutput", {}), ("BashOutput", {"since_offset": 0}), ("KillShell", {}))

    def reply(request):
        turn = len(request.json["messages"]) // 2
        if turn == 0:
            return wire.exchange(wire.tool_use("Bash", {"command": line, "run_in_background": True}))
        if turn > len(looks):
            return DONE
        wait_until(lambda: (cli.work / "child").exists() and (cli.work / "child").read_text().strip())
        name, args = looks[turn - 1]
        id = re.search("shell_id ([0-9a-f]{12})", json.dumps(request.json["messages"][2]))[1]
        return wire.exchange(wire.tool_use(name, {"shell_id": id, **args}))

    with LoopbackServer(reply) as server:
        cli.server = server
        done = cli.run("-p", "go", *STREAM, "--allow", "Bash")
        assert done.code == 0
        assert "→ Runs in the background as shell_id" in results(cli, 1)[0]
        assert "→ Bytes 0-3 of 3\nup" in results(cli, 3)[0]
        assert ": killed after" in results(cli, 4)[0]
    assert is_gone(int((cli.work / "pid").read_text())) and is_gone(int((cli.work / "child").read_text()))


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_background_command_outlives_its_run_however_that_ends(cli, is_gone, number):
    line = "echo $$ > pid; setsid sleep 600 & echo $! > child; wait"
    last = DONE if number is None else wire.broken(wire.text("on"), after=2, end=Pause(HANG_S))
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": line, "background": True})), last)
    process = cli.start("-p", "go", "--allow", "Bash")
    wait_until(lambda: (cli.work / "child").exists() and (cli.work / "child").read_text().strip())
    if number is not None:
        process.send_signal(number)
    process.communicate(timeout=HANG_S)
    assert is_gone(int((cli.work / "pid").read_text())) and is_gone(int((cli.work / "child").read_text()))


def test_a_background_command_needs_the_same_leave_as_any_other(cli):
    say(cli, wire.tool_use("Bash", {"command": "touch made", "background": True}))
    assert results(cli)[0].startswith("Tool call denied:") and not (cli.work / "made").exists()


def todo(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status}


@pytest.mark.parametrize(
    ("name", "args", "line"),
    [
        (
            "TodoWrite",
            {"todos": [todo("look"), todo("mend\nit", "in_progress"), todo("test")]},
            "3 todos: mend it",
        ),
        ("TodoWrite", {"tasks": [todo("look")]}, "1 todo"),
        ("TodoWrite", {"todos": []}, "0 todos"),
        ("TodoWrite", {"todos": 7}, ""),
        ("TodoWrite", {"todos": [7, None, {"status": "in_progress", "content": 7}]}, "3 todos"),
        (
            "AskUser",
            {"questions": [{"question": "Which one?"}, {"question": "Why?"}]},
            "2 questions: Which one?",
        ),
        ("EnterPlanMode", {}, ""),
    ],
)
def test_a_person_reads_in_a_line_what_a_call_is_about(cli, name, args, line):
    cli.script(wire.exchange(wire.tool_use(name, args, id="t1")), wire.exchange(wire.text("Done.")))
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == f"[{f'{name} {line}'.strip()}]"
