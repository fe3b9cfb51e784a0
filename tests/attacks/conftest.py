"""The real command against a strict server on the loopback, for rows of attacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, give_signals_back, opened
from verdict_kit import Verdicts, usual

from caliban_provider_anthropic.testing.strict import StrictValidator


@pytest.fixture(autouse=True, scope="session")
def signals_as_at_a_terminal() -> None:
    give_signals_back()


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path, StrictValidator()) as command:
        yield command


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """A workspace with what rows usually find there."""
    return usual(tmp_path_factory.mktemp("rows"))
