"""Each event that hooks know, told to a shell script in runs of the real command, and in which order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from screen_kit import on_screen

from caliban_hooks import EVENTS
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("done"))
FIRED = tuple(name for name, kind in EVENTS.items() if kind.fired)


def hooked(cli, hooks: dict[str, Any]) -> None:
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}))


def one(command: str, matcher: str = "", **more: Any) -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]


def log_all(cli) -> None:
    """Every event as one line of a file that a script appends to."""
    path = cli.work.parent / "note.sh"
    log = f"{cli.work.parent}/log"
    whole = (
        f"(tr -d '\\n'; echo) > '{log}'.$$ && cat '{log}'.$$ >> '{log}'"  # at once: hooks run side by side
    )
    path.write_text(f"#!/bin/sh\n{whole}\n")
    path.chmod(0o755)
    hooked(cli, {name: one(str(path)) for name in FIRED})


def logged(cli) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (cli.work.parent / "log").read_text().splitlines()]


def test_a_run_tells_its_events_in_order(cli):
    (cli.work / ".git").mkdir()
    (cli.work / "AGENTS.md").write_text("Use tabs.\n\n@style.md\n")
    (cli.work / "style.md").write_text("Short names.\n")
    (cli.work / "api").mkdir()
    (cli.work / "api" / "AGENTS.md").write_text("No new endpoints.\n")
    (cli.work / "api" / "a.txt").write_text("x\n")
    commands = cli.home / ".config" / "caliban" / "commands"
    commands.mkdir(parents=True)
    (commands / "ship.md").write_text("Ship $ARGUMENTS.\n")
    log_all(cli)
    call = wire.tool_use
    cli.script(
        wire.exchange(call("Read", {"path": "api/a.txt"}, id="t1"), call("Read", {"path": "no"}, id="t2")),
        wire.exchange(call("Write", {"path": "b.txt", "content": "x"}, id="t3")),
        wire.exchange(call("Bash", {"command": "echo y >> b.txt"}, id="t4")),
        wire.exchange(call("Bash", {"command": "touch never"}, id="t5")),
        wire.exchange(call("Agent", {"description": "look", "prompt": "look"}, id="t6")),
        wire.exchange(wire.text("seen")),
        DONE,
    )
    flags = ("--allow", "Write", "--allow", "Bash(echo *)", "--no-parallel-tools")
    done = cli.run("-p", "/ship it now", *flags)
    assert (done.code, done.out) == (0, "done\n"), done.err
    events = logged(cli)
    seen = [
        " ".join(filter(None, (one["hook_event_name"], one.get("agent_type"), one.get("tool_use_id"))))
        for one in events
    ]
    turn = ("PreTurn", "PostTurn")
    assert seen == [
        "UserPromptExpansion",
        "SessionStart",
        "InstructionsLoaded",
        "InstructionsLoaded",
        "UserPromptSubmit",
        turn[0],
        *("PreToolUse t1", "PreToolUse t2", "InstructionsLoaded", "PostToolUse t1", "PostToolUseFailure t2"),
        *("PostToolBatch", turn[1], turn[0]),
        *("PreToolUse t3", "PostToolUse t3", "PostToolBatch", turn[1], turn[0]),
        *("PreToolUse t4", "FileChanged", "PostToolUse t4", "PostToolBatch", turn[1], turn[0]),
        *("PreToolUse t5", "PermissionRequest t5", "PermissionDenied t5", "PostToolBatch", turn[1], turn[0]),
        *("PreToolUse t6", "SubagentStart general-purpose t6"),
        *("PreTurn general-purpose", "PostTurn general-purpose", "SubagentStop general-purpose"),
        *("PostToolUse t6", "PostToolBatch", turn[1], turn[0], turn[1]),
        *("Stop", "SessionEnd"),
    ]
    named = {name: [one for one in events if one["hook_event_name"] == name] for name in FIRED}
    (typed,) = named["UserPromptExpansion"]
    shown = ("command_name", "command_args", "prompt", "expansion_type")
    assert [typed[name] for name in shown] == ["ship", "it now", "Ship it now.", "slash_command"]
    (prompt,) = named["UserPromptSubmit"]
    assert (prompt["is_slash"], prompt["command"], prompt["args"]) == (True, "ship", "it now")
    assert [
        (one["file_path"], one["load_reason"], one["memory_type"]) for one in named["InstructionsLoaded"]
    ] == [
        (f"{cli.work}/AGENTS.md", "session_start", "Project"),
        (f"{cli.work}/style.md", "include", "Project"),
        (f"{cli.work}/api/AGENTS.md", "nested_traversal", "Project"),
    ]
    assert named["InstructionsLoaded"][1]["parent_file_path"] == f"{cli.work}/AGENTS.md"
    assert named["InstructionsLoaded"][2]["trigger_file_path"] == f"{cli.work}/api/a.txt"
    (changed,) = named["FileChanged"]
    assert (changed["file_path"], changed["event"]) == (f"{cli.work}/b.txt", "change")
    calls = named["PostToolBatch"][0]["tool_calls"]
    assert [(call["tool_name"], call["tool_use_id"]) for call in calls] == [("Read", "t1"), ("Read", "t2")]
    assert calls[0]["tool_response"]["filePath"] == f"{cli.work}/api/a.txt"


def test_work_in_the_background_is_told_of_from_its_start_to_its_end(cli):
    log_all(cli)
    args = {"description": "look", "prompt": "look", "run_in_background": True}
    cli.script(wire.exchange(wire.tool_use("Agent", args, id="t1")), *[wire.exchange(wire.text("done"))] * 3)
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    names = [
        one["hook_event_name"]
        for one in logged(cli)
        if one["hook_event_name"] in ("TaskCreated", "TaskCompleted", "SubagentStart", "SubagentStop", "Stop")
    ]
    assert names == ["TaskCreated", "SubagentStart", "SubagentStop", "TaskCompleted", "Stop"]
    tasks = [one for one in logged(cli) if one["hook_event_name"].startswith("Task")]
    assert [(one["task_id"], one["task_subject"]) for one in tasks] == [("t1", "general-purpose: look")] * 2
    assert tasks[1]["failed"] is False


def test_a_session_that_goes_on_from_a_summary_starts_again(cli):
    folder = cli.home / "kept"
    folder.mkdir()
    roles = ("user", "assistant") * 7
    messages = [
        {"id": f"m{n}", "role": role, "content": f"{n}. " + "words " * 200} for n, role in enumerate(roles)
    ]
    (folder / "s.json").write_text(json.dumps({"messages": messages}))
    log_all(cli)
    starts = [*one("cat > /dev/null; echo remember the rules", "compact"), *one("exit 0", "startup")]
    settings = cli.home / ".config" / "caliban" / "settings.json"
    hooks = json.loads(settings.read_text())["hooks"]
    hooks["SessionStart"] += starts
    hooked(cli, hooks)
    lines = b'{"type": "user", "content": "one"}\n{"type": "control", "subtype": "compact"}\n'
    cli.script(wire.exchange(wire.text("first")), wire.exchange(wire.text("What was: much.")), DONE)
    flags = ("--input-format", "stream-json", "--output-format", "stream-json")
    more = b'{"type": "user", "content": "go on"}\n'
    done = cli.run("-p", *flags, "-r", "s", "--sessions-dir", str(folder), stdin=lines + more)
    assert done.code == 0, done.out
    shown = ("SessionStart", "SessionEnd", "PreCompact", "PostCompact", "UserPromptSubmit")
    seen = [
        (one["hook_event_name"], one.get("source") or one.get("trigger") or one.get("reason", ""))
        for one in logged(cli)
        if one["hook_event_name"] in shown
    ]
    assert seen == [
        ("SessionStart", "resume"),
        ("UserPromptSubmit", ""),
        ("PreCompact", "manual"),
        ("PostCompact", "manual"),
        ("SessionStart", "compact"),
        ("UserPromptSubmit", ""),
        ("SessionEnd", "other"),
    ]
    assert "remember the rules" in json.dumps(cli.bodies()[-1]["messages"])
    assert "remember the rules" not in json.dumps(cli.bodies()[0])


def test_at_the_terminal_hooks_hear_why_a_conversation_ends_and_the_next_begins(cli):
    log_all(cli)
    cli.script(wire.exchange(wire.text("first")), wire.exchange(wire.text("second")))
    with on_screen(cli) as screen:
        for line, shown in (("one", "first"), ("/clear", "begins again"), ("two", "second")):
            screen.wait("anthropic/")
            screen.type(line)
            screen.press("enter")
            screen.wait(shown)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    events = [
        (one["hook_event_name"], one.get("source") or one["reason"])
        for one in logged(cli)
        if one["hook_event_name"] in ("SessionStart", "SessionEnd")
    ]
    assert events == [
        ("SessionStart", "startup"),
        ("SessionEnd", "clear"),
        ("SessionStart", "clear"),
        ("SessionEnd", "prompt_input_exit"),
    ]


def test_a_hook_keeps_a_command_from_being_sent_and_a_run_from_reading_its_results(cli):
    commands = cli.home / ".config" / "caliban" / "commands"
    commands.mkdir(parents=True)
    (commands / "ship.md").write_text("Ship it.\n")
    hooked(cli, {"UserPromptExpansion": one("echo not today >&2; exit 2", "ship")})
    done = cli.run("-p", "/ship")
    assert (done.code, "not today" in done.err, cli.server.requests) == (1, True, ()), done.err
    hooked(cli, {"PostToolBatch": one("echo enough >&2; exit 2")})
    cli.script(wire.exchange(wire.tool_use("Glob", {"pattern": "*"}, id="t1")))
    done = cli.run("-p", "go")
    assert (done.code, "enough" in done.err, len(cli.bodies())) == (1, True, 1)


@pytest.mark.parametrize("name", [name for name, kind in EVENTS.items() if not kind.fired])
def test_an_event_that_never_happens_has_its_reason(name):
    assert EVENTS[name].unfired
    assert not EVENTS[name].fired
