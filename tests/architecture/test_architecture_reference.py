"""Pages that are made from tables say what the tables say."""

from __future__ import annotations

from pathlib import Path

import house


def test_the_reference_of_commands_is_that_of_the_tables(tmp_path: Path) -> None:
    done = house.fresh(tmp_path, str(house.ROOT / "scripts" / "reference"), "--check")
    assert (done.returncode, done.stdout) == (0, "fresh\n"), done.stdout + done.stderr
