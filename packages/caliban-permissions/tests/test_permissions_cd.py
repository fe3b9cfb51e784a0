"""Where the commands of a line run that begins by changing the directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")

CERTAIN = [
    "cd src && grep -rn TODO . | head",
    "cd src && cat app.py && ls -la",
    "cd ./src && head -5 app.py |& tail -1",
    "cd -- src && cat app.py lib/x.py",
    "command cd src && cat app.py",
    "cd src && ls && cd ..",
    "cd src &&\ncat app.py",
]
"""Nothing of them reaches `.env` beside `src`: where the `cd` fails, nothing runs."""

PERHAPS = [
    "cd src; cat .env",
    "cd src\ncat .env",
    "cd src & cat .env",
    "cd src || cat .env",
    "cd src && ls || cat .env",
    "cd src && cat .env &",
    "cd src | true && cat .env",
    "! cd src && cat .env",
    "time cd src && cat .env",
    "cd src lib && cat .env",
    "X=$(cat .env) cd src && ls",
    "cd src > $(cat .env) && ls",
    "cd $(cat .env) && ls",
    "cd src && cd .. && cat .env",
    "cd src && cd lib | true && cat ../.env",
    "cd src && (cd .. && cat .env)",
    "cd src && { cat ../.env; }",
    "cd . && cat .env",
    "cd nothere && cat .env",
    "cd sr* && cat ../.env",
    "for d in src; do cd $d && ls; done; cat .env",
    "cd() { true; }; cd src && cat .env",
    "if cd src && ls; then cat ../.env; fi",
]
"""Each of them reads `.env`, as it stands or where a directory is not there."""


@pytest.fixture
def engine(scene: Any) -> Any:
    scene.add("src/app.py", "src/lib/x.py", ".env")
    return scene.engine(("deny", "Read(./.env)"))


@pytest.mark.parametrize("line", CERTAIN)
def test_a_cd_on_which_all_depends_says_where_it_runs(scene: Any, engine: Any, line: str) -> None:
    assert engine.explain(scene.spec("Bash"), {"command": line}).verdict == "allow"


@pytest.mark.parametrize("line", PERHAPS)
def test_otherwise_it_may_run_on_both_sides_of_the_cd(scene: Any, engine: Any, line: str) -> None:
    assert engine.explain(scene.spec("Bash"), {"command": line}).verdict != "allow"


@pytest.mark.parametrize("line", CERTAIN)
@pytest.mark.parametrize("is_there", [True, False])
def test_the_shell_agrees(tmp_path: Path, line: str, is_there: bool) -> None:
    """In a place where only a look at the wrong side could show the secret."""
    (tmp_path / ".env").write_text("TODO: the secret\n")
    if is_there:
        (tmp_path / "src" / "lib").mkdir(parents=True)
        for name in ("app.py", "lib/x.py"):
            (tmp_path / "src" / name).write_text("TODO: none\n")
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False
    )
    assert b"the secret" not in done.stdout
    assert (done.returncode == 0) == is_there or b"|" in line.encode()
