"""Standard streams in every state: closed, full, slow, of an odd kind."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys

import pytest
from hang_guard import HANG_S, wait_until

from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
OK = wire.exchange(wire.text("ok"))


def shell(cli, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `caliban` is the command."""
    command = f'caliban() {{ "{sys.executable}" -m caliban "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", command],
        cwd=cli.work,
        env=cli.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("output", ["text", "stream-json"])
def test_a_closed_stream_never_lends_its_number_to_a_file(cli, closed, output):
    cli.script(OK)
    done = shell(cli, f"caliban -p hi --session s --output-format {output} {closed}")
    assert done.returncode == (1 if ">&- " in f"{closed} " and closed != "2>&-" else 0)
    assert "Traceback" not in done.stderr
    if done.returncode:  # an answer that nobody could read is not asked for
        assert cli.server.requests == ()
        return
    state = json.loads((cli.home / ".local/share/caliban/sessions/s.json").read_text())
    assert [message["role"] for message in state["messages"]] == ["system", "user", "assistant"]


@pytest.mark.parametrize(
    "command",
    [
        "-p hi",
        "-p hi --output-format json",
        "-p hi --output-format stream-json",
        "--help",
        "--version",
        "-p hi --frobnicate --output-format json",
        'perms test Read \'{"path":"x"}\'',
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_disk_behind_standard_output_is_told_once(cli, command):
    cli.script(OK)
    done = shell(cli, f"caliban {command} >/dev/full")
    assert done.returncode == 1
    assert done.stderr.count("standard output cannot be written: No space left on device") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_whose_reader_does_not_read(cli, number):
    cli.script(wire.exchange(wire.text("word " * 100_000, piece_chars=100)))
    reader, writer = os.pipe()
    process = cli.start("-p", "hi", *STREAM, "--include-partial-messages", "--session", "s", stdout=writer)
    wait_until(lambda: not select.select([], [writer], [], 0)[1])
    process.send_signal(number)
    assert process.wait(HANG_S) == 124
    os.close(reader)
    os.close(writer)
    directory = cli.home / ".local/share/caliban/sessions"
    assert [path.name for path in directory.iterdir()] == ["s.json"]
    assert json.loads((directory / "s.json").read_text())["messages"][-1]["role"] == "assistant"


def test_standard_error_that_nobody_reads_holds_up_nothing(cli):
    (cli.work / "f").write_text("x")
    uses = [wire.tool_use("Read", {"path": "f" + "/." * 60, "n": n}, id=f"t{n}") for n in range(1200)]
    cli.script(wire.exchange(*uses), wire.exchange(wire.text("done")))
    reader, writer = os.pipe()
    process = cli.start("-p", "hi", stderr=writer)
    os.close(writer)
    assert process.communicate(timeout=HANG_S)[0] == b"done\n"
    assert process.returncode == 0
    os.close(reader)


def test_an_endless_device_is_an_input_above_its_bound(cli):
    done = shell(cli, "caliban -p - </dev/zero")
    assert done.returncode == 78
    assert cli.server.requests == ()


def test_a_socket_serves_as_both_streams(cli):
    cli.script(OK)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = cli.start(
            *STREAM, "--input-format", "stream-json", stdin=theirs.fileno(), stdout=theirs.fileno()
        )
        ours.sendall(b'{"type":"user","content":"hi"}\n')
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(HANG_S) == 0
        theirs.close()
        out = b"".join(iter(lambda: ours.recv(65536), b""))
    assert json.loads(out.splitlines()[-1])["result"] == "ok"


def test_a_reader_that_leaves_in_the_middle_loses_no_message(cli):
    (cli.work / "f").write_text("x")
    cli.script(
        # far more than a pipe holds
        wire.exchange(wire.text("first " * 50_000, piece_chars=1000), wire.tool_use("Read", {"path": "f"})),
        wire.exchange(wire.text("resumed")),
    )
    process = cli.start("-p", "hi", *STREAM, "--include-partial-messages", "--session", "s")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(HANG_S) == 141
    cli.script(wire.exchange(wire.text("resumed")))
    assert cli.run("-p", "on", "-r", "s").code == 0
    assert cli.bodies()[-1]["messages"][1]["content"][0]["text"].startswith("first ")


@pytest.mark.parametrize(
    ("data", "sent"),
    [
        (b"\xef\xbb\xbf" + b'{"type":"user","content":"a"}\n', ["a"]),
        (b'{"type":"user","content":"a"}\r\n\r\n', ["a"]),
        (b'{"type":"user","content":"a"}', ["a"]),
        (b'{"type":"user","content":"\\ud800x"}\n', ["\ufffdx"]),
        (b'{"type":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}\n', ["a", "b"]),
    ],
)
def test_frames_are_read_in_every_dress(cli, data, sent):
    cli.script(OK)
    done = cli.run(*STREAM, "--input-format", "stream-json", stdin=data)
    assert done.code == 0
    assert [block["text"] for block in cli.bodies()[0]["messages"][0]["content"]] == sent


def test_a_frame_that_comes_byte_by_byte_is_one_frame(cli):
    cli.script(OK)
    process = cli.start(*STREAM, "--input-format", "stream-json", stdin=-1)
    assert process.stdin is not None
    for byte in b'{"type":"user","content":"slow"}\n':
        process.stdin.write(bytes([byte]))
        process.stdin.flush()
    out, _ = process.communicate(timeout=HANG_S)
    assert json.loads(out.splitlines()[-1])["result"] == "ok"


@pytest.mark.parametrize("data", [b"x" * (10 * 1024 * 1024 + 65537), b'{"a":"' + b"x" * (11 << 20) + b'"}\n'])
def test_a_frame_above_its_bound_is_refused_with_a_result(cli, data):
    done = cli.run(*STREAM, "--input-format", "stream-json", stdin=data)
    (result,) = done.of("result")
    assert (result["is_error"], done.code) == (True, 78)
