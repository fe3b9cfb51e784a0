"""To open a folder runs nothing from it (P1): no process, no connection, no write outside our own state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from extent_kit import examples
from hang_guard import HANG_S

OPENING = Path(__file__).with_name("opening.py")
NUMBER = examples(200)


@pytest.mark.skipif(sys.platform == "win32", reason="plants pipes")
@pytest.mark.parametrize("seed", [1])
def test_two_hundred_mutated_repositories_make_nothing_happen(tmp_path, seed):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "ANTHROPIC_API_KEY": "test-key",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }
    done = subprocess.run(
        [sys.executable, str(OPENING), str(tmp_path), str(seed), str(NUMBER)],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert counts["done"] == []
    assert counts["opened"] + counts["refused"] == NUMBER
    assert min(counts["opened"], counts["shown"]) >= NUMBER // 10, (
        counts
    )  # most are read, not refused at once
