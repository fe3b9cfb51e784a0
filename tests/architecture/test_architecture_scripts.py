"""The commands of this repository explain themselves and run where only Python and git are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import house
import pytest

SCRIPTS = tuple(path for path in sorted((house.ROOT / "scripts").iterdir()) if path.is_file())
EVERY = pytest.mark.parametrize("script", [*SCRIPTS, house.ROOT / ".ci" / "run"], ids=lambda path: path.name)
POSIX = pytest.mark.skipif(os.name == "nt", reason="the scripts are for POSIX shells")


@POSIX
@EVERY
def test_a_script_can_be_run_and_explains_itself(script: Path) -> None:
    assert os.access(script, os.X_OK)
    command = [sys.executable, str(script)] if "python" in script.open().readline() else [str(script)]
    done = subprocess.run(
        [*command, "--help"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"usage: ", done.stdout, re.I), done.stdout


@POSIX
def test_a_wrong_option_of_check_is_told_with_the_code_for_usage() -> None:
    command = [str(house.ROOT / "scripts" / "check"), "--no-such-option"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "--no-such-option" in done.stderr


@POSIX
def test_without_a_python_that_is_new_enough_the_reason_is_said(tmp_path: Path) -> None:
    for name in ("dirname", "cat", "sh", "rm"):
        found = next(Path(folder) / name for folder in ("/bin", "/usr/bin") if (Path(folder) / name).exists())
        (tmp_path / name).symlink_to(found)
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "bootstrap"
    script.write_bytes((house.ROOT / "scripts" / "bootstrap").read_bytes())
    done = subprocess.run(
        ["/bin/sh", str(script)],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "no Python 3.11 or newer was found" in done.stderr


@POSIX
def test_the_benchmark_measures_a_row_and_writes_every_value(tmp_path: Path) -> None:
    if not (house.ROOT / ".venv" / "bin" / "python").exists():
        pytest.skip("--here measures .venv")
    command = [sys.executable, str(house.ROOT / "scripts" / "bench"), "--here", "--no-peers", "--runs", "2"]
    command += ["--only", "python -c pass", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "python -c pass" in done.stdout
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert {name: len(values) for name, values in figures["results"]["python -c pass"].items()} == {
        "wall ms": 2,
        "CPU ms": 2,
    }
