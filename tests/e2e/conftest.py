"""The real command against a strict server on the loopback, in a home of its own."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_kit import Cli, opened

from caliban_provider_anthropic.testing.strict import StrictValidator

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="session")
def signals_as_at_a_terminal() -> None:
    """A run in the background ignores SIGINT and SIGHUP, and its children would: give them back."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


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
    """Says whether a process has ended (it may wait to be collected), within two seconds."""

    def look(pid: int) -> bool:
        for _ in range(100):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            time.sleep(0.02)
        return False

    return look
