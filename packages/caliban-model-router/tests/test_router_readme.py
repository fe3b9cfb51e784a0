"""The README's examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


def test_the_examples_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL):
        exec(block, names)
    assert capsys.readouterr().out == "big/opus → small/haiku: busy\nHello from haiku.\n"


def test_the_readme_names_every_module() -> None:
    text = (PACKAGE / "README.md").read_text("utf-8")
    modules = {path.stem for path in (PACKAGE / "src" / "caliban_model_router").glob("[a-z]*.py")}
    assert {module for module in modules if f"`{module}`" not in text} == set()
