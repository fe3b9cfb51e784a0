"""The painters on a real terminal that wraps its lines anew and keeps what scrolls off: tmux."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("tmux_program.py")
LINES = 30
HANG_S = 60.0
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """A server of its own, with one window."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "s"

    def run(self, *args: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *args]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_S).stdout

    def begin(self, columns: int, rows: int, *program: str) -> None:
        words = " ".join([sys.executable, str(PROGRAM), *program, str(LINES)])
        self.run("new-session", "-d", "-x", str(columns), "-y", str(rows), words)

    def resize(self, columns: int, rows: int) -> None:
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    def lines(self, *, joined: bool = False) -> list[str]:
        """All that was ever said; `joined` puts together what the terminal has wrapped."""
        return self.run("capture-pane", "-p", "-S", "-", *(["-J"] if joined else [])).splitlines()

    def wait(self, is_so: Callable[[list[str]], object]) -> list[str]:
        end_s = time.monotonic() + HANG_S
        while not is_so(lines := self.lines()):
            assert time.monotonic() < end_s, "\n".join(lines)
            time.sleep(0.02)
        return lines


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    subprocess.run(["tmux", "-S", str(tmp_path / "s"), "kill-server"], capture_output=True, check=False)


def blocks_in(lines: list[str]) -> list[str]:
    return [match[1] for line in lines if (match := re.fullmatch(r"! block (\d+\.\d+)", line.rstrip()))]


def all_blocks(steps: int) -> list[str]:
    return [f"{step}.{number}" for step in range(steps) for number in range(LINES)]


def test_narrow_and_wide_again_loses_nothing_and_doubles_at_most_four_rows(tmux: Tmux) -> None:
    tmux.begin(80, 24, "inline", "80,40,120")
    tmux.wait(lambda lines: f"! block 0.{LINES - 1}" in lines)
    tmux.resize(40, 24)
    tmux.wait(lambda lines: f"! block 1.{LINES - 1}" in lines)
    tmux.resize(120, 24)
    lines = tmux.wait(lambda lines: "over" in lines)
    assert blocks_in(lines) == all_blocks(3)
    words = [line for line in tmux.lines(joined=True) if line.startswith("words ")]
    assert [line.rstrip() for line in words] == [("words " * 12).rstrip()] * 3 * LINES
    left_over = [line for line in lines if re.match(r"open words|working|> draft|status", line)]
    assert len(left_over) <= 4, left_over


def test_lower_and_higher_again_loses_nothing(tmux: Tmux) -> None:
    tmux.begin(80, 24, "inline", "80,79,80")
    tmux.wait(lambda lines: f"! block 0.{LINES - 1}" in lines)
    tmux.resize(79, 6)
    tmux.wait(lambda lines: f"! block 1.{LINES - 1}" in lines)
    tmux.resize(80, 30)
    lines = tmux.wait(lambda lines: "over" in lines)
    assert blocks_in(lines) == all_blocks(3)


@pytest.mark.parametrize("mode", ["full", "switch"])
def test_all_of_the_transcript_is_in_scrollback_after_the_full_screen(tmux: Tmux, mode: str) -> None:
    tmux.begin(80, 24, mode, "80,80")
    lines = tmux.wait(lambda lines: "over" in lines)
    assert blocks_in(lines) == all_blocks(2)
    late = [line for line in lines if line == "said on the other screen"]
    assert len(late) == (1 if mode == "switch" else 0)
    assert not any(re.match(r"open words|working|> draft|status", line) for line in lines)
