"""Asking over standard input and output, as the program on the other end of the pipes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_provider_anthropic.testing import wire

FLAGS = (
    *("--input-format", "stream-json", "--output-format", "stream-json"),
    *("--permission-prompt-tool", "stdio"),
)
DONE = wire.text("done")
TOUCH = {"command": "touch made"}
LS = {"command": "touch listed"}


class Host:
    """Reads frames, writes frames; `stderr` is there after the end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.frames: list[dict[str, Any]] = []
        self.err = ""

    def say(self, frame: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((frame if isinstance(frame, bytes) else json.dumps(frame).encode()) + b"\n")
        self.process.stdin.flush()

    def prompt(self, text: str = "go") -> None:
        self.say({"type": "user", "content": text})

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.frames.append(json.loads(line))
            if wanted(self.frames[-1]):
                return self.frames[-1]
        raise AssertionError(f"it ended: {self.frames} {self.end()}")

    def asked(self) -> dict[str, Any]:
        return self.until(lambda frame: frame["type"] == "control_request")

    def result(self) -> dict[str, Any]:
        return self.until(lambda frame: frame["type"] == "result")

    def answer(self, asked: dict[str, Any], body: object, **outer: object) -> None:
        response = {"subtype": "success", "request_id": asked["request_id"], "response": body, **outer}
        self.say({"type": "control_response", "response": response})

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def end(self) -> int:
        out, err = self.process.communicate(timeout=HANG_S)
        self.frames += [json.loads(line) for line in out.splitlines()]
        self.err = err.decode()
        return self.process.returncode


@contextmanager
def hosted(cli, *flags: str) -> Iterator[Host]:
    process = cli.begin(*FLAGS, *flags, stdin=subprocess.PIPE)
    host = Host(process)
    try:
        yield host
    finally:
        process.kill()
        process.wait(timeout=HANG_S)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                with suppress(BrokenPipeError):
                    pipe.close()


def warnings(host: Host) -> list[str]:
    return [frame["message"] for frame in host.frames if frame["type"] == "warning"]


def one_call(cli, call=None, *more) -> None:
    use = wire.tool_use("Bash", call or TOUCH, id="toolu_1")
    cli.script(wire.exchange(use), *more, wire.exchange(DONE))


def test_a_question_is_asked_behind_its_call_and_an_allow_runs_it(cli):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        asked = host.asked()
        assert [frame["type"] for frame in host.frames[-2:]] == ["tool_use", "control_request"]
        request = asked["request"]
        assert request["subtype"] == "can_use_tool"
        assert (request["tool_name"], request["input"], request["tool_use_id"]) == ("Bash", TOUCH, "toolu_1")
        assert "covered by no allow rule" in request["decision_reason"]
        (update,) = request["permission_suggestions"]
        assert update == {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "touch made"}],
            "behavior": "allow",
            "destination": "session",
        }
        assert not (cli.work / "made").exists()
        host.answer(asked, {"behavior": "allow", "updatedInput": TOUCH})
        assert host.result()["subtype"] == "success"
        host.hang_up()
        assert host.end() == 0
    assert (cli.work / "made").exists()
    record = json.loads(next((cli.home / ".local" / "state" / "caliban").rglob("*.jsonl")).read_text())
    assert (record["action"], record["decided_by"]) == ("allow", "person")


def test_a_deny_tells_the_model_why(cli):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        host.answer(host.asked(), {"behavior": "deny", "message": "not on a Sunday"})
        result = host.result()
    assert result["permission_denials"][0]["reason"] == "not on a Sunday"
    assert not (cli.work / "made").exists()
    assert "not on a Sunday" in json.dumps(cli.bodies()[1]["messages"][-1])


def test_a_deny_may_end_the_run_and_the_session_goes_on(cli):
    cli.script(wire.exchange(wire.tool_use("Bash", TOUCH, id="toolu_1")), wire.exchange(DONE))
    with hosted(cli) as host:
        host.prompt()
        host.answer(host.asked(), {"behavior": "deny", "message": "stop", "interrupt": True})
        assert host.result()["subtype"] == "cancelled"
        host.prompt("again")
        assert host.result()["subtype"] == "success"
    assert len(cli.bodies()) == 2 and not (cli.work / "made").exists()


@pytest.mark.parametrize(
    ("changed", "runs", "words"),
    [
        pytest.param("touch other", True, "", id="asked-about"),
        pytest.param("echo fine", True, "", id="allowed"),
        pytest.param("sudo touch made", False, "denied by the rule Bash:~sudo *", id="denied"),
        pytest.param("touch x && sudo id", False, "denied by the rule Bash:~sudo *", id="denied-behind"),
    ],
)
def test_a_changed_input_is_judged_again(cli, changed, runs, words):
    one_call(cli)
    with hosted(cli, "--deny", "Bash:~sudo *") as host:
        host.prompt()
        host.answer(host.asked(), {"behavior": "allow", "updatedInput": {"command": changed}})
        result = host.result()
    assert not (cli.work / "made").exists()
    denials = result["permission_denials"]
    assert bool(denials) != runs
    if denials:
        assert words in denials[0]["reason"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(None, id="none"),
        pytest.param("allow", id="text"),
        pytest.param({}, id="empty"),
        pytest.param({"behavior": "Allow"}, id="other-word"),
        pytest.param({"behavior": ["allow"]}, id="list"),
        pytest.param({"behavior": "allow", "updatedInput": "touch made"}, id="input-text"),
        pytest.param({"behavior": "allow", "updatedInput": []}, id="input-list"),
        pytest.param({"behavior": "allow", "toolUseID": "toolu_2"}, id="other-call"),
        pytest.param({"behavior": "deny"}, id="deny-without-words"),
        pytest.param({"behavior": "deny", "message": 7}, id="deny-number"),
    ],
)
def test_what_is_no_clear_yes_denies(cli, body):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        host.answer(host.asked(), body)
        assert len(host.result()["permission_denials"]) == 1
    assert not (cli.work / "made").exists()


def test_an_error_of_the_other_end_denies(cli):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        host.answer(host.asked(), None, subtype="error", error="callback raised")
        assert "callback raised" in host.result()["permission_denials"][0]["reason"]
    assert not (cli.work / "made").exists()


def test_foreign_late_and_double_answers_change_nothing(cli):
    cli.script(
        wire.exchange(wire.tool_use("Bash", TOUCH, id="toolu_1")),
        wire.exchange(wire.tool_use("Bash", LS, id="toolu_2")),
        wire.exchange(DONE),
    )
    with hosted(cli) as host:
        host.prompt()
        first = host.asked()
        host.answer({"request_id": "nobody"}, {"behavior": "allow"})
        host.say({"type": "control_response", "response": {"subtype": "success"}})
        host.say({"type": "control_response"})
        host.answer(first, {"behavior": "deny", "message": "no"})
        host.answer(first, {"behavior": "allow"})
        second = host.asked()
        assert second["request_id"] != first["request_id"]
        host.answer(first, {"behavior": "allow"})
        host.answer(second, {"behavior": "deny", "message": "no"})
        assert len(host.result()["permission_denials"]) == 2
        text = "\n".join(warnings(host))
    assert "there is no question nobody" in text
    assert text.count("names no request_id") == 2
    assert text.count("twice") >= 2
    assert not (cli.work / "made").exists() and not (cli.work / "listed").exists()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_the_end_of_the_input_denies(cli, when):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        if when == "meanwhile":
            host.asked()
        host.hang_up()
        result = host.result()
        assert "standard input has ended" in result["permission_denials"][0]["reason"]
        assert host.end() == 0
    assert not (cli.work / "made").exists()


def test_a_broken_frame_denies_what_waits(cli):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        host.asked()
        host.say(b'{"type": "control_response", "resp')
        assert len(host.result()["permission_denials"]) == 1
    assert not (cli.work / "made").exists()


def test_what_rules_deny_is_not_asked(cli):
    one_call(cli)
    with hosted(cli, "--deny", "Bash:touch *") as host:
        host.prompt()
        result = host.result()
        assert all(frame["type"] != "control_request" for frame in host.frames)
    assert len(result["permission_denials"]) == 1


def always(asked, destination, **changes):
    (update,) = asked["request"]["permission_suggestions"]
    return {"behavior": "allow", "updatedPermissions": [{**update, "destination": destination, **changes}]}


@pytest.mark.parametrize(
    ("destination", "file"),
    [
        ("session", None),
        ("userSettings", "home/.config/caliban/permissions.toml"),
        ("localSettings", "work/.caliban/settings.local.toml"),
    ],
)
def test_always_lives_at_once_and_is_written_with_what_stood_there(cli, destination, file):
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="toolu_1")),
        wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="toolu_2")),
        wire.exchange(wire.tool_use("Bash", {"command": "touch other"}, id="toolu_3")),
        wire.exchange(DONE),
    )
    path = None if file is None else cli.home.parent / file
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        table = "[[permissions.rules]]" if "local" in path.name else "[[rules]]"
        path.write_text(f'# mine\n{table}\npattern = "Bash:sl *" # a train\naction = "deny"\n')
    with hosted(cli) as host:
        host.prompt()
        host.answer(host.asked(), always(asked := host.frames[-1], destination))
        other = host.asked()
        assert (asked["request"]["tool_use_id"], other["request"]["tool_use_id"]) == ("toolu_1", "toolu_3")
        host.answer(other, {"behavior": "deny", "message": "no"})
        host.result()
    assert (cli.work / "made").exists() and not (cli.work / "other").exists()
    if path is not None:
        text = path.read_text()
        assert text.startswith("# mine\n") and "# a train" in text
        assert 'pattern = "Bash:touch made"' in text


def test_an_always_that_cannot_be_written_holds_and_is_told(cli):
    (cli.home / ".config").write_text("a file where a directory has to be")
    two = [wire.exchange(wire.tool_use("Bash", TOUCH, id=f"toolu_{number}")) for number in (1, 2)]
    cli.script(*two, wire.exchange(DONE))
    with hosted(cli) as host:
        host.prompt()
        host.answer(host.asked(), always(host.frames[-1], "userSettings"))
        assert host.result()["subtype"] == "success"
        assert any("holds for this run and is not written" in words for words in warnings(host))
    assert (cli.work / "made").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"destination": "elsewhere"}, "its destination is none of"),
        ({"behavior": None}, "its behavior is none of"),
        ({"rules": []}, "its rules are no list"),
        ({"rules": [{"toolName": "Bash", "ruleContent": None}]}, "ruleContent is no text"),
        ({"rules": [{"ruleContent": "x"}]}, "names no tool"),
        ({"rules": [{"toolName": "Bash", "ruleContent": "[a]"}]}, "matches nothing"),
        ({"type": "replaceRules"}, "replaceRules is not part of this version"),
        ({"type": "other"}, "its type is not known"),
        ({"type": "setMode", "mode": "bypassPermissions"}, "was not allowed when the run began"),
        ({"type": "setMode", "mode": "auto"}, "was not prepared when the run began"),
        ({"type": "setMode", "mode": "disabled"}, "its mode is not known"),
    ],
)
def test_one_bad_update_voids_all_and_the_call_was_allowed_all_the_same(cli, changes, words):
    two = [wire.exchange(wire.tool_use("Bash", TOUCH, id=f"toolu_{number}")) for number in (1, 2)]
    cli.script(*two, wire.exchange(DONE))
    with hosted(cli) as host:
        host.prompt()
        good = always(host.asked(), "session")
        bad = {**good["updatedPermissions"][0], **changes}
        host.answer(host.frames[-1], {**good, "updatedPermissions": [*good["updatedPermissions"], bad]})
        host.answer(host.asked(), {"behavior": "allow"})
        host.result()
        assert any(words in warning for warning in warnings(host))
    assert (cli.work / "made").exists()


def test_a_rule_of_an_answer_lifts_no_deny(cli):
    cli.script(
        wire.exchange(wire.tool_use("Bash", TOUCH, id="toolu_1")),
        wire.exchange(wire.tool_use("Bash", {"command": "rm -r made"}, id="toolu_2")),
        wire.exchange(DONE),
    )
    with hosted(cli, "--deny", "Bash:~rm *") as host:
        host.prompt()
        wide = {"rules": [{"toolName": "Bash"}]}
        host.answer(host.asked(), always(host.frames[-1], "session", **wide))
        assert "denied by the rule Bash:~rm *" in host.result()["permission_denials"][0]["reason"]
    assert (cli.work / "made").exists()


def test_an_answer_may_change_the_mode(cli):
    cli.script(
        wire.exchange(wire.tool_use("Bash", TOUCH, id="toolu_1")),
        wire.exchange(wire.tool_use("Write", {"path": "a", "content": "x"}, id="toolu_2")),
        wire.exchange(DONE),
    )
    with hosted(cli) as host:
        host.prompt()
        update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        host.answer(host.asked(), {"behavior": "allow", "updatedPermissions": [update]})
        assert host.result()["subtype"] == "success"
    assert (cli.work / "a").read_text() == "x"


def test_a_sub_agent_asks_at_the_same_desk(cli):
    cli.script(
        wire.exchange(wire.tool_use("Agent", {"description": "d", "prompt": "p"}, id="toolu_a")),
        wire.exchange(wire.tool_use("Bash", TOUCH, id="toolu_b")),
        wire.exchange(wire.text("told")),
        wire.exchange(DONE),
    )
    with hosted(cli, "--allow", "Agent") as host:
        host.prompt()
        asked = host.asked()
        assert asked["request"]["agent_id"]
        host.answer(asked, {"behavior": "allow"})
        assert host.result()["subtype"] == "success"
    assert (cli.work / "made").exists()


def test_two_questions_wait_side_by_side_and_are_answered_in_any_order(cli):
    uses = (wire.tool_use("Bash", TOUCH, id="toolu_1"), wire.tool_use("Bash", LS, id="toolu_2"))
    cli.script(wire.exchange(*uses), wire.exchange(DONE))
    with hosted(cli) as host:
        host.prompt()
        first, second = host.asked(), host.asked()
        host.answer(second, {"behavior": "allow"})
        host.answer(first, {"behavior": "deny", "message": "no"})
        denials = host.result()["permission_denials"]
    assert [denial["tool_use_id"] for denial in denials] == [first["request"]["tool_use_id"]]
    assert (cli.work / "listed").exists() != (cli.work / "made").exists()


def test_a_question_is_taken_back_when_its_run_ends(cli):
    one_call(cli)
    with hosted(cli) as host:
        host.prompt()
        asked = host.asked()
        host.say({"type": "control", "subtype": "interrupt"})
        withdrawn = host.until(lambda frame: frame["type"] == "control_cancel_request")
        assert withdrawn["request_id"] == asked["request_id"]
        assert host.result()["subtype"] == "cancelled"


def test_an_unchanged_input_with_a_secret_runs_with_the_secret(cli):
    key = "sk-ant-api03-" + "a1B2" * 20
    one_call(cli, {"command": f"echo {key} > made"})
    cli.extra["ANTHROPIC_API_KEY"] = key
    with hosted(cli) as host:
        host.prompt()
        asked = host.asked()
        assert key not in json.dumps(host.frames)
        host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
        host.result()
    assert (cli.work / "made").exists()


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (
            ("--permission-prompt-tool", "mcp__desk__ask"),
            78,
            "this run has no MCP servers",
        ),
        (("--permission-prompt-tool", "desk"), 64, "nobody to be asked"),
        (("--permission-prompt-tool", "stdio"), 64, "asks in frames"),
        (("--permission-prompt-tool", "stdio", "--output-format", "stream-json"), 64, "asks in frames"),
        ((*FLAGS, "--record", "tape"), 64, "--record cannot keep"),
    ],
)
def test_whoever_cannot_be_asked_is_refused_by_name(cli, flags, code, words):
    words_of_prompt = () if "--input-format" in flags else ("-p", "go")
    done = cli.run(*words_of_prompt, *flags, stdin=b"")
    assert done.code == code
    assert words in done.err
    assert cli.bodies() == []
