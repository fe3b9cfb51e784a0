"""The command of the golden tests, and the files that say what it must write."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, opened

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "e2e")]


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path) as command:
        command.extra.update(TERM="dumb", COLUMNS="80", TZ="UTC", AWS_EC2_METADATA_DISABLED="true")
        yield command
