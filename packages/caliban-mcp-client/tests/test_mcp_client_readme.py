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
    assert (capsys.readouterr().out, "main" in names) == ("", True)
