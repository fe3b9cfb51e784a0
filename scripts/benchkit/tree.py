"""Searches of a tree of 100,000 files: the tools of a run, and ripgrep alone on the same files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchkit.install import say
from benchkit.measure import run
from benchkit.rows import Figures, Place, Row, expect_requests

FILES = 100_000
PER_FOLDER = 100
NEEDLE = "needle_of_the_tree"
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda")


def tree() -> Path:
    """The tree, made once: 1,000 folders of 100 files of a kilobyte, every thousandth with the needle."""
    root = Path(tempfile.gettempdir()) / f"caliban-bench-{os.getuid()}" / "tree-1"
    if (root / "ready").exists():
        return root / "files"
    say(f"making {FILES:,} files in {root} (once)")
    shutil.rmtree(root, ignore_errors=True)
    for number in range(FILES):
        folder, place = divmod(number, PER_FOLDER)
        path = root / "files" / f"part{folder // 40:02}" / f"unit{folder:03}" / f"file{place:02}.py"
        if place == 0:
            path.parent.mkdir(parents=True, mode=0o700)
        lines = [f"{word}_{number} = {number * index}" for index, word in enumerate(WORDS * 4)]
        if number % 1000 == 999:
            lines.insert(20, f"{NEEDLE} = {number}")
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
    (root / "ready").touch()
    return root / "files"


def by_tool(scenario: str) -> Row:
    """A run whose model asks for one search: from its reply to the request with the result."""

    def row(place: Place) -> Figures:
        done = replace(place, workspace=tree()).caliban(scenario)
        expect_requests(done, 2)
        return {"search ms": done.turn_overheads_ms[0], "peak RSS MB": done.peak_rss_mb}

    return row


def by_ripgrep(*arguments: str) -> Row:
    """Ripgrep by itself, from its start to its end."""

    def row(place: Place) -> Figures:
        ripgrep = shutil.which("rg")
        if ripgrep is None:
            say("there is no rg on PATH to compare with")
            return {}
        out = place.home / "found"
        done = run((ripgrep, *arguments), folder=tree(), environment=place.environment(), stdout=out)
        if done.exit_code:
            sys.exit(f"bench: rg {' '.join(arguments)} ended with {done.exit_code}")
        return {"search ms": done.wall_ms, "peak RSS MB": done.peak_rss_mb}

    return row


ROWS: Mapping[str, Row] = {
    "Grep, 100,000 files, after 0.2 s": by_tool("grep-later"),
    "rg, 100,000 files": by_ripgrep("--line-number", NEEDLE, "."),
    "Glob, 100,000 files, after 0.2 s": by_tool("glob-later"),
    "rg --files, 100,000 files": by_ripgrep("--files", "--glob", "**/file99.py", "."),
}
