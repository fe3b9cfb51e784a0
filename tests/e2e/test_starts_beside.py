"""A fork that goes on beside a test shows what a true start shows, to a host and on a terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest
from command_kit import needs_procfs, opened
from forked_kit import Forked
from hang_guard import HANG_S
from host_kit import FrameHost
from screen_kit import on_screen
from starts_kit import CHOICE

from caliban_provider_anthropic.testing import wire

forked_only = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")
WAYS = ("true", "forked")
STATE = "cut -d' ' -f5-8 /proc/$PPID/stat; grep -E '^(Sig[PIC]|Shd|Umask)' /proc/$PPID/status; tty <&2"


def plain(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+ s\b|\d{8}-\d{6}-[a-z0-9]{4}", "<time>", text)
    return re.sub(r'("\w*_ms": ?)[\d.]+|"[0-9a-f-]{12,36}"|/dev/pts/\d+', r"\1<own>", text)


@forked_only
def test_a_host_is_told_the_same(tmp_path, monkeypatch):
    runs = []
    for way in WAYS:
        monkeypatch.setenv(CHOICE, way)
        (tmp_path / way).mkdir()
        with opened(tmp_path / way) as cli:
            cli.script(wire.exchange(wire.text("One.")), wire.exchange(wire.text("Two.")))
            host = FrameHost(cli, "--no-save")
            assert isinstance(host.process, Forked) == (way == "forked")
            host.prompt("first")
            host.prompt("second")
            ended = host.end()
        runs.append(
            [plain(json.dumps(frame).replace(str(tmp_path / way), "")) for frame in host.seen] + [*ended]
        )
    assert runs[0] == runs[1]
    assert runs[0][-2:] == [0, ""]


@forked_only
@needs_procfs
def test_a_terminal_shows_the_same_and_is_left_the_same(tmp_path, monkeypatch):
    """The command leads its session there, takes the same signals, and ends with the modes of before."""
    seen = []
    for way in WAYS:
        monkeypatch.setenv(CHOICE, way)
        (tmp_path / way).mkdir()
        with opened(tmp_path / way) as cli:
            use = wire.tool_use("Bash", {"command": STATE}, id="call_1")
            cli.script(wire.exchange(use), wire.exchange(wire.text("Done.")))
            with on_screen(cli, "--no-permissions", rows=60) as screen:
                screen.wait(">")
                screen.type("go")
                screen.press("enter")
                screen.wait("Done.")
                pid = screen.process.pid
                assert os.getsid(pid) == os.getpgid(pid) == pid
                screen.press("ctrl+d")
                code = screen.ended()
                assert screen.modes == screen.modes_before
        sent = json.dumps(cli.bodies()[-1]["messages"][-1])
        words = plain(sent).replace(str(pid), "<pid>")
        words, count = re.subn(r"<pid> <pid> [1-9]\d* <pid>", "<pid> <pid> <its terminal> <pid>", words)
        seen.append((code, count, words))
    assert seen[0] == seen[1]
    assert seen[0][1] == 1


@forked_only
def test_its_end_is_told_as_subprocess_tells_it(free_cli, monkeypatch):
    monkeypatch.setenv(CHOICE, "forked")
    with free_cli.begin("--version", stderr=subprocess.STDOUT) as process:
        assert isinstance(process, Forked)
        out, err = process.communicate(timeout=HANG_S)
        assert (process.returncode, err) == (0, None)
        assert out.startswith(b"caliban ")
    process = free_cli.begin("-p", "-", stdin=subprocess.PIPE)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0)
    process.kill()
    assert process.wait(HANG_S) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
    process.send_signal(signal.SIGTERM)  # nobody is there: nothing happens


def test_what_is_asked_beyond_streams_has_a_true_start(free_cli, monkeypatch):
    monkeypatch.setenv(CHOICE, "forked")
    with free_cli.begin("--version", preexec_fn=lambda: None) as process:
        assert isinstance(process, subprocess.Popen)
        assert process.communicate(timeout=HANG_S)[0].startswith(b"caliban ")
