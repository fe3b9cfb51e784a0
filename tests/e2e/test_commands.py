"""What a person types by mistake, pipes in, or closes: the program says so, and no model is paid for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from command_kit import is_idle, needs_procfs, takes_signals
from hang_guard import HANG_S, wait_until

from caliban_common.testing import sample_image
from caliban_provider_anthropic.testing import wire

OK = wire.exchange(wire.text("ok"))
PNG = sample_image("image/png")


def asked(cli) -> str:
    """The text of the last request's prompt."""
    return cli.bodies()[-1]["messages"][-1]["content"][0]["text"]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--bare", "version"), 64),
        (("version",), 0),
        (("--settings", "{}", "completion", "bash"), 64),
        (("doctr",), 64),
        (("sessions",), 0),
        (("--bare", "plugin", "list"), 64),
        (("--output-format", "json", "modles"), 64),
        (("/compact",), 1),
    ],
    ids=["f001-version", "version", "flag-of-a-run", "f001-doctr", "f001-sessions", "later", "json", "slash"],
)
def test_a_word_that_is_a_command_is_never_sent(cli, flags, code):
    done = cli.run(*flags)
    assert done.code == code
    assert cli.server.requests == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('[audit]\npath = "x"\n', "audit.path"),
    ],
)
def test_f002_a_safeguard_that_is_not_there_refuses_the_run(cli, text, word):
    cli.configure(text)
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert f"`{word}` has no effect" in done.err
    assert cli.server.requests == ()


def test_f002_what_else_is_not_there_is_named_and_the_run_goes_on(cli):
    cli.configure("enable_telemetry = true\n")
    cli.script(OK)
    done = cli.run("-p", "hi")
    assert (done.code, done.out) == (0, "ok\n")
    assert "`enable_telemetry` has no effect" in done.err


def test_f002_hooks_that_a_flag_leaves_out_refuse_nothing(cli):
    cli.configure('[[hooks.PreToolUse]]\nmatcher = "*"\n')
    cli.script(OK, OK)
    assert cli.run("-p", "hi", "--no-hooks").code == 0
    assert cli.run("-p", "hi", env={"CALIBAN_NO_HOOKS": "1"}).code == 0


def test_f007_what_is_piped_in_beside_a_prompt_follows_it(cli, tmp_path):
    cli.script(OK, OK, OK)
    cli.run("-p", "Review", stdin=b"the diff")
    assert asked(cli) == "Review\n\nthe diff"
    cli.run("-p", "Review", stdin=b"")
    assert asked(cli) == "Review"
    file = tmp_path / "file"
    file.write_text("from a file")
    with file.open("rb") as stdin:
        cli.start("-p", "Review", stdin=stdin).communicate(timeout=HANG_S)
    assert asked(cli) == "Review\n\nfrom a file"


def test_f007_a_pipe_that_stays_silent_is_left_after_a_while(cli):
    cli.script(OK)
    reader, writer = os.pipe()
    try:
        process = cli.start("-p", "Review", stdin=reader)
        out, err = process.communicate(timeout=HANG_S)
    finally:
        os.close(reader)
        os.close(writer)
    assert (process.returncode, out) == (0, b"ok\n")
    assert b"nothing came on standard input within 3 s" in err
    assert asked(cli) == "Review"


@pytest.mark.parametrize(
    "data", ["hello ✓".encode("utf-16"), b"\xff\xfeh\0i\0", b"\xef\xbb\xbfhello", "hello".encode("utf-32")]
)
def test_f212_a_byte_order_mark_is_no_part_of_the_prompt(cli, data):
    cli.script(OK)
    assert cli.run("-p", "-", stdin=data).code == 0
    assert asked(cli) in ("hello ✓", "hi", "hello")


@pytest.mark.parametrize("data", [b"caf\xe9", b"\xff\xfeh\0\0\xd8"])
def test_f212_bytes_that_are_no_text_are_refused_with_their_place(cli, data):
    done = cli.run("-p", "-", stdin=data)
    assert done.code == 64
    assert "at offset" in done.err
    assert cli.server.requests == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_f212_files_of_flags_may_begin_with_a_byte_order_mark(cli, encoding):
    (cli.work / "system.txt").write_text("Be brief ✓", encoding=encoding)
    (cli.work / "schema.json").write_text('{"type": "object"}', encoding=encoding)
    cli.script(wire.exchange(wire.text("{}")))
    done = cli.run("-p", "hi", "--system-file", "system.txt", "--json-schema", "schema.json")
    assert done.code == 0
    assert "Be brief ✓" in json.dumps(cli.bodies()[-1]["system"], ensure_ascii=False)


@pytest.mark.parametrize("flag", ["--system-file", "--json-schema"])
def test_f212_files_of_flags_in_latin_1_are_refused(cli, flag):
    (cli.work / "file").write_bytes(b'{"type": "caf\xe9"}')
    done = cli.run("-p", "hi", flag, "file")
    assert (done.code, "0xe9 at offset" in done.err) == (64, True)


def test_f123_files_that_rules_or_the_fence_keep_are_not_attached(cli):
    (cli.work / ".env").write_text("TOKEN=canary")
    (cli.work / "note.txt").write_text("a note")
    (cli.home / ".ssh").mkdir()
    (cli.home / ".ssh" / "id_rsa").write_text("canary")
    (cli.work / "link.txt").symlink_to(cli.home / ".ssh" / "id_rsa")
    cli.script(OK, OK, OK, OK)
    prompt = "Look at @~/.ssh/id_rsa, @.env, @link.txt, @note.txt and @nope.py"
    done = cli.run("-p", prompt)
    sent = json.dumps(cli.bodies()[-1]["messages"])
    assert ("canary" in sent, "a note" in sent) == (False, True)
    for name in ("~/.ssh/id_rsa", ".env", "link.txt", "nope.py"):
        assert f"@{name} is not attached: " in done.err
    cli.run("-p", prompt, "--expand-files", "--deny", "Read:**/.env")
    assert "canary" not in json.dumps(cli.bodies()[-1])
    cli.run("-p", prompt, "--deny", "Read:**/note.txt")
    assert "a note" not in json.dumps(cli.bodies()[-1]["messages"])
    cli.run("-p", prompt, "--expand-files")
    assert "TOKEN=canary" in json.dumps(cli.bodies()[-1])


def test_f018_an_image_by_flag_is_attached(cli):
    (cli.work / "p.png").write_bytes(PNG)
    cli.script(OK)
    assert cli.run("-p", "What is it?", "--image", "p.png").code == 0
    assert cli.bodies()[-1]["messages"][-1]["content"][1]["type"] == "image"
    (cli.work / "text.png").write_text("no image")
    assert cli.run("-p", "hi", "--image", "text.png").code == 64
    assert cli.run("-p", "hi", "--image", "p.png", "--deny", "Read:**/p.png").code == 64


def test_f020_continue_stays_in_its_workspace_and_passes_over_what_is_corrupt(cli):
    cli.script(OK, OK, OK, OK)
    other = cli.work / "other"
    other.mkdir()
    assert cli.run("-p", "in the first", "--session", "first").code == 0
    assert cli.run("-c", "-p", "again", "--workspace", "other").code == 66
    assert cli.run("-c", "-p", "again", "--workspace", "other", "--all").code == 0
    assert len(cli.bodies()[-1]["messages"]) == 3
    assert cli.run("-c", "-p", "x").code == 66  # the session moved with its last use
    assert cli.run("-p", "in the first", "--session", "second").code == 0
    folder = cli.home / ".local" / "share" / "caliban" / "sessions"
    broken = folder / "third.json"
    broken.write_text("{ broken")
    os.utime(broken, (time.time() + 60, time.time() + 60))
    done = cli.run("-c", "-p", "more", "--output-format", "json")
    assert (done.code, done.json["session_id"]) == (0, "second")
    assert "third.json" in done.err and "passed over" in done.err


def test_f017_a_session_that_is_nearly_named_is_suggested(cli):
    cli.script(OK)
    cli.run("-p", "hi", "--session", "research")
    assert "did you mean research?" in cli.run("-p", "hi", "-r", "reserch").err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--provider", "antropic"), "did you mean anthropic?"),
        (("--permission-mode", "accept-edits"), "did you mean acceptEdits?"),
        (("--deny", "Shell:ls"), "did you mean Bash?"),
        (("--ask", "Writ"), "did you mean Write?"),
        (("--output-format", "stream"), "did you mean stream-json?"),
    ],
)
def test_f017_near_names_are_suggested_wherever_one_is_read(cli, flags, words):
    done = cli.run("-p", "hi", *flags)
    assert (done.code, words in done.err) == (64, True), done.err


def test_f017_an_allow_rule_for_no_tool_is_said(cli):
    cli.script(OK)
    done = cli.run("-p", "hi", "--allow", "Shell:ls")
    assert done.code == 0
    assert "there is no tool Shell; did you mean Bash?" in done.err


def test_f021_the_end_of_a_run_says_what_it_came_to_and_how_to_go_on(cli):
    cli.script(OK, OK, OK)
    done = cli.run("-p", "hi", "--session", "s")
    (line,) = done.err.splitlines()
    assert line.startswith("caliban: 1 turn, ")
    assert "tokens in" in line and " s; go on: caliban -r s" in line and "$" in line
    assert cli.run("-p", "hi", "--quiet").err == ""
    assert cli.run("-p", "hi", "--no-save").err.rstrip().endswith("not saved")


def test_f025_a_call_that_failed_says_why(cli):
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "nope.txt"})), OK)
    done = cli.run("-p", "hi")
    assert "caliban: Read failed: " in done.err and "nope.txt" in done.err


def test_text_on_a_pipe_is_the_last_message_alone(cli):
    first = wire.exchange(wire.text("Let me look."), wire.tool_use("Glob", {"pattern": "*"}))
    cli.script(first, wire.exchange(wire.text("Nothing there.")))
    assert cli.run("-p", "hi").out == "Nothing there.\n"


@pytest.mark.parametrize("flags", [(), ("--output-format", "json"), ("--output-format", "stream-json")])
def test_f024_a_closed_standard_output_is_told_before_anything_is_asked(cli, flags):
    words = [sys.executable, "-m", "caliban", "-p", "hi", *flags]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words],
        cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert b"standard output cannot be written" in done.stderr
    assert cli.server.requests == ()


@pytest.mark.parametrize(
    "flags", [("--settings", "{"), ("--provider", "none"), ("--session", "a/b"), ("--max-turns", "x")]
)
def test_f028_a_run_that_cannot_start_has_one_init_and_one_result(cli, flags):
    done = cli.run("-p", "hi", "--output-format", "stream-json", *flags)
    assert [frame["type"] for frame in done.frames] == ["system", "result"]
    assert done.frames[0]["subtype"] == "init"


def test_f028_init_names_the_fallback_and_the_day_of_the_prices(cli):
    cli.script(OK)
    done = cli.run("-p", "hi", "--output-format", "stream-json", "--fallback-model", "claude-haiku-4-5")
    init = done.frames[0]
    assert init["fallback_model"] == "anthropic/claude-haiku-4-5"
    assert len(init["prices_as_of"]) == len("2026-11-28")


@pytest.mark.parametrize("limit", range(4, 12))
@pytest.mark.parametrize("format_name", ["json", "stream-json"])
def test_f510_one_result_whatever_the_number_of_files(cli, limit, format_name):
    cli.script(OK)
    words = [sys.executable, "-m", "caliban", "-p", "hi", "--output-format", format_name]
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *words],
        cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    if not done.stdout:  # the interpreter itself could not start
        assert limit < 6 and done.returncode != 0
        return
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert [frame["type"] for frame in frames].count("result") == 1
    assert frames[-1]["type"] == "result"
    assert b"Traceback" not in done.stderr
    assert b"a fault in caliban" not in done.stderr


@pytest.mark.parametrize("part", ["caliban_headless.run", "msgspec", "anyio"])
def test_a_part_that_is_missing_is_named(cli, part):
    """Files there are enough of: whoever is told of a limit looks in the wrong place."""
    program = (
        f"import sys; sys.modules[{part!r}] = None; sys.argv[0] = 'caliban'\n"
        "from caliban.__main__ import main; main()"
    )
    words = [sys.executable, "-c", program, "-p", "hi", "--output-format", "json"]
    done = subprocess.run(
        words, cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S
    )
    result = json.loads(done.stdout)
    assert (done.returncode, result["type"], result["subtype"]) == (1, "result", "error")
    assert "is missing; install it again" in result["error"]
    assert (
        f"is missing; install it again (ModuleNotFoundError: import of {part} halted" in done.stderr.decode()
    )
    assert b"Traceback" not in done.stderr and b"ulimit" not in done.stderr


@needs_procfs
def test_f510_a_second_interrupt_leaves_one_result(cli):
    process = cli.begin("-p", "-", "--output-format", "json", stdin=subprocess.PIPE)
    wait_until(lambda: takes_signals(process.pid))
    wait_until(lambda: is_idle(process.pid))
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    out, err = process.communicate(timeout=HANG_S)
    assert process.returncode in (124, 130)
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["result"], err


@pytest.mark.parametrize("directory", ["~", "/", "..", "../.."])
def test_f126_a_directory_that_opens_everything_is_refused(cli, directory):
    cli.configure(f'additional_directories = ["docs", "{directory}"]\n')
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert f"additional_directories: '{directory}' is " in done.err


def test_f122_a_project_chooses_no_provider_until_it_is_trusted(cli):
    folder = cli.work / ".caliban"
    folder.mkdir()
    (folder / "settings.toml").write_text(
        'max_turns = 99\n[model]\nprovider = "openai"\nname = "gpt-x"\n[fallback_model]\nname = "y"\n'
    )
    cli.script(OK)
    done = cli.run("-p", "hi")
    assert done.code == 0
    assert "`model`" in done.err and "no effect until this project is trusted" in done.err
    assert "`max_turns`" in done.err
    assert cli.run("-p", "hi", "--trust-project").code == 78  # there is no key for openai


def test_f029_perms_says_why_under_the_conditions_of_a_run(cli):
    done = cli.run("perms", "test", "Bash")
    assert (done.code, "reason: " in done.out) == (1, True)
    done = cli.run("perms", "test", "Bash", "--permission-mode", "bypassPermissions")
    assert done.code == 64
    assert "--allow-dangerously-skip-permissions" in done.err


def test_f019_doctor_says_whether_a_run_would_work(cli):
    done = cli.run("doctor", env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""})
    assert done.code == 1
    assert "✗ run — would not start: there is no API key for anthropic" in done.out
    done = cli.run("doctor", env={"ANTHROPIC_BASE_URL": "", "OLLAMA_BASE_URL": "http://127.0.0.1:9"})
    assert done.code == 0
    assert "✓ run — asks anthropic for " in done.out and "ANTHROPIC_API_KEY" in done.out
    assert "! ollama — no run uses it now" in done.out


def test_f023_help_of_a_command_by_three_roads(cli):
    texts = {cli.run(*words).out for words in (("help", "doctor"), ("doctor", "-h"), ("-h", "doctor"))}
    assert len(texts) == 1
    assert next(iter(texts)).startswith("usage: caliban doctor")
    assert cli.run("help", "docter").code == 64
