"""What developers type all day, under the rules that they would write: hardly any of it asks.

The lines stand in `everyday/lines.json`, by ecosystem with the rules for it. Hostile siblings of them are
in the corpus and in the tests of the parts that let them pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GROUPS = json.loads((Path(__file__).parent / "everyday" / "lines.json").read_text("utf-8"))
FILES = (
    "src/app.py",
    "src/util.py",
    "tests/test_app.py",
    "README.md",
    "package.json",
    "log.txt",
    "notes.txt",
    "a.txt",
    "b.txt",
    "docs/index.md",
    "sub/Makefile",
    "sub/x.py",
    "Makefile",
    "archive.zip",
    "archive.tar.gz",
    "docker-compose.yml",
    "tsconfig.json",
)
GUARDED = (".env", "secrets/key", ".github/workflows/ci.yml", "migrations/0001.py", "uv.lock")
NINE_DENIES = (
    "Read(./.env)",
    "Read(./.env.*)",
    "Read(secrets/**)",
    "Read(~/.ssh/**)",
    "Read(**/*.pem)",
    "Read(~/.aws/**)",
    "Edit(.github/workflows/**)",
    "Edit(migrations/**)",
    "Edit(**/*.lock)",
)
READING = json.loads((Path(__file__).parent / "everyday" / "reading.json").read_text("utf-8"))
MOST_ASKED = 0.05

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")


@pytest.fixture
def project(scene: Any) -> Any:
    """A repository with the files that the lines name."""
    scene.add(*FILES)
    subprocess.run(["git", "init", "-q", str(scene.workspace)], check=True)
    return scene


def test_at_most_one_line_in_twenty_asks_under_the_obvious_rules(project: Any) -> None:
    asked, count = [], 0
    for group in GROUPS.values():
        engine = project.engine(*(("allow", rule) for rule in group["rules"]))
        for line in group["lines"]:
            count += 1
            explained = engine.explain(project.spec("Bash"), {"command": line})
            assert explained.verdict != "deny"
            if explained.verdict == "ask":
                asked.append(f"{line}  ({explained.reason})")
    assert count >= 300
    assert len(asked) <= MOST_ASKED * count, "\n".join(asked)


def test_at_most_one_line_in_twenty_is_held_by_nine_denies_for_files(project: Any) -> None:
    """All that the rules mean is there, and what one may edit elsewhere is under version control."""
    project.add(*GUARDED)
    (project.workspace / ".gitignore").write_text(".env\nsecrets/\n")
    git = ["git", "-C", str(project.workspace), "-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    engine = project.engine(*(("deny", rule) for rule in NINE_DENIES), ("allow", "Bash"))
    lines = [*(line for group in GROUPS.values() for line in group["lines"]), *READING]
    explained = {line: engine.explain(project.spec("Bash"), {"command": line}) for line in lines}
    held = [
        f"{line}  ({explanation.verdict}: {explanation.reason})"
        for line, explanation in explained.items()
        if explanation.verdict != "allow"
    ]
    assert len(lines) >= 600
    assert len(held) <= MOST_ASKED * len(lines), "\n".join(held)
