"""What an everyday run leaves to `--all` is said, keeps a sibling, and is run by what judges a change."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import house
import pytest
from extent_kit import CHOICE, LEFT, examples, left_out, some
from hang_guard import HANG_S

TABLE = "packages/caliban-settings/tests/test_settings_guard.py"


def row(name: str, **marked: object) -> SimpleNamespace:
    mark = SimpleNamespace(kwargs=marked) if marked.pop("long", False) else None
    return SimpleNamespace(nodeid=name, get_closest_marker={"long": mark}.get)


def test_the_first_row_of_each_table_and_every_nth_are_kept() -> None:
    items = [row(f"t[{number}]", long=True, keep=3) for number in range(7)]
    items += [row("u[0]", long=True, keep=3), row("v", long=True), row("w")]
    assert [item.nodeid for item in left_out(items)] == ["t[1]", "t[2]", "t[4]", "t[5]", "v"]


def test_everything_is_what_is_taken_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOICE, raising=False)
    assert (examples(300), examples(6), list(some(range(11)))) == (300, 6, list(range(11)))
    monkeypatch.setenv(CHOICE, "everyday")
    assert (examples(300), examples(20), examples(6), list(some(range(11)))) == (60, 10, 6, [0, 5, 10])
    monkeypatch.setenv(CHOICE, "fast")
    with pytest.raises(AssertionError, match="all or everyday"):
        examples(1)


def test_a_run_says_how_many_tests_it_left_spread_or_not(tmp_path: Path) -> None:
    ran = []
    for spread in ("-n0", "-n1"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", TABLE, spread, "-k", "never_says_this"],
            cwd=house.ROOT,
            env={**os.environ, CHOICE: "everyday", LEFT: str(tmp_path / spread)},
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        passed = re.search(r"(\d+) passed", done.stdout)
        remark = re.search(r"left for --all: (\d+) tests", done.stdout)
        assert passed is not None and remark is not None, done.stdout
        ran.append((int(passed[1]), int(remark[1]), int((tmp_path / spread).read_text())))
    (kept, left, noted), again = ran
    assert (kept, left, noted) == again
    assert left == noted > 100
    assert kept == -(-(kept + left) // 5)


def test_what_judges_a_change_leaves_nothing_out() -> None:
    judge = (house.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nscripts/test --all\n" in judge
    assert CHOICE not in judge
    asked = [
        path for path in (house.ROOT / "scripts").iterdir() if path.is_file() and CHOICE in path.read_text()
    ]
    assert [path.name for path in asked] == ["check"]


def test_long_tests_are_tables_but_for_a_few() -> None:
    """What is left out as a whole stands here, with what shows the same every day."""
    whole, keeps = set(), set()
    for path in sorted(house.ROOT.glob("*/**/tests/test_*.py")) + sorted(
        house.ROOT.glob("tests/*/test_*.py")
    ):
        text = path.read_text(encoding="utf-8")
        keeps |= set(re.findall(r"mark\.long\(keep=(\d+)\)", text))
        whole |= set(re.findall(r"@pytest\.mark\.long\n(?:\s*@.*\n)*\s*(?:async )?def (\w+)", text))
    assert keeps <= {"3", "5", "7"}, "rows that alternate, as backends do, are all met by an odd one"
    assert whole == {
        # beside a capture that is killed anywhere, and a disk that is full at every fourth call
        "test_going_back_that_is_killed_anywhere_leaves_each_file_old_or_new_and_can_be_finished",
        # beside the journal that is killed before any system call
        "test_kill_at_any_instant_loses_nothing_that_was_shown",
    }
