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
from hang_guard import HANG_S

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
        timeout=HANG_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"usage: ", done.stdout, re.I), done.stdout


@POSIX
def test_a_wrong_option_of_check_is_told_with_the_code_for_usage() -> None:
    command = [str(house.ROOT / "scripts" / "check"), "--no-such-option"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "--no-such-option" in done.stderr


@POSIX
def test_without_a_python_that_is_new_enough_the_reason_is_said(tmp_path: Path) -> None:
    for name in ("dirname", "cat", "sh", "rm"):
        program = next(
            Path(folder) / name for folder in ("/bin", "/usr/bin") if (Path(folder) / name).exists()
        )
        (tmp_path / name).symlink_to(program)
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
        timeout=HANG_S,
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "python -c pass" in done.stdout
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert {name: len(values) for name, values in figures["results"]["python -c pass"].items()} == {
        "wall ms": 2,
        "CPU ms": 2,
    }


@POSIX
def test_the_benchmark_says_which_interpreter_it_has_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(house.ROOT / "scripts" / "bench"), "--no-peers", "--runs", "1"]
    here = [*command, "--here", "--only", "python -c pass", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(here, capture_output=True, text=True, timeout=HANG_S, check=True)
    build = " ".join(sys.version.split())
    assert f"Python {build}, editable packages of .venv" in done.stdout
    assert json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["machine"]["python"] == build
    done = subprocess.run([*here, "--python", sys.executable], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "leave --python out" in done.stderr
    absent = str(tmp_path / "python")
    done = subprocess.run([*command, "--python", absent], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"bench: --python {absent}" in done.stderr


@POSIX
def test_the_floor_of_eight_commands_talks_to_the_server_as_we_do(tmp_path: Path) -> None:
    code = """
import subprocess, sys
from pathlib import Path
from benchkit.measure import open_door
with open_door(Path("unread")) as door:
    url, run = door.url("parallel")
    subprocess.run([sys.executable, "-m", "benchkit.floor", url], check=True)
    first, second = door.requests(run)
    assert second.request_bytes > first.request_bytes + 8 * len("tool_result")
    print((second.first_byte_ns - first.sent_ns) // 10**6 >= 500)
"""
    assert bench_module("-c", code).split() == ["True"]


VENV_PYTHON = house.ROOT / ".venv" / "bin" / "python"
OURS = {"MB/s", "events/s"}
THEIRS = {"SDK MB/s", "SDK events/s", "times the SDK"}


def bench_module(*arguments: str, **environment: str) -> str:
    """What a module of the benchmark prints, in the environment that has the vendors' clients."""
    if not VENV_PYTHON.exists():
        pytest.skip("the packages and the vendors' clients are in .venv")
    done = subprocess.run(
        [str(VENV_PYTHON), *arguments],
        cwd=house.ROOT / "scripts",
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@POSIX
def test_the_benchmark_decodes_beside_the_vendors_client(tmp_path: Path) -> None:
    if not VENV_PYTHON.exists():
        pytest.skip("both are in .venv")
    command = [sys.executable, str(house.ROOT / "scripts" / "bench"), "--no-peers", "--runs", "1"]
    command += ["--only", "decode ollama", "--deltas", "40", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["results"]
    (figures,) = results.values()
    assert set(figures) in (OURS, OURS | THEIRS)
    assert ("the SDK is absent" in done.stdout) == (set(figures) == OURS)


@POSIX
def test_every_wire_of_ours_has_a_row_that_decodes_it() -> None:
    command = [sys.executable, str(house.ROOT / "scripts" / "bench"), "--list", "--only", "decode"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True)
    names = ("anthropic", "openai responses", "openai chat", "google", "ollama", "bedrock", "vertex")
    assert done.stdout.splitlines() == [f"decode {name}, bytes to message" for name in names]
    code = """
import json, anyio
from benchkit.decode import compare
from benchkit.streams import WRITERS
print(json.dumps([sorted(anyio.run(compare, name, 20)) for name in WRITERS]))
"""
    figures = json.loads(bench_module("-c", code))
    assert [set(one) - THEIRS for one in figures] == [OURS] * len(names)


@POSIX
def test_a_vendors_client_that_is_not_installed_leaves_our_figures(tmp_path: Path) -> None:
    (tmp_path / "ollama.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    printed = bench_module("-m", "benchkit.decode", "ollama", "20", PYTHONPATH=str(tmp_path))
    assert set(json.loads(printed)) == OURS


@POSIX
def test_the_benchmark_marks_the_targets_that_are_missed() -> None:
    code = """
from benchkit.report import table
rows = {
    "slow": {"times the SDK": [1.5, 1.9, 9.0]},
    "quick": {"times the SDK": [2.0]},
    "python -c pass": {"wall ms": [10]},
    "--version": {"wall ms": [60]},
    "one-shot": {"wall ms": [100]},
    "8 tools of 0.5 s": {"tools ms": [540], "CPU s": [9]},
    "8 tools of 0.5 s, by asyncio": {"tools ms": [520], "CPU s": [1]},
    "8 tools of 0.5 s, after 0.2 s": {"tools ms": [530]},
    "8 tools of 0.5 s, after 0.2 s, by asyncio": {"tools ms": [520]},
}
print("\\n".join(line.split()[0] for line in table(rows) if line.endswith("MISSED")))
"""
    assert bench_module("-c", code).split() == ["slow", "--version", "8"]
