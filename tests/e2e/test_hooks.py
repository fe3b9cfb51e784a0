"""Hooks from settings through the real command: programs that are told and asked at every event."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
DONE = wire.exchange(wire.text("done"))


def script(folder: Path, name: str, text: str, *, runs: bool = True) -> Path:
    """An executable file in `folder`."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755 if runs else 0o644)
    return path


def hooked(cli, hooks: dict[str, Any], **more: Any) -> None:
    """Put hooks, and what else there is, into the user's settings, in the form of Claude's."""
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks, **more}))


def one(command: str, matcher: str = "", **more: Any) -> list[dict[str, Any]]:
    """One command in one group."""
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]


def results(cli, turn: int = 1) -> list[str]:
    content = cli.bodies()[turn]["messages"][-1]["content"]
    texts = []
    for block in content:
        if block["type"] == "tool_result":
            inner = block["content"]
            texts.append(inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner))
    return texts


def bash(cli, command: str, *flags: str, env=None):
    """A run in which the model makes one call of Bash."""
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": command}, id="t1")), DONE)
    return cli.run("-p", "go", "--allow", "Bash", *flags, env=env)


def logged(cli) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (cli.work.parent / "log").read_text().splitlines()]


def test_each_event_is_told_to_a_shell_script_in_order(cli):
    (cli.work / "a.txt").write_text("x\n")
    names = (
        *("SessionStart", "SessionEnd", "UserPromptSubmit", "PreTurn", "PostTurn", "PreToolUse"),
        *(
            "PostToolUse",
            "PostToolUseFailure",
            "PermissionRequest",
            "PermissionDenied",
            "Notification",
            "PreCompact",
        ),
        *("PostCompact", "Stop", "StopFailure", "SubagentStart", "SubagentStop"),
    )
    log = f"{cli.work.parent}/log"
    hooked(cli, {name: one(f"tr -d '\\n' >> '{log}'; echo >> '{log}'") for name in names})
    cli.script(
        wire.exchange(
            wire.tool_use("Read", {"path": "a.txt"}, id="t1"),
        ),
        wire.exchange(wire.tool_use("Read", {"path": "none.txt"}, id="t2")),
        wire.exchange(wire.tool_use("Write", {"path": "b.txt", "content": "x"}, id="t3")),
        wire.exchange(wire.tool_use("Agent", {"description": "look", "prompt": "look"}, id="t4")),
        wire.exchange(wire.text("seen")),
        DONE,
    )
    done = cli.run("-p", "go")
    assert (done.code, done.out) == (0, "done\n"), done.err
    events = logged(cli)
    seen = [(one["hook_event_name"], one.get("agent_type", ""), one.get("tool_use_id", "")) for one in events]
    agent = next(name for _, name, _ in seen if name)
    assert seen == [
        ("SessionStart", "", ""),
        ("UserPromptSubmit", "", ""),
        ("PreTurn", "", ""),
        ("PreToolUse", "", "t1"),
        ("PostToolUse", "", "t1"),
        ("PostTurn", "", ""),
        ("PreTurn", "", ""),
        ("PreToolUse", "", "t2"),
        ("PostToolUseFailure", "", "t2"),
        ("PostTurn", "", ""),
        ("PreTurn", "", ""),
        ("PreToolUse", "", "t3"),
        ("PermissionRequest", "", "t3"),
        ("PermissionDenied", "", "t3"),
        ("PostTurn", "", ""),
        ("PreTurn", "", ""),
        ("PreToolUse", "", "t4"),
        ("SubagentStart", agent, "t4"),
        ("PreTurn", agent, ""),
        ("PostTurn", agent, ""),
        ("SubagentStop", agent, ""),
        ("PostToolUse", "", "t4"),
        ("PostTurn", "", ""),
        ("PreTurn", "", ""),
        ("PostTurn", "", ""),
        ("Stop", "", ""),
        ("SessionEnd", "", ""),
    ]
    read = events[3]
    assert read["tool_name"] == "Read"
    assert read["tool_input"] == {"file_path": str(cli.work / "a.txt")}
    assert read["tool"] == {"name": "Read", "useId": "t1", "input": {"path": "a.txt"}}
    assert (read["cwd"], read["permission_mode"]) == (str(cli.work), "default")
    assert (events[16]["tool_name"], events[17]["prompt"]) == ("Agent", "look")
    assert events[4]["tool_response"]["filePath"] == str(cli.work / "a.txt")
    assert events[0]["source"] == "startup"


def test_a_run_that_fails_tells_stop_failure(cli):
    log = f"{cli.work.parent}/log"
    hooked(cli, {name: one(f"tr -d '\\n' >> '{log}'; echo >> '{log}'") for name in ("Stop", "StopFailure")})
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a.txt"})))
    done = cli.run("-p", "go", "--max-turns", "1")
    assert done.code != 0
    assert [(one["hook_event_name"], one["error"]) for one in logged(cli)] == [("StopFailure", "max_turns")]


def test_a_compaction_is_told_and_may_be_refused(cli):
    folder = cli.home / "kept"
    folder.mkdir()
    roles = ("user", "assistant") * 7
    messages = [
        {"id": f"m{n}", "role": role, "content": f"{n}. " + "words " * 200} for n, role in enumerate(roles)
    ]
    (folder / "s.json").write_text(json.dumps({"messages": messages}))
    lines = b'{"type": "control", "subtype": "compact"}\n{"type": "user", "content": "go on"}\n'
    flags = ("-p", "--input-format", "stream-json", *STREAM, "-r", "s", "--sessions-dir", str(folder))
    log = f"{cli.work.parent}/log"
    hook = one(f"tr -d '\\n' >> '{log}'; echo >> '{log}'")
    hooked(cli, {"PreCompact": [*hook, *one("exit 2", "auto")], "PostCompact": hook})
    cli.script(wire.exchange(wire.text("What was: much.")), DONE)
    assert cli.run(*flags, stdin=lines).code == 0
    events = [(one["hook_event_name"], one["trigger"]) for one in logged(cli)]
    assert events == [("PreCompact", "manual"), ("PostCompact", "manual")]
    hooked(cli, {"PreCompact": one("exit 2", "manual")})
    done = cli.run(*flags, stdin=lines)
    assert "from being summarised" in done.out
    assert (done.code, len(cli.bodies())) == (1, 2)


def test_a_person_who_is_asked_is_told_of_by_a_notification(cli):
    log = f"{cli.work.parent}/log"
    hook = one(f"tr -d '\\n' >> '{log}'; echo >> '{log}'")
    hooked(cli, {"Notification": hook, "PermissionRequest": hook})
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="t1")))
    assert cli.run("-p", "go", "--session", "s", "--defer-approvals").code == 1
    assert [(one["hook_event_name"], one.get("notification_type")) for one in logged(cli)] == [
        ("PermissionRequest", None),
        ("Notification", "permission_prompt"),
    ]
    hooked(
        cli,
        {"PermissionRequest": one("""echo '{"hookSpecificOutput": {"decision": {"behavior": "deny"}}}'""")},
    )
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="t1")), DONE)
    assert cli.run("-p", "go", "--session", "other", "--defer-approvals").code == 0
    assert not (cli.work / "made").exists()


B110 = [
    "echo no >&2; exit 2",
    """echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'""",
    """echo '{"permissionDecision": "deny"}'; exit 2""",
    """echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}'""",
]


@pytest.mark.parametrize("answer", B110)
def test_b110_an_objection_stops_its_call_and_no_other(cli, answer):
    hooked(cli, {"PreToolUse": one(f"grep -q two || exit 0; {answer}")})
    uses = [wire.tool_use("Bash", {"command": f"touch {name}"}, id=name) for name in ("one", "two", "three")]
    cli.script(wire.exchange(*uses), DONE)
    bypass = ("--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions")
    assert cli.run("-p", "go", *bypass).code == 0
    assert sorted(path.name for path in cli.work.iterdir()) == ["one", "three"]
    assert "denied" in results(cli)[1]


def test_b110_an_agent_that_a_hook_denies_is_never_started(cli):
    hooked(cli, {"PreToolUse": one("exit 2", "Task")})
    cli.script(wire.exchange(wire.tool_use("Agent", {"description": "go", "prompt": "go"})), DONE)
    assert cli.run("-p", "go").code == 0
    assert len(cli.bodies()) == 2


def test_a_hook_that_does_nothing_disturbs_no_edit(cli):
    (cli.work / "f").write_text("x = 1\n")
    hooked(cli, {"PreToolUse": one("true", "*")})
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "f"})),
        wire.exchange(wire.tool_use("Edit", {"path": "f", "old_string": "1", "new_string": "2"})),
        DONE,
    )
    assert cli.run("-p", "go", "--permission-mode", "acceptEdits").code == 0
    assert (cli.work / "f").read_text() == "x = 2\n"


def test_what_a_command_printed_is_told_by_stream(cli):
    log = f"{cli.work.parent}/log"
    hooked(cli, {"PostToolUse": one(f"cat >> '{log}'", "Bash")})
    bash(cli, "echo out; echo err >&2")
    (event,) = logged(cli)
    response = event["tool_response"]
    assert (response["stdout"], response["stderr"], response["interrupted"]) == ("out", "err", False)


def test_a_hook_sees_the_input_as_it_ran_and_no_secret(cli):
    log = f"{cli.work.parent}/log"
    answer = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "echo k-0123456789abcdef"}}})
    hooked(cli, {"PreToolUse": one(f"echo '{answer}'"), "PostToolUse": one(f"cat >> '{log}'")})
    cli.extra["ANTHROPIC_API_KEY"] = "k-0123456789abcdef"
    bash(cli, "ls")
    text = (cli.work.parent / "log").read_text()
    assert "echo" in json.loads(text)["tool_input"]["command"]
    assert "k-0123456789abcdef" not in text


# Programs as they stand in the documentation of Claude's hooks, in our words: each runs unchanged.

GUARD = """
input=$(cat)
read='import json,sys; print(json.load(sys.stdin)["tool_input"]["command"])'
command=$(printf '%s' "$input" | python3 -c "$read")
if printf '%s' "$command" | grep -q 'rm -rf'; then
  echo "Blocked: rm -rf is not allowed here" >&2
  exit 2
fi
exit 0
"""


def test_a_bash_guard_stops_one_command_and_lets_another_run(cli):
    script(cli.work, ".claude/hooks/guard.sh", GUARD)
    hooked(cli, {"PreToolUse": one('"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh', "Bash")})
    uses = (("t1", "rm -rf build"), ("t2", "touch made"))
    cli.script(wire.exchange(*(wire.tool_use("Bash", {"command": line}, id=id) for id, line in uses)), DONE)
    (cli.work / "build").mkdir()
    done = cli.run("-p", "go", "--allow", "Bash")
    assert done.code == 0, done.err
    assert "Blocked: rm -rf is not allowed here" in results(cli)[0]
    assert (cli.work / "build").exists()
    assert (cli.work / "made").exists()


FORMATTER = """
file=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["tool_input"]["file_path"])')
case "$file" in
  *.py) sed -i 's/[[:space:]]*$//' "$file" ;;
esac
"""


def test_a_formatter_runs_after_edits_only(cli):
    script(cli.work, "fmt.sh", FORMATTER)
    hooked(cli, {"PostToolUse": one("$CLAUDE_PROJECT_DIR/fmt.sh", "Edit|MultiEdit|Write")})
    cli.script(wire.exchange(wire.tool_use("Write", {"path": "a.py", "content": "x = 1   \n"})), DONE)
    assert cli.run("-p", "go", "--permission-mode", "acceptEdits").code == 0
    assert (cli.work / "a.py").read_text() == "x = 1\n"


UNTIL_TESTED = """
active=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["stop_hook_active"])')
if [ "$active" = "True" ]; then exit 0; fi
echo '{"decision": "block", "reason": "Run the tests first."}'
"""


def test_a_stop_hook_keeps_the_run_going_once(cli):
    script(cli.work, "stop.sh", UNTIL_TESTED)
    hooked(cli, {"Stop": one("${CLAUDE_PROJECT_DIR}/stop.sh")})
    cli.script(wire.exchange(wire.text("I am done.")), DONE)
    done = cli.run("-p", "go")
    assert (done.code, done.out) == (0, "done\n")
    assert cli.bodies()[1]["messages"][-1]["content"][0]["text"] == "Run the tests first."


def test_a_stop_hook_that_never_lets_go_is_held_up_with_a_warning(cli):
    hooked(cli, {"Stop": one("echo never >&2; exit 2")})
    cli.script(*[wire.exchange(wire.text("I am done.")) for _ in range(5)])
    done = cli.run("-p", "go")
    assert done.code == 0
    assert len(cli.bodies()) == 4
    assert "hooks have kept the run going" in done.err


CONTEXT = """
prompt=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["prompt"])')
case "$prompt" in
  *password*) echo '{"decision": "block", "reason": "Secrets do not belong in prompts."}' ;;
  *) cat <<'EOF'
{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It is Monday."}}
EOF
  ;;
esac
"""


def test_a_prompt_guard_adds_context_or_refuses(cli):
    script(cli.work, "prompt.sh", CONTEXT)
    hooked(cli, {"UserPromptSubmit": one("${CLAUDE_PROJECT_DIR}/prompt.sh")})
    cli.script(DONE)
    assert cli.run("-p", "hello").code == 0
    assert "It is Monday." in json.dumps(cli.bodies()[0]["messages"])
    done = cli.run("-p", "my password is x")
    assert done.code == 1
    assert "Secrets do not belong in prompts." in done.err
    assert len(cli.bodies()) == 1


def test_plain_text_of_a_prompt_hook_is_context(cli):
    hooked(cli, {"SessionStart": one("echo branch: main"), "PreToolUse": one("echo nothing to say")})
    (cli.work / "a.txt").write_text("x\n")
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a.txt"})), DONE)
    assert cli.run("-p", "go").code == 0
    assert "branch: main" in json.dumps(cli.bodies()[0]["messages"])
    assert "nothing to say" not in json.dumps(cli.bodies()[1]["messages"])


def test_a_hook_that_changes_the_input_is_judged_again_and_seen_by_the_next(cli):
    answer = json.dumps(
        {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "rm x"}}}
    )
    hooked(cli, {"PreToolUse": one(f"echo '{answer}'", "Bash")})
    (cli.work / "x").touch()
    bash(cli, "ls", "--deny", "Bash:~rm *")
    assert "denied" in results(cli)[0]
    assert (cli.work / "x").exists()
    answer = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "echo safe", "timeout": 5000}}})
    hooked(cli, {"PreToolUse": one(f"echo '{answer}'", "Bash")})
    bash(cli, "rm -rf /")
    assert "echo safe\n" in results(cli, 3)[0]


def test_a_hook_that_changes_the_output_is_what_the_model_reads(cli):
    answer = json.dumps({"hookSpecificOutput": {"updatedToolOutput": "redacted"}})
    hooked(cli, {"PostToolUse": one(f"echo '{answer}'", "Bash")})
    bash(cli, "echo secret-thing")
    assert results(cli) == ["redacted"]


def test_continue_false_ends_the_run_with_its_reason(cli):
    hooked(cli, {"PreToolUse": one("""echo '{"continue": false, "stopReason": "enough"}'""")})
    done = bash(cli, "touch made")
    assert done.code == 1
    assert "a hook stopped the run: enough" in done.err
    assert not (cli.work / "made").exists()


def test_a_system_message_is_for_the_person(cli):
    hooked(cli, {"PostToolUse": one("""echo '{"systemMessage": "formatted 3 files"}'""")})
    done = bash(cli, "true")
    assert "formatted 3 files" in done.err
    assert "formatted" not in json.dumps(cli.bodies()[1])


def test_frames_of_hooks_are_there_where_they_are_asked_for(cli):
    hooked(cli, {"PreToolUse": one("echo no >&2; exit 2", "Bash")})
    done = bash(cli, "true", *STREAM, "--include-hook-events")
    frames = {frame["hookEventName"]: frame["hookSpecificOutput"] for frame in done.of("hook_event")}
    assert (frames["PreToolUse"]["matcher"], frames["PreToolUse"]["decision"]) == ("Bash", "deny")
    assert done.frames[-1]["type"] == "result"
    assert not bash(cli, "true", *STREAM).of("hook_event")
    assert cli.run("-p", "x", "--include-hook-events").code == 64


def test_hooks_can_be_left_out_for_a_run_but_not_those_of_the_administrator(cli):
    hooked(cli, {"PreToolUse": one("exit 2")})
    for flags, env in ((("--no-hooks",), None), ((), {"CALIBAN_NO_HOOKS": "1"}), (("--bare",), None)):
        bash(cli, "touch made", *flags, env=env)
        assert (cli.work / "made").exists(), flags
        (cli.work / "made").unlink()
    hooked(cli, {"PreToolUse": one("exit 2")}, disable_all_hooks=True)
    bash(cli, "touch made")
    assert (cli.work / "made").exists()


def test_a_hook_in_the_background_decides_nothing_and_is_waited_for_at_the_end(cli):
    hooked(cli, {"PreToolUse": one("echo no >&2; touch seen; exit 2", "", **{"async": True})})
    bash(cli, "touch made")
    assert (cli.work / "made").exists()
    assert (cli.work / "seen").exists()


def test_a_hook_that_holds_up_the_end_is_left_and_named(cli):
    hooked(cli, {"SessionEnd": one("sleep 60")})
    cli.script(DONE)
    done = cli.run("-p", "go")
    assert (done.code, done.out) == (0, "done\n")
    assert "hooks at the end of a session have 1.5 s" in done.err


def test_a_replay_asks_no_hook(cli):
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "true"})), DONE)
    assert cli.run("-p", "go", "--allow", "Bash", "--record", "tape.jsonl").code == 0
    hooked(cli, {"PreToolUse": one("touch ran; exit 2")})
    assert cli.run("replay", "tape.jsonl").code == 0
    assert not (cli.work / "ran").exists()


def test_once_and_the_same_hook_twice(cli):
    count = "echo x >> count"
    group = one(count)[0]
    hooked(
        cli,
        {"PreToolUse": [group, {**group, "matcher": "Bash"}], "PreTurn": one("echo y >> count", once=True)},
    )
    bash(cli, "true")
    assert (cli.work / "count").read_text().split() == ["y", "x"]


def test_an_if_meets_a_command_wherever_it_is_in_the_line(cli):
    hooked(cli, {"PreToolUse": one("exit 2", "Bash", **{"if": "Bash(rm *)"})})
    (cli.work / "x").touch()
    bash(cli, "ls")
    assert "denied" not in results(cli)[0]
    for line in ("rm x", "cd . && rm x", "sudo rm x"):
        bash(cli, line)
        assert "denied" in results(cli, len(cli.bodies()) - 1)[0], line
    assert (cli.work / "x").exists()


def test_hooks_of_a_sub_agent_are_those_of_its_caller(cli):
    hooked(cli, {"PreToolUse": one("echo not here >&2; exit 2", "Bash")})
    cli.script(
        wire.exchange(wire.tool_use("Agent", {"description": "go", "prompt": "go"})),
        wire.exchange(wire.tool_use("Bash", {"command": "touch made"})),
        wire.exchange(wire.text("I could not")),
        DONE,
    )
    assert cli.run("-p", "go", "--allow", "Bash").code == 0
    assert not (cli.work / "made").exists()
    assert "not here" in results(cli, 2)[0]


def test_our_own_form_in_toml_with_arguments(cli):
    path = script(cli.work, "hooks/my guard.sh", 'cat > /dev/null; echo "$1 $2 $CALIBAN_PROJECT_DIR" > out')
    cli.configure(
        "[[hooks.PreToolUse]]\nmatcher = '^Ba(sh|t)$'\n[[hooks.PreToolUse.handlers]]\ntype = 'command'\n"
        f"command = '{path}'\nargs = ['${{CALIBAN_PROJECT_DIR}}', 'a b; touch bad']\ntimeout = '5s'\n"
    )
    bash(cli, "true")
    assert (cli.work / "out").read_text() == f"{cli.work} a b; touch bad {cli.work}\n"
    assert not (cli.work / "bad").exists()


def test_programs_of_hooks_get_no_key_and_what_settings_say(cli):
    hooked(cli, {"PreToolUse": one("env > seen")}, env={"COLOUR": "blue"})
    bash(cli, "true", env={"MY_API_KEY": "k-123456789", "SSH_AUTH_SOCK": "/tmp/agent"})
    seen = (cli.work / "seen").read_text()
    assert "COLOUR=blue" in seen
    assert f"CLAUDE_PROJECT_DIR={cli.work}\n" in seen
    assert not {"MY_API_KEY", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK"} & {
        line.partition("=")[0] for line in seen.splitlines()
    }


@pytest.mark.parametrize(
    ("hooks", "words"),
    [
        ({"PreToolUze": one("true")}, "did you mean PreToolUse?"),
        ({"PreToolUse": [{"matcher": "Bash"}]}, "has no `handlers`"),
        ({"PreToolUse": one("true", "(a")}, "the matcher '(a'"),
        ({"PreToolUse": one("true", tiemout=3)}, "did you mean timeout?"),
        ({"PreToolUse": one("true", timeout=-1)}, "timeout must be"),
        ({"PreToolUse": one("true", **{"if": "Bash(("})}, "its condition is no permission pattern"),
        ({"PreToolUse": [{"hooks": [{"type": "mcp", "tool": "b"}]}]}, "names a server"),
        ({"PreToolUse": [{"hooks": [{"type": "agent", "prompt": "x", "agent": "y"}]}]}, "no agent 'y'"),
        (
            {"PreToolUse": [{"hooks": [{"type": "http", "url": "https://a.example/"}]}]},
            "allowed_http_hook_urls",
        ),
        ({"Stop": one("true", on_failure="block")}, "cannot be blocked"),
        ({"PreToolUse": [{"hooks": "x"}]}, "must be a list"),
        ({"PreToolUse": [["x"]]}, "settings"),
    ],
)
def test_a_hook_that_cannot_run_as_it_is_written_refuses_the_start(cli, hooks, words):
    hooked(cli, hooks)
    done = cli.run("-p", "hi")
    assert done.code == 78, done.err
    assert words in done.err
    assert cli.server.requests == ()


def test_an_event_that_is_never_fired_is_named_and_the_run_goes_on(cli):
    hooked(cli, {"WorktreeCreate": one("true"), "CwdChanged": one("true")})
    cli.script(DONE)
    done = cli.run("-p", "hi")
    assert done.code == 0
    assert "this version has no WorktreeCreate: agents have no worktrees" in done.err
    assert "this version has no CwdChanged" in done.err


def test_doctor_shows_the_hooks_that_count(cli):
    hooked(cli, {"PreToolUse": one("true"), "WorktreeCreate": one("true")})
    assert "PreToolUse 1" in cli.run("doctor").out
    assert "WorktreeCreate" in cli.run("doctor").out
    hooked(cli, {"PreToolUze": one("true")})
    done = cli.run("doctor")
    assert (done.code, "did you mean PreToolUse?" in done.out) == (1, True)


def test_a_recording_is_refused_with_hooks(cli):
    hooked(cli, {"PreToolUse": one("true")})
    done = cli.run("-p", "hi", "--record", "tape.jsonl")
    assert (done.code, "--no-hooks" in done.err) == (78, True)


@pytest.mark.parametrize(
    ("answer", "runs"), [('{"ok": true}', True), ('{"ok": false, "reason": "odd"}', False)]
)
def test_a_model_judges_where_a_hook_asks_it(cli, answer, runs):
    hooked(
        cli,
        {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "Is it all right? $ARGUMENTS"}]}
            ]
        },
    )
    call = wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="t1"))
    cli.script(call, wire.exchange(wire.text(answer)), DONE)
    done = cli.run("-p", "go", "--allow", "Bash")
    assert done.code == 0, done.err
    assert (cli.work / "made").exists() is runs
    question = json.dumps(cli.bodies()[1])
    assert "Is it all right?" in question
    assert "touch made" in question
    assert ("odd" in results(cli, 2)[0]) is not runs


class Address(BaseHTTPRequestHandler):
    """Answers what the server says, and keeps what it was sent."""

    def do_POST(self) -> None:
        self.server.seen.append(
            (dict(self.headers), json.loads(self.rfile.read(int(self.headers["content-length"]))))
        )
        status, body, headers = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address():
    server = HTTPServer(("127.0.0.1", 0), Address)
    server.seen, server.answer = [], (200, b"{}", {})
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


DENY = b'{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "by the office"}}'


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((200, DENY, {}), "by the office"),
        ((200, b"{}", {}), None),
        ((500, b"{}", {}), "status 500"),
        ((204, b"", {}), "status 204"),
        ((302, b"", {"location": "http://127.0.0.1:1/"}), "status 302"),
        ((200, b"<html>", {}), "no JSON"),
        ((200, b"{" + b" " * 70_000, {}), "longer than 64 KiB"),
        ((200, b"\xff", {}), "not UTF-8"),
    ],
    ids=["k11-deny", "nothing", "s744-500", "s744-204", "redirect", "s744-html", "long", "bytes"],
)
def test_an_address_is_asked_and_what_is_no_answer_lets_nothing_run(cli, address, answer, words):
    url = f"http://127.0.0.1:{address.server_port}"
    address.answer = answer
    hooked(
        cli,
        {
            "PreToolUse": [
                {"hooks": [{"type": "http", "url": f"{url}/h", "headers": {"X-Who": "Bearer ${OFFICE}"}}]}
            ]
        },
        allowed_http_hook_urls=[f"{url}/*"],
        http_hook_allowed_env_vars=["OFFICE"],
    )
    done = bash(cli, "touch made", env={"OFFICE": "office-4711-token"})
    assert done.code == 0, done.err
    ((headers, body),) = address.seen
    assert headers["x-who"] == "Bearer office-4711-token"
    assert (body["hook_event_name"], body["tool_input"]) == ("PreToolUse", {"command": "touch made"})
    assert (cli.work / "made").exists() is (words is None)
    assert words is None or words in results(cli)[0]
