"""Slash commands without a terminal: of a prompt, of frames, in every format, by the real command."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban.slash.table import BUILT_IN
from caliban_provider_anthropic.testing import wire
from caliban_sessions import SessionStore

FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
NO_KEY = {"ANTHROPIC_API_KEY": ""}
OK = wire.text("All is well.")


def lines(*prompts: str) -> bytes:
    """Prompts as frames."""
    return b"".join(json.dumps({"type": "user", "content": text}).encode() + b"\n" for text in prompts)


def outputs(done) -> list[str]:
    """What commands showed, in order."""
    return [frame["content"] for frame in done.of("system") if frame["subtype"] == "local_command_output"]


def said(body: dict[str, Any]) -> str:
    """All texts of a request that a person said."""
    content = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return json.dumps(content, ensure_ascii=False)


SHOWN = {
    "/help": "summarise the conversation to make room",
    "/help resume": "go on with a saved session",
    "/HELP exit": "/quit",
    "/cost": "claude-sonnet-4-6",
    "/usage": "the session ",
    "/context": "conversation",
    "/system": "You are an assistant",
    "/status": "provider: anthropic",
    "/model": "* /model claude-sonnet-4-6",
    "/effort": "/effort low",
    "/effort HIGH": "effort: high",
    "/think": "thinking: as the model likes",
    "/think 2,048": "up to 2,048 tokens",
    "/think off": "as the model likes",
    "/resume": "/resume ",
    "/tree": "1 session",
    "/rename A good title": "is shown as 'A good title'",
    "/rewind": "say hello",
    "/diff": "no file is another one",
    "/add-dir": "adds one until the session ends",
    "/todos": "the list of tasks is empty",
    "/permissions": "mode: default",
    "/permissions ACCEPTEDITS": "mode: acceptEdits",
    "/sandbox": "off: commands run",
    "/trust": "nothing in it needs trust",
    "/memory": "notes in ",
    "/memory list": "notes in ",
    "/mcp": "there are no MCP servers",
    "/hooks": "no hook counts here",
    "/plugins": "there are no plugins",
    "/plugin": "there are no plugins",
    "/agents": "general-purpose",
    "/skills": "builtin",
    "/skills commit": "make a git commit",
    "/output-style": "output style: default",
    "/output-style explanatory": "output style: explanatory",
    "/config": "/config KEY VALUE sets one",
    "/config max_turns": "max_turns is not set",
    "/config max_turns 7": "max_turns is set",
    "/doctor": "settings",
    "/heapdump": "it is noted what takes memory",
    "/heapdump stop": "not noted any more",
    "/feedback": "nothing is sent from here",
    "/terminal-setup": "the terminal has told nothing of itself",
    "/statusline": "there is no command of the status line",
    "/init": "CLAUDE.draft.md is written",
    "/init --force": "CLAUDE.draft.md is written",
    "/export talk.md": "2 messages written to",
    "/export --format json": "2 messages written to",
    "/export 'a b.html'": "a b.html",
    "/logout openai": "there is no stored key of openai",
    "/clear": "the conversation begins again",
}
LATER = [row.name for row in BUILT_IN if row.later]
ON_SCREEN = [row.name for row in BUILT_IN if not row.later and "headless" not in row.places]


def test_every_command_that_needs_no_model_shows_what_it_is_for(cli) -> None:
    cli.script(wire.exchange(OK), wire.models("claude-sonnet-4-6", "claude-other-1"))
    done = cli.run(*FRAMES, "--session", "one", stdin=lines("say hello", *SHOWN))
    shown = dict(zip(SHOWN, outputs(done), strict=True))
    assert {line: shown[line] for line, words in SHOWN.items() if words not in shown[line]} == {}
    assert "/model claude-other-1" in shown["/model"]
    assert [request.method for request in cli.server.requests].count("POST") == 1
    assert (cli.work / "talk.md").read_text().count("All is well.") == 1
    assert json.loads(next(cli.work.glob("caliban-session-*.json")).read_bytes())
    assert "<html" in (cli.work / "a b.html").read_text()
    assert "max_turns = 7" in (cli.home / ".config/caliban/settings.toml").read_text()
    listed = cli.run("sessions", "list").out
    assert "A good title" in listed


def test_every_other_row_is_called_elsewhere_or_says_what_to_do_instead(cli) -> None:
    asked = {"compact", "undo", "recap", "btw", "review", "security-review", "login"}
    called = {line[1:].split()[0].lower() for line in SHOWN} | asked | {*LATER, *ON_SCREEN}
    assert {row.name for row in BUILT_IN} - called == set()
    names = [*LATER, *ON_SCREEN, "login"]
    done = cli.run(*FRAMES, stdin=lines(*(f"/{name}" for name in names)))
    errors = [frame["error"] for frame in done.of("result")]
    assert len(errors) == len(names) and cli.server.requests == ()
    for name, error in zip(names, errors, strict=True):
        assert error.startswith(f"/{name}"), error
        assert ("is not part of this version: " in error) == (name in LATER)
        assert ("does not run without the terminal interface\nhint: " in error) == (name in ON_SCREEN)


GARBAGE = [
    ("/cost all of it", "/cost takes no words, and got 'all of it'"),
    ("/clear x", "/clear takes no words"),
    ("/effort huge", "/effort does not know 'huge'"),
    ("/effort hihg", "did you mean high?"),
    ("/think many", "/think takes on, off"),
    ("/think 99999999999999999999", "/think takes on, off"),
    ("/model a b", "is no name of a model"),
    ("/model \u202e", "is no name of a model"),
    ("/permissions plna", "did you mean plan?"),
    ("/permissions bypassPermissions", "was not allowed when the run began"),
    ("/memory shwo x", "did you mean show?"),
    ("/memory show", "takes the name of a note"),
    ("/memory show nothing", "nothing"),
    ("/export --formt=x", "/export does not know --formt=x"),
    ("/export --format=xml", "unknown format 'xml'"),
    ("/init --all", "/init does not know '--all'"),
    ("/doctor now", "/doctor does not know 'now'"),
    ("/heapdump all", "/heapdump takes start or stop"),
    ("/heapdump stop", "nothing is noted"),
    ("/config no.such.key", "there is no setting `no`"),
    ("/config max_turns lots", "max_turns"),
    ("/skills no-such", "no-such"),
    ("/output-style no-such", "no-such"),
    ("/mcp no-such", "there is no MCP server 'no-such'"),
    ("/resume no such words", "no session here is like"),
    ("/rename", "/rename takes a title"),
    ("/btw", "/btw takes a question"),
    ("/logout a b c", "takes the name of a provider"),
    ("/help no-such", "there is no command /no-such"),
    ("/undo", "nothing of this conversation was summarised"),
    ("/costs", "did you mean /cost?"),
    ("/" + "x" * 200, "there is no command /xxx"),
]


def test_what_a_command_does_not_take_is_an_error_that_names_it(cli) -> None:
    cli.script(wire.exchange(OK))
    done = cli.run(*FRAMES, "--session", "one", stdin=lines("say hello", *(line for line, _ in GARBAGE)))
    errors = [frame["error"] for frame in done.of("result") if frame["is_error"]]
    assert len(errors) == len(GARBAGE)
    wrong = [
        (line, error) for (line, words), error in zip(GARBAGE, errors, strict=True) if words not in error
    ]
    assert wrong == []
    assert len(cli.server.requests) == 1


@pytest.mark.parametrize("format_name", ["text", "json", "stream-json"])
def test_a_local_command_needs_no_key_asks_nobody_and_saves_nothing(cli, format_name) -> None:
    done = cli.run("-p", "/todos", "--output-format", format_name, env=NO_KEY)
    assert (done.code, cli.server.requests) == (0, ()), done.err
    words = "the list of tasks is empty"
    if format_name == "text":
        assert done.out == f"{words}\n"
    else:
        result = done.frames[-1]
        assert (result["subtype"], result["result"], result["num_turns"]) == ("success", words, 0)
    assert not (cli.home / ".local/share/caliban/sessions").exists()


@pytest.mark.parametrize("line", ["/help", "/context", "/mcp", "/model", "/status", "/effort"])
def test_what_shows_facts_needs_no_key(cli, line) -> None:
    done = cli.run("-p", line, env=NO_KEY)
    assert (done.code, cli.server.requests) == (0, ()), done.err
    assert done.out.strip()


def test_the_first_frame_names_what_may_be_called(cli) -> None:
    commands = cli.home / ".config/caliban/commands/git"
    commands.mkdir(parents=True)
    (commands / "push.md").write_text("Push it.")
    done = cli.run("-p", "/cost", "--output-format", "stream-json", env=NO_KEY)
    names = done.frames[0]["slash_commands"]
    assert {"help", "compact", "cost", "git:push"} <= set(names)
    assert {"quit", "tui", "setup-token"}.isdisjoint(names)
    assert (
        cli.run("-p", "/cost", "--bare", "--max-turns", "0", "--output-format", "stream-json").frames[0][
            "slash_commands"
        ]
        == []
    )


@pytest.mark.parametrize("flags", [("--json-schema", "{}"), ("--record", "tape")])
def test_what_is_for_a_model_is_refused_beside_a_local_command(cli, flags) -> None:
    done = cli.run("-p", "/cost", *flags)
    assert (done.code, cli.server.requests) == (64, ())
    assert flags[0] in done.err and "/cost" in done.err


def test_a_word_alone_and_a_pipe_call_it_too(cli) -> None:
    assert cli.run("/todos", env=NO_KEY).out == "the list of tasks is empty\n"
    assert cli.run("-p", "/todos", stdin=b"piped", env=NO_KEY).out == "the list of tasks is empty\n"


def test_compact_and_undo_work_on_the_session_that_goes_on(cli) -> None:
    said_before = [wire.exchange(wire.text(f"answer {number} " + "words " * 400)) for number in range(6)]
    cli.script(*said_before)
    prompts = [f"question {number} " + "words " * 400 for number in range(6)]
    assert cli.run(*FRAMES, "--session", "long", stdin=lines(*prompts)).code == 0
    cli.script(wire.exchange(wire.text("They asked six questions.")))
    done = cli.run("-c", "-p", "/compact", "--output-format", "stream-json")
    assert done.code == 0, done.err
    assert [f["subtype"] for f in done.of("system")] == ["init", "compact_boundary", "local_command_output"]
    assert "the conversation is a summary now" in done.frames[-1]["result"]
    cli.script(wire.exchange(OK))
    assert cli.run("-c", "-p", "go on").code == 0
    assert "They asked six questions." in json.dumps(cli.bodies()[-1]) and "answer 1 " not in said(
        cli.bodies()[-1]
    )
    undone = cli.run("-c", "-p", "/undo", env=NO_KEY)
    assert (undone.code, "what was summarised is there again" in undone.out) == (0, True), undone.err
    cli.script(wire.exchange(OK))
    assert cli.run("-c", "-p", "go on").code == 0
    assert "question 1 " in said(cli.bodies()[-1])


def test_clear_begins_again_in_the_same_session(cli) -> None:
    cli.script(wire.exchange(OK), wire.exchange(OK))
    done = cli.run(*FRAMES, "--session", "one", stdin=lines("the first", "/clear", "the second"))
    assert done.code == 0, done.err
    body = cli.bodies()[-1]
    assert ("the second" in said(body), "the first" in said(body)) == (True, False)
    assert body["system"] == cli.bodies()[0]["system"]
    shown = cli.run("sessions", "show", "one").out
    assert "the second" in shown


def test_an_aside_is_paid_for_and_not_remembered(cli) -> None:
    cli.script(
        wire.exchange(wire.text("The answer.")),
        wire.exchange(wire.text("It is 42.")),
        wire.exchange(wire.text("One question was asked.")),
        wire.exchange(OK),
    )
    prompts = ("a question", "/btw what is it?", "/recap", "go on")
    done = cli.run(*FRAMES, "--session", "one", stdin=lines(*prompts))
    assert done.code == 0, done.err
    assert outputs(done) == ["It is 42.", "One question was asked."]
    _, aside, recap, last = cli.bodies()
    assert "tools" not in aside and "a question" in said(aside) and "what is it?" in said(aside)
    assert "a question" in said(recap)
    assert "what is it?" not in said(last) and "42" not in json.dumps(last["messages"])
    result = done.of("result")[-1]
    assert set(result["agent_usage"]) == {"btw", "recap"}
    saved = json.loads(cli.run("sessions", "list", "--json").out)
    assert saved["usage"]["output_tokens"] == result["total_output_tokens"]


def test_an_aside_goes_to_the_model_that_routes_name_for_it(cli) -> None:
    cli.configure(
        '[model_overrides]\nfast_classifier = "claude-haiku-4-5"\n',
    )
    cli.script(wire.exchange(wire.text("Yes.")), wire.exchange(OK))
    done = cli.run(*FRAMES, stdin=lines("/btw is it?", "go on"))
    assert done.code == 0, done.err
    assert [body["model"] for body in cli.bodies()] == ["claude-haiku-4-5", "claude-sonnet-4-6"]


def test_a_model_is_switched_within_the_run_and_the_session_goes_on_with_it(cli) -> None:
    cli.script(*(wire.exchange(OK) for _ in range(3)))
    prompts = ("one", "/model claude-opus-4-6", "/effort high", "two")
    done = cli.run(*FRAMES, "--session", "one", stdin=lines(*prompts))
    assert done.code == 0, done.err
    assert outputs(done)[0] == "anthropic/claude-opus-4-6 is asked from the next prompt on"
    assert cli.run("-c", "-p", "three").code == 0
    models = [body["model"] for body in cli.bodies()]
    assert models == ["claude-sonnet-4-6", "claude-opus-4-6", "claude-opus-4-6"]
    efforts = [body.get("output_config", {}).get("effort") for body in cli.bodies()]
    assert efforts == [None, "high", None]
    lone = cli.run("-p", "/model claude-opus-4-6", env=NO_KEY)
    assert (lone.code, "no session that would go on" in lone.err) == (1, True)


def test_another_provider_is_switched_to_by_its_name(cli) -> None:
    cli.configure(f'[provider.second]\nkind = "anthropic"\nbase_url = "{cli.server.url}"\n')
    cli.script(wire.exchange(OK), wire.exchange(OK))
    done = cli.run(*FRAMES, "--session", "one", stdin=lines("one", "/model second/some-model", "two"))
    assert done.code == 0, (done.err, done.out)
    assert outputs(done) == ["second/some-model is asked from the next prompt on"]
    assert [body["model"] for body in cli.bodies()] == ["claude-sonnet-4-6", "some-model"]
    row = json.loads(cli.run("sessions", "list", "--json").out)
    assert (row["provider"], row["model"]) == ("second", "some-model")


def test_thinking_is_asked_for(cli) -> None:
    cli.script(wire.exchange(OK))
    done = cli.run(*FRAMES, "--model", "claude-sonnet-4-5", stdin=lines("/think 2048", "one"))
    assert done.code == 0, done.err
    assert cli.bodies()[0]["thinking"]["budget_tokens"] == 2048


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_an_export_holds_no_secret(cli, form) -> None:
    cli.extra["GITHUB_TOKEN"] = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    cli.script(wire.exchange(wire.text("I saw ghp_0123456789abcdefghijklmnopqrstuvwxyz there.")))
    done = cli.run(*FRAMES, stdin=lines("look", f"/export out.{form}", f"/export out.{form}"))
    text = (cli.work / f"out.{form}").read_text()
    assert "I saw" in text and "ghp_0123" not in text
    assert "is there already" in done.of("result")[-1]["error"]
    assert (cli.work / f"out.{form}").stat().st_mode & 0o777 == 0o600


def hook(cli, body: str) -> Path:
    """A hook at the submission of prompts, which keeps what it is told."""
    script = cli.home / "hook.sh"
    script.write_text(f"#!/bin/sh\ncat >> {cli.home}/told\necho >> {cli.home}/told\n{body}\n")
    script.chmod(0o755)
    cli.configure(f'[[hooks.UserPromptSubmit]]\nhooks = [{{ type = "command", command = "{script}" }}]\n')
    return cli.home / "told"


def test_hooks_hear_of_a_command_and_may_deny_it(cli) -> None:
    log = hook(cli, "echo 'not here' >&2; exit 2")
    done = cli.run("-p", "/permissions acceptEdits", env=NO_KEY)
    assert done.code == 1 and done.out == ""
    assert "/permissions is not done" in done.err and "not here" in done.err
    (event,) = [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
    assert (event["is_slash"], event["command"], event["args"]) == (True, "permissions", "acceptEdits")
    assert event["prompt"] == "/permissions acceptEdits"


def test_hooks_hear_once_of_a_command_that_is_a_prompt(cli) -> None:
    log = hook(cli, "exit 0")
    cli.script(wire.exchange(OK))
    done = cli.run("-p", "/review the parser")
    assert (done.code, done.out) == (0, "All is well.\n"), done.err
    (event,) = [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
    assert (event["is_slash"], event["command"], event["args"]) == (True, "review", "the parser")
    assert "Review the parser." in said(cli.bodies()[0])


def test_reviews_are_prompts_of_ours(cli) -> None:
    cli.script(wire.exchange(OK), wire.exchange(OK))
    (cli.work / "note.txt").write_text("the note")
    done = cli.run(*FRAMES, stdin=lines("/review", "/security-review @note.txt"))
    assert done.code == 0, done.err
    first, second = (said(body) for body in cli.bodies())
    assert "the working tree that are not committed" in first
    assert "Look for security holes in @note.txt" in second and "the note" in second


def test_a_command_said_to_a_run_at_work_waits_for_its_turn(cli) -> None:
    frames = lines("one") + json.dumps({"type": "user", "content": "/cost", "priority": "next"}).encode()
    cli.script(wire.exchange(OK))
    done = cli.run(*FRAMES, stdin=frames)
    assert done.code == 0, done.err
    assert len(outputs(done)) == 1 and "/cost" not in said(cli.bodies()[0])


@pytest.mark.parametrize("flag", ["--no-commands", "--bare"])
def test_a_run_without_commands_sends_words(cli, flag) -> None:
    cli.script(wire.exchange(OK), wire.exchange(OK))
    assert cli.run("-p", "/cost", flag).out == "All is well.\n"
    assert cli.run(*FRAMES, flag, stdin=lines("/cost")).code == 0
    assert ["/cost" in said(body) for body in cli.bodies()] == [True, True]


@pytest.mark.parametrize("text", ["/", "/ cost", "//cost", "/usr/bin/env is a path", "/tmp", "/etc is full"])
def test_what_is_a_path_or_no_name_is_a_prompt(cli, text) -> None:
    cli.script(wire.exchange(OK))
    done = cli.run(*FRAMES, stdin=lines(text))
    assert done.code == 0, done.out
    assert json.dumps(text) in said(cli.bodies()[0])


def test_files_that_come_and_go_in_a_session_are_seen(cli) -> None:
    folder = cli.home / ".config/caliban/commands"
    process = cli.begin(*FRAMES, stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None

    def ask(text: str) -> dict[str, Any]:
        process.stdin.write(lines(text))
        process.stdin.flush()
        while True:
            frame = json.loads(process.stdout.readline())
            if frame["type"] == "result":
                return frame

    cli.script(wire.exchange(OK), wire.exchange(OK))
    assert "there is no command /greet" in ask("/greet you")["error"]
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("Greet $1.")
    assert ask("/greet you")["result"] == "All is well."
    (folder / "greet.md").write_text("Greet $1 twice, please.")
    os.utime(folder / "greet.md", (1, 1))
    assert ask("/greet me")["result"] == "All is well."
    (folder / "greet.md").unlink()
    assert "there is no command /greet" in ask("/greet you")["error"]
    process.stdin.close()
    assert process.wait(HANG_S) == 1
    assert ["Greet you." in said(cli.bodies()[0]), "Greet me twice" in said(cli.bodies()[1])] == [True, True]


def test_a_file_that_appears_in_a_project_which_is_trusted_for_this_run_does_not_steer(cli) -> None:
    folder = cli.work / ".claude/commands"
    process = cli.begin(*FRAMES, "--trust-project", "--allow", "Bash", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(lines("/nothing"))
    process.stdin.flush()
    while json.loads(process.stdout.readline())["type"] != "result":
        pass
    folder.mkdir(parents=True)
    (folder / "go.md").write_text("!`touch made`")
    process.stdin.write(lines("/go"))
    process.stdin.close()
    result = json.loads(process.stdout.read().splitlines()[-1])
    assert process.wait(HANG_S) == 1
    assert "its project is not trusted" in result["error"]
    assert not (cli.work / "made").exists() and cli.server.requests == ()


def test_lines_of_a_command_file_pass_the_gate_in_frames_too(cli) -> None:
    folder = cli.home / ".config/caliban/commands"
    folder.mkdir(parents=True)
    (folder / "make.md").write_text("See: !`touch made`")
    done = cli.run(*FRAMES, stdin=lines("/make"))
    assert "'touch made' is not run" in done.of("result")[-1]["error"]
    assert not (cli.work / "made").exists() and cli.server.requests == ()
    cli.script(wire.exchange(OK))
    assert cli.run(*FRAMES, "--allow", "Bash(touch *)", stdin=lines("/make")).code == 0
    assert (cli.work / "made").exists()


def test_commands_look_at_the_session_that_goes_on_and_leave_it(cli) -> None:
    cli.script(wire.exchange(OK))
    assert cli.run("-p", "say hello", "--session", "one").code == 0
    path = cli.home / ".local/share/caliban/sessions/one.json"
    before = path.read_bytes()
    assert "2 messages" in cli.run("-c", "-p", "/context", env=NO_KEY).out
    with SessionStore(path.parent).open("one", create=False):  # somebody is at work on it
        assert "the session one\n" in cli.run("-c", "-p", "/usage", env=NO_KEY).out
    assert cli.run("-r", "one", "-p", "/export out.json", env=NO_KEY).code == 0
    exported = (cli.work / "out.json").read_text()
    assert "All is well." in exported and "cost_usd" in exported
    assert path.read_bytes() == before
    assert cli.run("-c", "-p", "/rename Hello there", env=NO_KEY).code == 0
    assert "Hello there" in cli.run("sessions", "list").out
    other = cli.run("-c", "-p", "/resume one two three", env=NO_KEY)
    assert (other.code, "no session here is like" in other.err) == (1, True)
    switched = cli.run("-p", "/resume one", env=NO_KEY)
    assert (switched.code, "caliban -r one -p" in switched.err) == (1, True)


def test_a_session_that_is_not_saved_is_exported_as_it_is_in_memory(cli) -> None:
    cli.script(wire.exchange(OK))
    done = cli.run(*FRAMES, "--no-save", stdin=lines("say hello", "/export out.md", "/usage", "/rename x"))
    assert "All is well." in (cli.work / "out.md").read_text()
    assert "no session is being written" in done.of("result")[-1]["error"]


def test_what_takes_memory_is_written_down(cli) -> None:
    done = cli.run(*FRAMES, stdin=lines("/heapdump", "/heapdump", "/heapdump stop"))
    shown = outputs(done)
    assert "bytes since it began" in shown[1] and "Bytes" in shown[1]
    (dump,) = (cli.home / ".cache/caliban/heap").iterdir()
    assert dump.stat().st_mode & 0o777 == 0o600


def test_a_file_that_nobody_trusts_attaches_nothing_by_a_flag_in_frames(cli) -> None:
    folder = cli.work / ".claude/commands"
    folder.mkdir(parents=True)
    (folder / "leak.md").write_text("Read @.env.")
    (cli.work / ".env").write_text("TOKEN=very-secret")
    cli.script(wire.exchange(OK))
    done = cli.run(*FRAMES, "--expand-files", stdin=lines("/leak"))
    assert done.code == 0 and "very-secret" not in said(cli.bodies()[0])
    assert "the files that /leak names are not attached" in done.out + done.err


def test_an_export_into_a_pipe_that_nobody_reads_is_refused_and_the_session_goes_on(cli) -> None:
    os.mkfifo(cli.work / "pipe")
    cli.script(wire.exchange(OK), wire.exchange(OK))
    done = cli.run(*FRAMES, stdin=lines("look", "/export pipe", "again"))
    assert done.code == 0
    assert "nobody reads it" in done.out
    assert len(cli.bodies()) == 2
