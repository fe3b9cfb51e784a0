"""Rows of the class resource that are not about permission rules: what has no end is ended or refused."""

from __future__ import annotations

import json
import os
import sys
import zipfile

import pytest
from calls_kit import results, run_calls

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are those of POSIX")
BASH = ("--allow", "Bash")
OK = wire.exchange(wire.text("ok"))


def bash(cli, command: str, **more):
    (text,), done = run_calls(cli, ("Bash", {"command": command, **more}), flags=BASH)
    return text, done


def test_s753_output_without_end_keeps_head_and_tail(cli):
    text, _ = bash(cli, "yes", timeout_seconds=1)
    assert "timed out" in text and len(text) < 60_000


def test_s757_a_command_that_waits_for_input_gets_none(cli):
    assert "→ Exit code: 0" in bash(cli, "cat; read x; test -t 0 || echo none")[0]


@pytest.mark.parametrize("size", [pytest.param(140_000, id="s758"), 131_072, 2_000_000])
def test_a_command_that_is_too_long_is_a_clean_error(cli, size):
    text, done = bash(cli, "x" * size)
    assert ("too long" in text or "longer" in text) and "Traceback" not in done.err, text[:300]


def test_s759_a_line_of_a_megabyte_is_cut(cli):
    text, done = bash(cli, 'head -c 1000000 /dev/zero | tr "\\0" "a"')
    assert len(text) < 60_000 and len(done.err) < 10_000


def raw_call(cli, raw: str):
    """Let the model send `raw` as the input of Bash; what it is told of it."""
    block = wire.tool_use("Bash", raw)
    cli.script(wire.exchange(block), OK)
    return cli.run("-p", "go", *BASH)


RAW = [
    pytest.param('{"command":' + "[" * 100_000 + "]" * 100_000 + "}", id="s760"),
    pytest.param('{"a":' * 5_000 + "1" + "}" * 5_000, id="own-objects"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":1e400}', id="s761-1e400"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":NaN}', id="s761-nan"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":Infinity}', id="s761-infinity"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":-Infinity}', id="own-minus"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":' + "9" * 5_000 + "}", id="s761-digits"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":99999}', id="own-range"),
    pytest.param('{"command":"touch PWNED","timeout_seconds":0}', id="own-zero"),
    pytest.param('{"command":"ls","command":"touch PWNED"}', id="s762"),
    pytest.param('{"command":"ls","comm\\u0061nd":"touch PWNED"}', id="own-escaped-key"),
    pytest.param('{"command":"touch PWNED \\ud800"}', id="s763"),
    pytest.param('{"command":"touch PWNED","cwd":"\\udc00"}', id="own-surrogate"),
]


@pytest.mark.parametrize("raw", RAW)
def test_input_that_could_be_read_in_two_ways_or_has_no_end_runs_nothing(cli, raw):
    done = raw_call(cli, raw)
    assert not (cli.work / "PWNED").exists()
    assert (done.code, "Traceback" in done.err) == (0, False), done.err
    (text,) = results(cli)
    assert text.startswith(("Error: ", "Tool call denied: ")), text[:300]
    for path in (cli.home / ".local" / "share" / "caliban" / "sessions").iterdir():
        if path.is_file():
            path.read_bytes().decode("utf-8")


SETTINGS = [
    pytest.param("x = " + "[" * 1000 + "]" * 1000, id="s764"),
    pytest.param("x = " + "{a=" * 1000 + "1" + "}" * 1000, id="own-tables"),
    pytest.param(".".join("a" * 500) + " = 1", id="own-dotted"),
]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_that_are_nested_without_end_are_a_configuration_error(cli, text):
    path = cli.configure(text)
    done = cli.run("-p", "hi")
    assert (done.code, str(path) in done.err, "Traceback" in done.err) == (78, True, False)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, id=f"s765-{k}") for k in ("large", "pipe", "device", "directory")]
)
def test_settings_that_are_no_file_of_a_size_are_refused_at_once(cli, kind):
    path = cli.configure("")
    path.unlink()
    if kind == "large":
        with path.open("wb") as file:
            file.truncate(1 << 30)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    done = cli.run("-p", "hi")
    assert (done.code, str(path) in done.err, "Traceback" in done.err) == (78, True, False)


@pytest.mark.parametrize(
    "pattern", [pytest.param("(a+)+$", id="s766"), "(a|a)*b", "(.*a){20}x", "^(a?){50}a{50}$"]
)
def test_an_expression_without_hope_ends(cli, pattern):
    (cli.work / "f.txt").write_text("a" * 100_000 + "!\n")
    (text,), done = run_calls(cli, ("Grep", {"pattern": pattern, "path": "."}))
    assert done.code == 0 and text.startswith(("→ Grep ", "Error: "))


def test_s767_a_loop_of_links_is_not_walked_and_results_are_capped(cli):
    for n in range(300):
        (cli.work / f"d{n % 7}").mkdir(exist_ok=True)
        (cli.work / f"d{n % 7}" / f"f{n}").touch()
    (cli.work / "d0" / "again").symlink_to("..")
    (cli.work / "self").symlink_to(".")
    (text,), _ = run_calls(cli, ("Glob", {"pattern": "**/*"}))
    assert "matched 300 files" in text and "[100 more are not shown" in text


@pytest.mark.parametrize(
    "pattern",
    [pytest.param("{a,b}" * 20, id="s768"), "{" * 500 + "}" * 500, "{a,{b,{c,d}}}" * 12, "**/" * 400 + "x"],
)
def test_a_pattern_that_would_blow_up_is_an_error(cli, pattern):
    (text,), done = run_calls(cli, ("Glob", {"pattern": pattern}))
    assert done.code == 0 and ("Error: " in text or "matched 0 files" in text), text[:200]


def test_s771_an_image_of_fifty_megabytes_is_refused(cli):
    (cli.work / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 50_000_001)
    done = cli.run("-p", "hi", "--image", "a.png")
    assert (done.code, "Traceback" in done.err) == (64, False)


def test_s772_an_archive_is_no_attachment(cli):
    with zipfile.ZipFile(cli.work / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * 10_000_000)
    done = cli.run("-p", "look at @a.docx")
    assert (done.code, "Traceback" in done.err) == (64, False)
    (text,), _ = run_calls(cli, ("Read", {"path": "a.docx"}))
    assert text.startswith("Error: ") and "ZIP" in text


def test_s774_a_call_that_is_made_again_and_again_ends(cli):
    same = wire.exchange(wire.tool_use("Read", {"path": "nowhere"}))
    cli.script(*[same] * 60)
    done = cli.run("-p", "go", "--max-turns", "8", "--output-format", "json")
    assert done.code != 0 and len(cli.server.requests) <= 8


@pytest.mark.parametrize("size", [pytest.param(100_000_000, id="s775"), 4_900_000])
def test_an_edit_that_would_multiply_a_file_changes_nothing(cli, size):
    (cli.work / "big.txt").write_bytes(b"a" * size)
    given = {"path": "big.txt", "old_string": "a", "new_string": "bbbb", "replace_all": True}
    (text,), _ = run_calls(cli, ("Edit", given), flags=("--allow", "Edit"))
    assert text.startswith("Error: ") and (cli.work / "big.txt").stat().st_size == size
    assert (cli.work / "big.txt").read_bytes()[:9] == b"a" * 9


def test_s778_a_full_disk_runs_nothing_where_the_log_is_required(cli):
    state = cli.home / ".local" / "state" / "caliban"
    state.mkdir(parents=True)
    (state / "permission-decisions.jsonl").symlink_to("/dev/full")
    cli.configure("[permissions]\naudit_required = true\n")
    text, _ = bash(cli, "touch PWNED")
    assert not (cli.work / "PWNED").exists() and "could not be recorded" in text


def test_s752_processes_without_end_are_bounded_and_gone_afterwards(cli):
    text, _ = bash(
        cli, "i=0; while [ $i -lt 200 ]; do sleep 97531 & i=$((i+1)); done; wait", timeout_seconds=2
    )
    assert "timed out" in text
    left = [p for p in os.listdir("/proc") if p.isdigit() and b"97531" in _argv(p)]
    assert left == []


def _argv(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            data = file.read()
    except OSError:
        return b""
    return data if data.startswith(b"sleep") else b""


def test_the_input_of_a_call_may_be_large_and_is_still_whole(cli):
    text = json.dumps({"path": "a.txt", "content": "x" * 1_000_000})
    cli.script(wire.exchange(wire.tool_use("Write", json.loads(text))), OK)
    cli.run("-p", "go", "--allow", "Write")
    assert (cli.work / "a.txt").stat().st_size == 1_000_000
