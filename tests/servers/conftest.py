"""The real command against servers that nobody here wrote, in a home of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, give_signals_back, opened

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="session")
def signals_as_at_a_terminal() -> None:
    give_signals_back()


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path) as command:
        (command.work / "notes.txt").write_text("The door code is 4711.\n")
        (command.work / "more.txt").write_text("The gate code is 4712.\n")
        yield command
