"""What developers read all day, under no rules: hardly any of it asks, though credentials lie there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LINES = json.loads((Path(__file__).parent / "everyday" / "reading.json").read_text("utf-8"))
FILES = "src/app.py README.md log.txt a.txt package.json sub/x.py .env a.tar a.tar.gz a.zip log.gz".split()  # noqa: SIM905
MOST_ASKED = 0.05


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")
def test_at_most_one_line_in_twenty_asks(scene: Any) -> None:
    scene.add(*FILES)
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    engine = scene.engine()
    explained = {line: engine.explain(scene.spec("Bash"), {"command": line}) for line in LINES}
    asked = [
        f"{line}  ({explanation.reason})"
        for line, explanation in explained.items()
        if explanation.verdict != "allow"
    ]
    assert len(explained) == len(LINES) >= 290
    assert len(asked) <= MOST_ASKED * len(LINES), "\n".join(asked)
