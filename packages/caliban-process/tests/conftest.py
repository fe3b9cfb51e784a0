"""Programs to run, and a look at what is left of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_process import Command, Runner


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
def sh(tmp_path: Path) -> Callable[..., Command]:
    """`sh(script, **bounds)` is a command of the shell in an empty directory."""

    def command(script: str, **bounds) -> Command:
        env = {"PATH": os.environ["PATH"], **bounds.pop("env", {})}
        return Command(argv=("/bin/sh", "-c", script), cwd=str(tmp_path), env=env, **bounds)

    return command


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., Command]:
    """`python(code, **bounds)` is a command of this Python."""

    def command(code: str, **bounds) -> Command:
        return Command(argv=(sys.executable, "-c", code), cwd=str(tmp_path), env={}, **bounds)

    return command


def is_gone(pid: int, within_s: float = HANG_S) -> bool:
    """Whether a process ends (it may wait to be collected) within that time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def gone() -> Callable[..., bool]:
    return is_gone
