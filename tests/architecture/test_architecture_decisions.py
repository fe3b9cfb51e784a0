"""A decision is written down once, and something checks it."""

from __future__ import annotations

import re
from pathlib import Path

import house
import pytest

RECORDS = tuple(sorted((house.ROOT / "docs" / "adr").glob("*.md")))
SECTIONS = ("Context", "Decision", "Consequences", "Enforced by")
EVERY = pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)


def test_records_are_numbered_without_gaps_from_zero() -> None:
    assert [int(path.name[:4]) for path in RECORDS] == list(range(len(RECORDS)))
    assert RECORDS


@EVERY
def test_a_record_has_its_sections(record: Path) -> None:
    text = record.read_text(encoding="utf-8")
    assert re.match(rf"# {record.name[:4]} \S", text)
    assert re.search(r"^Status: (accepted|proposed|superseded by \d{4})$", text, re.M)
    assert re.search(r"^Date: \d{4}-\d{2}-\d{2}$", text, re.M)
    assert re.findall(r"^## (.+)$", text, re.M) == list(SECTIONS)
    assert "revisit if" in text.lower()


@EVERY
def test_a_record_names_tests_that_exist(record: Path) -> None:
    _, _, enforced = record.read_text(encoding="utf-8").partition("## Enforced by")
    paths = re.findall(r"`([\w./-]+/test_\w+\.py)(?:::(\w+))?`", enforced)
    assert paths, "no test is named"
    for path, function in paths:
        file = house.ROOT / path
        assert file.is_file(), f"{path} does not exist"
        assert f"def {function}" in file.read_text(encoding="utf-8"), f"{path} has no {function}"
