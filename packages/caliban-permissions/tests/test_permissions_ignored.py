"""What ignore files leave out of a search, against the programs that read them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions.reach.ignored import is_ignored

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX paths")
needs_rg = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FILES = ("a.pem", "certs/a.pem", "certs/deep/b.pem", "certs/keep.txt", "src/certs/a.pem", "src/x.py", "x.txt")
IGNORING = (
    ".gitignore",
    ".ignore",
    ".rgignore",
    ".fdignore",
    "certs/.gitignore",
    "src/.ignore",
    "src/.gitignore",
)
PATTERNS = (
    *("certs", "certs/", "/certs", "/certs/", "certs/*", "certs/**", "**/certs", "*.pem", "/*.pem", "a.pem"),
    *("certs/deep", "deep/", "src/certs/a.pem", "*", "**", "x.*", "# certs", "", " ", "certs ", "certs\t"),
    *(
        "certs\r",
        "[c]erts",
        "cert?",
        "c*s",
        "\\certs",
        "{certs,src}",
        "cer\x0cts",
        "\x0ccerts",
        "ce\u2028rts",
    ),
    *(
        "!",
        "!certs",
        "!certs/",
        "!*.pem",
        "!a.pem",
        "!certs/*",
        "!/certs/a.pem",
        "![c]erts",
        "!*",
        "\\!certs",
    ),
)
lines = st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4).map("\n".join)
trees = st.dictionaries(st.sampled_from(IGNORING), lines, max_size=4)


def made(root: Path, ignoring: dict[str, str]) -> None:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    for name, text in ignoring.items():
        (root / name).write_text(text, encoding="utf-8", newline="")


def listed(*argv: str, cwd: Path) -> set[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(cwd), "XDG_CONFIG_HOME": str(cwd)}
    done = subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, check=False)
    return {os.path.normpath(name) for name in done.stdout.decode().split("\0") if name}


@needs_rg
@given(
    ignoring=trees, is_repository=st.booleans(), where=st.sampled_from([".", "certs", "src", "certs/deep"])
)
def test_what_ripgrep_reads_is_never_left_out(
    ignoring: dict[str, str], is_repository: bool, where: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        made(root, ignoring)
        if is_repository:
            (root / ".git").mkdir()
        above = len(Path(where).parts)
        for name in listed("rg", "--files", "--null", "--hidden", where, cwd=root):
            below = len(Path(name).parts) - above
            assert not is_ignored(f"{root}/{name}", below=below), (name, where)


@needs_git
@given(ignoring=trees)
def test_what_git_takes_for_untracked_is_never_left_out(ignoring: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        made(root, ignoring)
        for name in listed("git", "ls-files", "-z", "-o", "--exclude-standard", cwd=root):
            assert not is_ignored(f"{root}/{name}", below=len(Path(name).parts), git_only=True), name


@pytest.mark.parametrize(
    ("ignoring", "name", "below", "expected"),
    [
        ({".gitignore": "certs/\n"}, "certs/a.pem", 2, True),
        ({".gitignore": "certs/\n"}, "certs/a.pem", 1, False),
        ({".gitignore": "certs/\n"}, "certs/deep/b.pem", 3, True),
        ({".gitignore": "*.pem\n"}, "certs/a.pem", 1, True),
        ({".gitignore": "*.pem\n", ".ignore": "!*.pem\n"}, "certs/a.pem", 2, False),
        ({".gitignore": "*.pem\n", "certs/.gitignore": "!a.pem\n"}, "certs/a.pem", 2, False),
        ({".fdignore": "certs\n"}, "certs/a.pem", 2, False),
        ({".rgignore": "!certs\n", ".gitignore": "certs\n"}, "certs/a.pem", 2, False),
        ({".gitignore": "certs\n" + "x" * 70_000}, "certs/a.pem", 2, False),
        ({".gitignore": "certs\n!ce\\rts\n"}, "certs/a.pem", 2, False),
        ({}, "certs/a.pem", 2, False),
    ],
)
def test_rows(tmp_path: Path, ignoring: dict[str, str], name: str, below: int, expected: bool) -> None:
    root = Path(os.path.realpath(tmp_path))
    made(root, ignoring)
    (root / ".git").mkdir()
    assert is_ignored(f"{root}/{name}", below=below) is expected


SEARCHES = [
    ("rg -i foo", "allow"),
    ("rg -l foo | head -5", "allow"),
    ("rg -l foo | xargs wc -l", "allow"),
    ("rg --files | xargs wc -l | tail -1", "allow"),
    ("rg -g '!*.md' foo", "allow"),
    ("rg --hidden foo", "allow"),
    ("rg -u foo", "ask"),
    ("rg --no-ignore foo", "ask"),
    ("rg --no-ignore-vcs foo", "ask"),
    ("rg -g 'secrets/**' foo", "ask"),
    ("rg -g '*' foo", "ask"),
    ("rg foo secrets", "ask"),
    ("rg foo secrets/", "ask"),
    ("rg foo secrets/key", "ask"),
    ("rg foo ./certs", "ask"),
    ("grep -rn foo .", "ask"),
    ("grep -rn foo certs", "ask"),
]


@pytest.mark.parametrize(("line", "verdict"), SEARCHES)
@pytest.mark.parametrize(
    "rules", [(), (("deny", "Read(secrets/**)"), ("deny", "Read(**/*.pem)"))], ids=["none", "denies"]
)
def test_a_search_that_leaves_secrets_out_is_not_asked_about(
    scene: Any, line: str, verdict: str, rules: tuple[tuple[str, str], ...]
) -> None:
    scene.add("src/app.py", "secrets/key", "certs/a.pem", ".env")
    (scene.workspace / ".git").mkdir()
    (scene.workspace / ".gitignore").write_text("secrets/\ncerts/\n.env\n")
    engine = scene.engine(*rules)
    judged = engine.explain(scene.spec("Bash"), {"command": line}).verdict
    assert judged == verdict or (rules and (judged, verdict) == ("deny", "ask"))


@pytest.mark.parametrize("text", ["!secrets/", "!key", "!*", "!"])
@pytest.mark.parametrize("name", [".ignore", ".rgignore", "secrets/.gitignore"])
def test_what_another_file_takes_in_again_is_asked_about(scene: Any, name: str, text: str) -> None:
    scene.add("src/app.py", "secrets/key")
    (scene.workspace / ".git").mkdir()
    (scene.workspace / ".gitignore").write_text("secrets/*\n")
    (scene.workspace / name).write_text(f"{text}\n")
    assert scene.engine().explain(scene.spec("Bash"), {"command": "rg foo"}).verdict == "ask"
