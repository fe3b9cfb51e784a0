"""A provider of somebody else: installed as a package of its own, chosen by name, no edit anywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_kit import find_uv
from hang_guard import HANG_S

EXAMPLE = Path(__file__).parents[2] / "packages/caliban-provider/examples/caliban-provider-echo"
MAX_LINES = 120


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("third-party")
    uv = find_uv()
    source = target / "source"
    shutil.copytree(EXAMPLE, source)
    site = target / "site"
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--target", str(site), str(source)]
    subprocess.run(command, check=True, timeout=HANG_S)
    return site


def run(site: Path, home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "caliban", *args]
    return subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=HANG_S)


def test_it_answers_through_the_command(installed, tmp_path):
    done = run(installed, tmp_path, "--provider", "echo", "-p", "hello there")
    assert done.returncode == 0, done.stderr
    assert "hello there" in done.stdout


def test_it_may_say_what_its_models_cost(installed, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    (site / "priced.py").write_text(
        "from caliban_provider_echo import EchoFactory\n"
        "class Priced(EchoFactory):\n"
        "    prices = {'echo-1': {'input': 1000.0, 'output': 2000.0}, 'odd': {'input': 'much'}, 'bad': 3}\n"
        "FACTORY = Priced(name='priced')\n"
    )
    info = site / "priced-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: priced\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[caliban.providers]\npriced = priced:FACTORY\n")
    asked = ("--provider", "priced", "-p", "hello there")
    answer = json.loads(run(site, tmp_path, *asked, "--output-format", "json").stdout)
    usage = answer["usage"]
    assert answer["total_cost_usd"] == pytest.approx(
        (usage["input_tokens"] * 1000 + usage["output_tokens"] * 2000) / 1_000_000
    )
    listed = json.loads(run(site, tmp_path, "models", "--provider", "priced", "--json").stdout)
    assert (listed["input_usd_per_mtok"], listed["output_usd_per_mtok"]) == (1000, 2000)
    assert run(site, tmp_path, *asked, "--max-budget-usd", "0.001").returncode == 137


def test_without_it_the_name_is_unknown(tmp_path):
    done = run(tmp_path / "nothing", tmp_path, "--provider", "echo", "-p", "hello")
    assert done.returncode == 64
    assert "echo" in done.stderr


def test_the_whole_of_it_is_small():
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".toml")]
    assert sum(len(path.read_text().splitlines()) for path in files) <= MAX_LINES


def test_a_plugin_that_does_not_load_is_named(tmp_path):
    site = tmp_path / "site"
    info = site / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[caliban.providers]\nbroken = broken_module:FACTORY\n")
    (site / "broken_module.py").write_text("raise RuntimeError('half installed')\n")
    done = run(site, tmp_path, "--provider", "broken", "-p", "hello")
    assert done.returncode == 64
    assert "half installed" in done.stderr
    assert "Traceback" not in done.stderr
