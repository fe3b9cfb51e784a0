"""What is wrong is said: a clear message, the documented code, no traceback, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hang_guard import HANG_S

from caliban_provider.testing.exchange import Close, Reset
from caliban_provider_anthropic.testing import wire


def clean(done) -> bool:
    return "Traceback" not in done.err and "Exception" not in done.err


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (400, "invalid_request_error"),
    ],
)
def test_b092_a_refusal_of_the_provider_is_told_in_every_format(cli, output, status, kind):
    cli.script(wire.failure(status, kind, "the reason of the server"))
    done = cli.run("-p", "hi", "--output-format", output)
    assert done.code == 1
    assert clean(done)
    if output == "text":
        assert done.out == ""
        assert "the reason of the server" in done.err
    else:
        assert "the reason of the server" in done.frames[-1]["error"]
        assert done.frames[-1]["is_error"] is True


@pytest.mark.parametrize(("status", "kind"), [(500, "api_error"), (529, "overloaded_error")])
def test_a_server_that_fails_is_asked_again_and_then_given_up(cli, status, kind):
    cli.script(*(wire.failure(status, kind, "no luck", retry_after="0") for _ in range(20)))
    done = cli.run("-p", "hi")
    assert done.code == 1
    assert "no luck" in done.err
    assert 2 <= len(cli.server.requests) <= 12


def test_b064_five_rate_limits_that_name_a_delay_are_waited_out(cli):
    limits = [
        wire.failure(429, "rate_limit_error", "slow down", retry_after_ms="40"),
        wire.failure(429, "rate_limit_error", "Please try again in 0.05s"),
        wire.failure(429, "rate_limit_error", "slow down", retry_after="0.05"),
        wire.failure(429, "rate_limit_error", "slow down", retry_after_ms="40"),
        wire.failure(429, "rate_limit_error", "slow down", retry_after_ms="40"),
    ]
    cli.script(*limits, wire.exchange(wire.text("at last")))
    done = cli.run("-p", "hi")
    assert (done.code, done.out) == (0, "at last\n")
    assert "asking again in" in done.err


def test_b064_an_absurd_delay_is_not_waited_for(cli):
    cli.script(wire.failure(429, "rate_limit_error", "come back tomorrow", retry_after="86400"))
    done = cli.run("-p", "hi")
    assert done.code == 1
    assert "come back tomorrow" in done.err
    assert len(cli.server.requests) == 1


@pytest.mark.parametrize("end", [Close(), Reset()])
def test_a_stream_cut_after_content_is_an_error_and_keeps_the_words(cli, end):
    cli.script(*(wire.broken(wire.text("partial words"), after=4, end=end) for _ in range(3)))
    done = cli.run("-p", "hi", "--output-format", "json")
    assert (done.code, done.json["subtype"]) == (1, "error")
    assert done.json["last_assistant_text"] == "partial words"
    assert clean(done)


def test_a_server_that_is_not_there_is_named(cli):
    done = cli.run("-p", "hi", env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    assert done.code == 1
    assert "127.0.0.1" in done.err
    assert clean(done)


def test_garbage_instead_of_events_is_an_error(free_cli):
    from caliban_provider.testing.exchange import sse

    free_cli.script(sse(b"event: message_start\ndata: {broken\n\n"))
    done = free_cli.run("-p", "hi")
    assert done.code == 1
    assert done.err
    assert clean(done)


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--frobnicate"], "--frobnicate"),
        (["--max-turns", "many"], "max-turns"),
        (["--max-tokens", "0"], "max-tokens"),
        (["--temperature", "9"], "temperature"),
        (["--permission-mode", "yolo"], "yolo"),
        (["--permission-mode", "bypassPermissions"], "allow-dangerously-skip-permissions"),
        (["--no-permissions", "--allow", "Bash"], "--no-permissions"),
        (["--system", "a", "--no-system"], "--system"),
        (["-c", "-r", "x"], "--continue"),
        (["--max-budget-usd", "much"], "much"),
        (["--workspace", "/no/such/dir"], "/no/such/dir"),
        (["--workspace", "/dev/null"], "not a directory"),
        (["--input-format", "stream-json", "inline"], "standard input"),
    ],
)
def test_wrong_usage_is_code_64_with_the_word_that_was_wrong(cli, flags, word):
    done = cli.run("-p", "hi", *flags)
    assert done.code == 64
    assert word in done.err
    assert done.out == ""
    assert clean(done)


def test_a_wrong_flag_beside_a_json_format_gives_a_result_object(cli):
    done = cli.run("-p", "hi", "--output-format", "json", "--frobnicate")
    assert (done.code, done.json["subtype"], done.json["is_error"]) == (64, "error", True)


def test_an_unknown_provider_names_those_that_are_there(cli):
    done = cli.run("-p", "hi", "--provider", "banana")
    assert done.code != 0
    assert "banana" in done.err and "anthropic" in done.err
    assert clean(done)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"model = ", "settings.toml"),
        (b"permissions = 3\n", "permissions"),
        (b"\xff\xfe\x00", "settings.toml"),
        (b"max_turns = 'many'\n", "max_turns"),
    ],
)
def test_settings_that_cannot_be_used_are_code_78_with_their_file(cli, text, word):
    directory = cli.home / ".config" / "caliban"
    directory.mkdir(parents=True)
    (directory / "settings.toml").write_bytes(text)
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert "settings.toml" in done.err and word in done.err
    assert clean(done)


def test_settings_that_are_a_pipe_do_not_hang(cli):
    directory = cli.home / ".config" / "caliban"
    directory.mkdir(parents=True)
    os.mkfifo(directory / "settings.toml")
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert "settings.toml" in done.err


def test_unknown_settings_are_warned_about_and_harmless(cli):
    directory = cli.home / ".config" / "caliban"
    directory.mkdir(parents=True)
    (directory / "settings.toml").write_text("frobnicate = 1\n")
    cli.script(wire.exchange(wire.text("x")))
    done = cli.run("-p", "hi")
    assert (done.code, done.out) == (0, "x\n")
    assert "frobnicate" in done.err


def test_standard_input_above_its_bound_is_code_78(cli):
    done = cli.run("-p", "-", stdin=b"x" * (10 * 1024 * 1024 + 1))
    assert done.code == 78
    assert cli.server.requests == ()


def test_b095_a_prompt_of_a_megabyte_arrives_whole(free_cli):
    free_cli.script(wire.exchange(wire.text("got it")))
    prompt = b"y\n" * 500_000
    done = free_cli.run("-p", stdin=prompt)
    assert done.out == "got it\n"
    sent = free_cli.bodies()[0]["messages"][0]["content"][0]["text"]
    assert sent.strip() == prompt.decode().strip()


def test_a_dash_and_a_prompt_are_put_together(cli):
    cli.script(wire.exchange(wire.text("x")))
    cli.run("-p", "-", "review this", stdin=b"the diff")
    assert cli.bodies()[0]["messages"][0]["content"][0]["text"] == "review this\n\nthe diff"


@pytest.mark.parametrize("how", ["pipe", "closed", "null", "new session"])
def test_b088_a_prompt_argument_never_waits_for_standard_input(cli, how):
    cli.script(wire.exchange(wire.text("answer")))
    options = {
        "pipe": {"stdin": subprocess.PIPE},
        "closed": {"stdin": None, "preexec_fn": lambda: os.close(0)},
        "null": {"stdin": subprocess.DEVNULL},
        "new session": {"stdin": subprocess.DEVNULL, "start_new_session": True},
    }[how]
    process = cli.start("-p", "hi", **options)
    assert process.stdout is not None
    assert process.stdout.read() == b"answer\n"
    assert process.wait(HANG_S) == 0


def test_b096_a_reader_that_goes_away_ends_the_run_quietly(cli):
    cli.script(wire.exchange(wire.text("word " * 100_000, piece_chars=50)))
    process = cli.start(
        "-p", "hi", "--output-format", "stream-json", "--include-partial-messages", "--session", "s"
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(HANG_S) == 141
    assert b"Traceback" not in err and b"Exception" not in err
    assert (cli.home / ".local/share/caliban/sessions/s.json").exists()


def test_b096_help_into_a_closed_pipe_is_quiet(cli):
    command = f"{sys.executable} -m caliban --help | true"
    done = subprocess.run(command, shell=True, capture_output=True, env=cli.env, timeout=HANG_S)
    assert done.stderr == b""


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}, {"LC_ALL": "zh_CN.GBK"}]
)
def test_b098_everything_is_utf8_whatever_the_locale(cli, locale):
    cli.script(
        wire.exchange(wire.tool_use("Write", {"path": "e.txt", "content": "→ 🌍\n"})),
        wire.exchange(wire.text("→ 🌍")),
        wire.exchange(wire.text("ü")),
    )
    done = cli.run("-p", "hi ü", "--session", "s", "--permission-mode", "acceptEdits", env=locale)
    assert (done.code, done.out) == (0, "→ 🌍\n")
    assert (cli.work / "e.txt").read_bytes() == "→ 🌍\n".encode()
    assert cli.bodies()[0]["messages"][0]["content"][0]["text"] == "hi ü"
    assert cli.run("-p", "again", "-r", "s", env=locale).out == "ü\n"
    assert cli.run("--help", env=locale).code == 0
