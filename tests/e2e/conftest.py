"""The real command against a strict server on the loopback, in a home of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_kit import Cli, give_signals_back, opened
from hang_guard import wait_until

from caliban_provider_anthropic.testing.strict import StrictValidator

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="session")
def signals_as_at_a_terminal() -> None:
    give_signals_back()


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path, StrictValidator()) as command:
        yield command


@pytest.fixture
def free_cli(tmp_path: Path) -> Iterator[Cli]:
    """The same with a server that takes any request."""
    with opened(tmp_path) as command:
        yield command


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Says that a process has ended (it may wait to be collected), once it has."""

    def has_ended(pid: int) -> bool:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat")
            return state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z"
        except (ProcessLookupError, FileNotFoundError):
            return True

    def look(pid: int) -> bool:
        wait_until(lambda: has_ended(pid))
        return True

    return look
