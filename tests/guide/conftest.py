"""Runs what the guide shows as it stands, each in a process of its own, against a loopback server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "docs" / "guide" / "programs"


class Program:
    """A program, as `python` is given it before its arguments; its provider speaks to the server at `url`."""

    def __init__(self, program: list[str], url: str, home: Path) -> None:
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "SYSTEMROOT", "TMPDIR") if key in os.environ}
        self._command = [sys.executable, "-u", *program]
        self._home = home
        self._environ = kept | {
            "HOME": str(home),
            "ANTHROPIC_API_KEY": "test",
            "ANTHROPIC_BASE_URL": url,
            "PYTHONUTF8": "1",
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run it and do not wait."""
        return subprocess.Popen(
            [*self._command, *arguments],
            cwd=self._home,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            [*self._command, *arguments],
            cwd=self._home,
            env=self._environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], Program]:
    """Makes the program of a name that speaks to the server at a URL."""
    return lambda name, url: Program([str(PROGRAMS / f"{name}.py")], url, tmp_path)


@pytest.fixture
def lines(tmp_path: Path) -> Callable[[str, str], Program]:
    """Makes a program of lines that speaks to the server at a URL."""
    return lambda text, url: Program(["-c", text], url, tmp_path)
