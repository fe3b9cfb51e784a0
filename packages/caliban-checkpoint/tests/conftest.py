from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from checkpoint_kit import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    work = tmp_path / "work"
    work.mkdir()
    return Bench(tmp_path / "root", work)
