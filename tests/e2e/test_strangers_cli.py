"""What an impatient stranger tries at the command line: no false success, no hint that leads nowhere."""

from __future__ import annotations

import json
import resource
import signal
import subprocess

import pytest
from hang_guard import HANG_S, wait_until
from host_kit import FrameHost

from caliban_provider_anthropic.testing import wire

HOST = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
SCHEMA = ("-p", "go", "--output-format", "json", "--json-schema")


def lines(*frames) -> bytes:
    return b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param('{"n":' * 5000 + "1" + "}" * 5000, id="too_deep"),
        pytest.param('{"n":' * 900 + "1" + "}" * 900, id="too_deep_for_the_writer"),
        pytest.param('{"n":NaN}', id="nan"),
        pytest.param('{"n":-Infinity}', id="infinity"),
        pytest.param('{"n":1e999}', id="beyond_floats"),
    ],
)
def test_an_answer_that_cannot_be_written_as_json_is_asked_for_again(cli, first):
    cli.script(wire.exchange(wire.text(first)), wire.exchange(wire.text('{"n":7}')))
    done = cli.run(*SCHEMA, '{"type":"object"}')
    assert (done.code, done.json["structured_output"]) == (0, {"n": 7})
    assert len(cli.bodies()) == 2


def test_a_part_of_what_is_too_deep_is_no_answer(cli):
    deep = '{"n":' * 5000 + "1" + "}" * 5000
    cli.script(*[wire.exchange(wire.text(f"here it is: {deep}")) for _ in range(3)])
    done = cli.run(*SCHEMA, '{"type":"object"}')
    assert (done.code, done.json["is_error"], "structured_output" in done.json) == (2, True, False)


@pytest.mark.parametrize(
    ("schema", "why", "way"),
    [
        ('{"not":' * 3000 + "{}" + "}" * 3000, "--json-schema is nested too deeply", ""),
        ('{"$ref":"http://127.0.0.1:9/x"}', "nothing is fetched, and it refers to", "#/$defs/NAME"),
        ('{"$schema":"nope"}', "Unknown meta-schema: 'nope'\n", "leave $schema out"),
    ],
)
def test_a_schema_is_refused_in_the_words_of_its_author(cli, schema, why, way):
    done = cli.run("-p", "go", "--json-schema", schema)
    assert done.code == 64
    assert why in done.err and way in done.err
    for word in ("recursion", "ValueError", "registry", "registered"):
        assert word not in done.err


def test_what_a_host_leaves_out_is_told_as_that(cli):
    cli.script(wire.exchange(wire.text("done")))
    request = {"subtype": "mcp_message", "message": {"method": "x"}}
    frames = (
        {"type": "control_response"},
        {"type": "control_response", "response": {"request_id": "r9", "subtype": "success"}},
        {"type": "control_request", "request_id": "r1", "request": request},
        {"type": "user", "content": "go"},
    )
    done = cli.run(*HOST, stdin=lines(*frames))
    assert done.code == 0
    assert "names no request_id" in done.err and "no question r9" in done.err
    (answer,) = done.of("control_response")
    assert answer["response"]["error"] == "mcp_message says no server_name"
    assert "None" not in done.err + answer["response"]["error"]


def test_a_request_that_nobody_serves_is_answered_while_a_tool_runs(cli):
    line = "until [ -e go ]; do sleep 0.02; done"
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": line})), wire.exchange(wire.text("done")))
    host = FrameHost(cli, "--allow", "Bash")
    host.say({"type": "user", "content": "go"})
    host.until("tool_use")
    try:
        unknown, known = host.ask("frobnicate"), host.ask("interrupt")
    finally:
        (cli.work / "go").touch()
    assert unknown["error"] == "control requests of 'frobnicate' are not part of this version"
    frame = json.loads(known["error"].partition(": ")[2])
    assert frame == {"type": "control", "subtype": "interrupt"}
    assert host.until("result")[-1]["result"] == "done"
    host.process.communicate(timeout=HANG_S)


def no_file_grows() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_nobody_is_sent_to_a_session_that_was_not_saved(cli):
    cli.script(wire.exchange(wire.text("done")))
    process = cli.start("-p", "go", preexec_fn=no_file_grows)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out) == (78, b"done\n")
    assert b"the session is not saved any more" in err and b"hint: free some space" in err
    assert b"; not saved\n" in err and b"caliban -r" not in err


def test_a_server_that_prints_without_end_holds_nothing_up(cli):
    cli.configure('[mcp_servers.loud]\ncommand = "yes"\nstart_timeout_s = 1\n')
    cli.script(wire.exchange(wire.text("done")))
    done = cli.run("-p", "go")
    assert (done.code, done.out) == (0, "done\n")
    assert "the MCP server loud is not there" in done.err


def test_an_interrupt_ends_a_run_whose_server_prints_without_end(cli):
    cli.configure('[mcp_servers.loud]\ncommand = "sh"\nargs = ["-c", "touch on; exec yes"]\n')
    process = cli.start("-p", "go")
    wait_until((cli.work / "on").exists)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 124, err


@pytest.mark.parametrize("words", [("rewind",), ("rewind", "nope", "--list"), ("rewind", "--to", "1")])
def test_rewind_names_no_flags_of_a_run(cli, words):
    done = cli.run(*words)
    assert done.code == 66
    assert "--continue" not in done.err and "--session " not in done.err
    assert "caliban sessions list --all" in done.err


def test_a_command_that_finds_a_session_in_use_says_what_can_be_done_about_it(cli):
    cli.script(wire.exchange(wire.text("one")))
    assert cli.run("-p", "go", "--session", "s").code == 0
    held = cli.start(*HOST, "-r", "s", stdin=subprocess.PIPE)
    assert held.stdout is not None
    assert b'"init"' in held.stdout.readline()
    ended = {
        words[0]: cli.run(*words)
        for words in (("sessions", "rename", "s", "t"), ("rewind", "s", "--to", "1", "--conversation"))
    }
    run = cli.run("-p", "more", "-r", "s")
    held.communicate(timeout=HANG_S)
    for done in ended.values():
        assert done.code == 1 and "is in use by process" in done.err
        assert "hint: wait until that has ended, or end it\n" in done.err
    assert "--fork-session" in run.err


def test_a_folder_for_sessions_that_cannot_be_is_no_matter_of_saving_for_a_command(cli):
    (cli.home / "file").write_text("")
    (cli.work / "t.jsonl").write_bytes(
        lines({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}})
    )
    done = cli.run("sessions", "import", "t.jsonl", "--sessions-dir", str(cli.home / "file"))
    assert done.code != 0
    assert "--sessions-dir DIR" in done.err and "--no-save" not in done.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("help", "sessions", "nope"), "caliban sessions has no 'nope'"),
        (("help", "version", "more"), "caliban version has no 'more'"),
    ],
)
def test_help_for_what_there_is_not_is_refused(cli, words, why):
    done = cli.run(*words)
    assert (done.code, done.out) == (64, "")
    assert why in done.err and f"caliban help {words[1]}" in done.err


def test_help_for_a_verb_is_that_of_the_verb(cli):
    assert "usage: caliban mcp add" in cli.run("help", "mcp", "add").out


def test_behind_a_verb_nobody_is_told_about_prompts(cli):
    done = cli.run("perms", "remove", "Bash")
    assert done.code == 64
    assert "prompt" not in done.err and "caliban perms remove --help" in done.err


@pytest.mark.parametrize(
    ("words", "why", "way"),
    [
        (("hooks", "5"), "`hooks` is a table", "name hooks.NAME with a name of its own in place of NAME"),
        (("mcp_servers.x", "5"), "`mcp_servers.x` is a table", "name one of type, "),
        (("max_turns", "99999999999999999999"), "could not be read again", "more than 64 bits"),
    ],
)
def test_a_setting_that_cannot_be_set_is_refused_for_its_own_reason(cli, words, why, way):
    done = cli.run("config", "set", *words)
    assert done.code != 0
    assert why in done.err and way in done.err
    assert "form of this file" not in done.err
    assert not (cli.home / ".config" / "caliban" / "settings.toml").exists()


URLS = ("http://", "https://a b/", "http://[::1", "http://h:99999/", "ftp://x", "nope")


@pytest.mark.parametrize("url", URLS)
def test_a_server_at_no_address_is_not_written(cli, url):
    done = cli.run("mcp", "add", "x", "--transport", "http", url)
    assert (done.code, done.out) == (64, "")
    assert "the url of the server 'x' is no http or https address" in done.err
    assert not (cli.home / ".config" / "caliban" / "settings.toml").exists()


def test_a_server_whose_address_a_variable_completes_is_written(cli):
    given = json.dumps({"type": "http", "url": "${WHERE}/mcp"})
    assert cli.run("mcp", "add-json", "x", given).code == 0
    assert cli.run("mcp", "add-json", "y", '{"type":"http","url":"nope"}').code == 64


def test_an_unknown_format_has_a_hint_that_names_the_known_ones(cli):
    done = cli.run("sessions", "export", "s", "--format", "x")
    assert done.code == 2
    assert done.err == "caliban: unknown format 'x'\nhint: it takes md, json or html\n"


@pytest.mark.parametrize(
    "flags", [("-p", "a", "-p", "b"), ("--prompt", "a", "--prompt=b"), ("-p", "a", "--print=b")]
)
def test_of_two_prompts_none_is_lost_without_a_word(cli, flags):
    done = cli.run(*flags)
    assert done.code == 64 and "is there twice, and one prompt is asked at a time" in done.err
    assert cli.bodies() == []


def test_a_log_that_cannot_be_read_is_not_said_to_be_empty(cli):
    state = cli.home / ".local" / "state" / "caliban"
    state.parent.mkdir(parents=True)
    state.write_text("no directory")
    done = cli.run("perms", "audit")
    assert (done.code, done.out) == (1, "")
    assert "unreadable after line 0: not a directory" in done.err and "Errno" not in done.err


NO_TEXT = "caf\udce9"
"""What a word of the command line is whose bytes are no UTF-8."""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mcp", "add", "t", "--", f"/bin/{NO_TEXT}"), "a text in its command that is no UTF-8"),
        (("mcp", "add", "t", "--env", f"A={NO_TEXT}", "--", "x"), "a text in its env that is no UTF-8"),
        (("mcp", "add-json", "t", r'{"command":"x\ud800"}'), r"\ud800 is half of a character"),
        (("config", "set", "env.A", NO_TEXT), "`env.A`: not UTF-8 text"),
        (("plugin", "validate", "plug"), r"plugin.json: no JSON: \udfff is half of a character"),
    ],
)
def test_what_is_no_text_is_refused_where_text_is_kept(cli, words, told):
    manifest = cli.work / "plug" / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(r'{"name":"p","version":"1.0.0","description":"a \udfff b"}')
    done = cli.run(*words)
    assert done.code in (1, 2, 64, 78) and told in done.err
    assert "fault" not in done.err
    assert not list(cli.home.rglob("settings.toml")) and not list(cli.home.rglob("mcp.toml"))
