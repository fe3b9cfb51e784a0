"""Flags in odd company, and what a newcomer is told."""

from __future__ import annotations

import subprocess

import pytest
from hang_guard import HANG_S

from caliban_provider_anthropic.testing import wire

OK = wire.exchange(wire.text("ok"))


def asked(cli) -> str:
    """The prompt of the last request."""
    return cli.bodies()[-1]["messages"][-1]["content"][0]["text"]


@pytest.mark.parametrize(
    ("flags", "prompt"),
    [
        (["-phi"], "hi"),
        (["-p=hi"], "hi"),
        (["--print=hi"], "hi"),
        (["-p", "--", "-dash"], "-dash"),
        (["--", "-dash"], "-dash"),
        (["-p", "--prompt", "hi"], "hi"),
        (["hi", "-p"], "hi"),
    ],
)
def test_a_prompt_is_found_wherever_it_stands(cli, flags, prompt):
    cli.script(OK)
    assert cli.run(*flags).code == 0
    assert asked(cli) == prompt


@pytest.mark.parametrize("flags", [["-p", "a", "b"], ["-p", "a", "--prompt", "b"], ["--prompt", "a", "b"]])
def test_of_several_prompts_the_first_counts_and_the_other_is_named(cli, flags):
    cli.script(OK)
    done = cli.run(*flags)
    assert (done.code, asked(cli)) == (0, "a")
    assert "this one is not used: b" in done.err


@pytest.mark.parametrize("flags", [["-p", ""], ["--print="], ["--prompt", " "], [""]])
def test_an_empty_prompt_is_refused_without_waiting_for_standard_input(cli, flags):
    process = cli.begin(*flags, stdin=subprocess.PIPE)
    assert process.wait(HANG_S) == 64
    assert process.stderr is not None
    assert b"the prompt is empty" in process.stderr.read()


@pytest.mark.parametrize(
    "flag",
    [
        "--model",
        "--provider",
        "--session",
        "--resume",
        "--sessions-dir",
        "--workspace",
        "--system-file",
        "--settings",
        "--json-schema",
        "--allow",
        "--deny",
        "--permission-mode",
    ],
)
def test_an_empty_value_is_a_mistake_and_never_the_default(cli, flag):
    done = cli.run("-p", "hi", flag, "")
    assert done.code == 64
    assert flag in done.err and "empty" in done.err
    assert cli.server.requests == ()


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "1.5", "٣", "1e3", ""])
def test_a_number_that_is_none_is_refused_in_a_short_line(cli, number):
    done = cli.run("-p", "hi", "--max-turns", number)
    assert done.code == 64
    assert "--max-turns: must be a whole number" in done.err
    assert len(done.err) < 300


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        (["-p", "hi", "--outputformat", "json"], "did you mean --output-format?"),
        (["-p", "-x"], "stands after --"),
        (["-p", "fix", "the", "bug"], "stands in quotes"),
        (["agents"], "there is no command 'agents' in this version"),
        (["mcp", "frobnicate"], "caliban mcp --help"),
        (["perms", "frobnicate"], "caliban perms --help"),
    ],
)
def test_a_mistake_is_answered_with_what_was_probably_meant(cli, flags, advice):
    done = cli.run(*flags)
    assert done.code == 64
    assert advice in done.err
    assert cli.server.requests == ()


def test_help_is_a_word_too(cli):
    assert cli.run("help").out == cli.run("--help").out != ""


@pytest.mark.parametrize(
    ("value", "mode"), [("", "default"), ("0", "default"), ("false", "default"), ("1", "disabled")]
)
def test_a_switch_in_the_environment_can_say_no(cli, value, mode):
    cli.script(OK)
    done = cli.run("-p", "hi", "--output-format", "stream-json", env={"CALIBAN_NO_PERMISSIONS": value})
    assert done.frames[0]["permission_mode"] == mode


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CALIBAN_NO_PERMISSIONS", "maybe"),
        ("CALIBAN_AUTO_ALLOW", "2"),
        ("CALIBAN_DEFAULT_PERMISSION_MODE", "yolo"),
        ("CALIBAN_PARALLEL_TOOL_LIMIT", "many"),
        ("CALIBAN_PARALLEL_TOOL_LIMIT", "9" * 5000),
    ],
)
def test_a_doubtful_variable_is_named(cli, name, value):
    done = cli.run("-p", "hi", env={name: value})
    assert done.code == 64
    assert name in done.err
    assert cli.server.requests == ()


@pytest.mark.parametrize("flag", ["--workspace", "--system-file", "--json-schema", "--sessions-dir"])
def test_a_path_that_no_system_takes_is_an_error_in_words(cli, flag):
    done = cli.run("-p", "hi", flag, "/" + "x" * 5000)
    assert done.code in (64, 66, 78)
    assert "fault in caliban" not in done.err


def test_a_schema_fetches_nothing(cli):
    done = cli.run("-p", "hi", "--json-schema", '{"$ref":"http://127.0.0.1:9/x"}')
    assert done.code == 64
    assert "nothing is fetched" in done.err


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONWARNINGS": "error"},
        {"PYTHONDEVMODE": "1"},
        {"PYTHONASYNCIODEBUG": "1", "PYTHONDEVMODE": "1"},
        {"TERM": "dumb", "NO_COLOR": "1"},
        {"HOME": ""},
        {"HOME": "/nonexistent/home"},
    ],
)
def test_no_environment_makes_it_talk(cli, env):
    cli.script(OK)
    done = cli.run("-p", "hi", "--no-save", env=env)
    slow = ("Executing <", "caliban: 1 turn, ")  # a slow machine; the sum at the end
    lines = [line for line in done.err.splitlines() if not line.startswith(slow)]
    assert (done.code, done.out, lines) == (0, "ok\n", [])


def test_an_image_that_is_not_there_is_not_told_to_be_too_large(cli):
    done = cli.run("-p", "hi", "--image", "nowhere.png")
    assert (done.code, "no such file" in done.err, "--max-attach-bytes" in done.err) == (64, True, False)
    (cli.work / "large.png").write_bytes(b"x" * 11)
    done = cli.run("-p", "hi", "--image", "large.png", "--max-attach-bytes", "10")
    assert (done.code, "--max-attach-bytes" in done.err) == (64, True)
