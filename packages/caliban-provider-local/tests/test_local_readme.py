"""The README's examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.local_model
def test_the_examples_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(
        r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert examples
    for example in examples:
        exec(compile(example, str(README), "exec"), {})
    assert capsys.readouterr().out.strip()
