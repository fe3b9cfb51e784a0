"""The real command against a strict server on the loopback, for rows of attacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, give_signals_back, opened

from caliban_provider_anthropic.testing.strict import StrictValidator


@pytest.fixture(autouse=True, scope="session")
def signals_as_at_a_terminal() -> None:
    give_signals_back()


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path, StrictValidator()) as command:
        yield command
