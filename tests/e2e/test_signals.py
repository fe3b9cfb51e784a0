"""A signal at any phase: one result, the documented code, no traceback; and interrupts between frames."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hang_guard import HANG_S, wait_until

from caliban_provider.testing.exchange import Pause
from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
FRAMES = (*STREAM, "--input-format", "stream-json")
INTERRUPT = b'{"type":"control","subtype":"interrupt"}\n'
ALL = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
needs_procfs = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def prompt(text: str) -> bytes:
    return json.dumps({"type": "user", "content": text}).encode() + b"\n"


def takes_signals(pid: int, last: int = signal.SIGHUP) -> bool:
    """Whether the program, not its interpreter, handles signals: `last` is the last that it asks for."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught & 1 << last - 1)


def is_idle(pid: int) -> bool:
    """Whether it waits for something: asleep at every look, without any work between them."""
    looks = set()
    for _ in range(10):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        looks.add((fields[0], *fields[11:13]))
        time.sleep(0.02)
    return len(looks) == 1 and "S" in looks.pop()


def subtypes(out: bytes) -> list[str]:
    frames = [json.loads(line) for line in out.splitlines()]
    return [frame["subtype"] for frame in frames if frame["type"] == "result"]


@needs_procfs
@pytest.mark.parametrize("number", ALL)
def test_a_signal_during_start_up_gives_one_result(cli, number):
    for delay_s in (0.0, 0.05, 0.1, 0.2):  # wherever start-up is then, the end is the same
        cli.script(wire.broken(wire.text("Hel"), after=3, end=Pause(HANG_S)))
        process = cli.start("-p", "hi", *STREAM)
        wait_until(lambda: takes_signals(process.pid))  # noqa: B023 - it is called at once
        time.sleep(delay_s)
        process.send_signal(number)
        out, err = process.communicate(timeout=HANG_S)
        assert (process.returncode, subtypes(out), err) == (124, ["cancelled"], b"")


@needs_procfs
@pytest.mark.parametrize("number", ALL)
@pytest.mark.parametrize("flags", [("-p", "-", *STREAM), FRAMES, ("-p", "-", "--output-format", "json")])
def test_a_signal_while_a_prompt_is_waited_for_gives_one_result(cli, number, flags):
    process = cli.start(*flags, stdin=subprocess.PIPE)
    wait_until(lambda: takes_signals(process.pid))
    wait_until(lambda: is_idle(process.pid))
    process.send_signal(number)
    assert process.wait(HANG_S) == 124
    assert process.stdout is not None and process.stderr is not None
    assert subtypes(process.stdout.read()) == ["cancelled"]
    assert b"Traceback" not in process.stderr.read()
    assert cli.server.requests == ()


def test_a_signal_between_prompts_adds_no_second_result(cli):
    cli.script(wire.exchange(wire.text("one")))
    process = cli.start(*FRAMES, stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(prompt("a"))
    process.stdin.flush()
    while b'"result"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    assert process.wait(HANG_S) == 124
    assert process.stdout.read() == b""


def test_a_signal_ends_the_wait_before_a_retry(cli):
    cli.script(wire.failure(529, "overloaded_error", "busy", retry_after="30"))
    process = cli.start("-p", "hi", *STREAM)
    assert process.stdout is not None
    while b"api_retry" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    assert subtypes(process.stdout.read()) == ["cancelled"]
    assert process.wait(HANG_S) == 124


@needs_procfs
def test_nohup_is_respected(cli):
    cli.script(wire.exchange(wire.text("done")))
    process = cli.start("-p", "-", stdin=-1, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until(lambda: takes_signals(process.pid, signal.SIGTERM))
    process.send_signal(signal.SIGHUP)
    assert process.communicate(b"hi", timeout=HANG_S)[0] == b"done\n"
    assert process.returncode == 0


def test_an_interrupt_right_behind_its_prompt_is_not_lost(cli):
    cli.script(wire.exchange(wire.text("second")))
    done = cli.run(*FRAMES, stdin=prompt("first") + INTERRUPT + prompt("second"))
    assert [frame["subtype"] for frame in done.of("result")] == ["cancelled", "success"]
    assert done.of("result")[-1]["result"] == "second"
    assert done.code == 0


def test_interrupts_without_a_prompt_mean_nothing(cli):
    cli.script(wire.exchange(wire.text("ok")))
    done = cli.run(*FRAMES, stdin=INTERRUPT * 3 + prompt("a"))
    assert [frame["subtype"] for frame in done.of("result")] == ["success"]
    assert cli.run(*FRAMES, stdin=INTERRUPT).code == 66


def test_two_interrupts_in_a_stream_end_one_run(cli):
    cli.script(wire.broken(wire.text("Hel"), after=4, end=Pause(HANG_S)), wire.exchange(wire.text("second")))
    process = cli.start(*FRAMES, "--include-partial-messages", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(prompt("first"))
    process.stdin.flush()
    while b"Hel" not in process.stdout.readline():
        pass
    process.stdin.write(INTERRUPT * 2)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["subtype"] == "cancelled"
    process.stdin.write(prompt("second"))
    process.stdin.close()
    assert subtypes(process.stdout.read()) == ["success"]
    assert process.wait(HANG_S) == 0


def test_a_malformed_frame_during_a_run_lets_the_run_finish(cli):
    cli.script(wire.exchange(wire.text("fine", piece_chars=1), wire.text("x" * 2000, piece_chars=1)))
    process = cli.start(*FRAMES, "--include-partial-messages", stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(prompt("a"))
    process.stdin.flush()
    first = process.stdout.readline() + process.stdout.readline()
    assert b'"text"' in first
    process.stdin.write(b"{bad\n")
    process.stdin.close()
    out = process.stdout.read()
    frames = [json.loads(line) for line in (first + out).splitlines()]
    assert sum(frame["type"] == "result" for frame in frames) == 1
    assert "".join(f["delta"] for f in frames if f["type"] == "text") == "fine" + "x" * 2000
    assert (frames[-1]["subtype"], process.wait(HANG_S)) == ("error", 64)
