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
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[('project', 'AGENTS.md', 1)]"
    assert lines[1].endswith("style.md -->', 'Short names.']")
    assert lines[2:] == ["['No new endpoints.']", "Use make. ['project', 'auto']"]
