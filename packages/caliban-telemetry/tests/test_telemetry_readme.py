"""The README's examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_examples_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    assert capsys.readouterr().out.splitlines() == [
        "total $0.0120",
        "  anthropic/claude-sonnet-4-6: $0.0120 (2,000 in, 400 out)",
        "the budget of $0.0100 is used up: $0.0120 is spent",
        "$2.20 $0.2300",
    ]
