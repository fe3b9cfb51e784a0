"""An option that takes no word of its own hides none: what stands behind it is an option, too."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")

WRITES_UNASKED = (
    "git diff -U --output=out HEAD",
    "git diff -pU --output=out HEAD",
    "git diff --unified --output=out HEAD",
    "git show -U --output=out HEAD",
    "git log -pU --output=out",
    "git log --format --output=out",
    "git diff-files -U --output=out",
)

BEHIND = (
    ("make *", "make -j -f x"),
    ("make *", "make -O -f x"),
    ("make *", "make -l -f x"),
    ("shuf *", "shuf -r -o x a.txt"),
    ("date *", "date -I -f x"),
    ("gradle *", "gradle -m -I x build"),
    ("git diff *", "git diff -U --output=x"),
    ("git show *", "git show -U --output=x"),
    ("git tag *", "git tag -n --edit-description x"),
    ("python -m pytest *", "python -m pytest -p evil"),
    ("python -m pytest *", "python -m pytest -q --junitxml=/x"),
    ("python3 -mpytest *", "python3 -mpytest -c x"),
    ("python -m mypy *", "python -m mypy --python-executable ./p a"),
    ("pytest *", "pytest @x"),
    ("pytest *", "pytest --tx popen//python=./p -d"),
    ("pytest *", "pytest --benchmark-json=/x"),
    ("ruff *", "ruff check -o /x"),
    ("mypy *", "mypy --html-report /x a"),
    ("tsc *", "tsc --declarationDir /x"),
    ("tsc *", "tsc @x"),
    ("eslint *", "eslint -f ./x ."),
    ("eslint *", "eslint --cache-location /x ."),
)

STILL_FREE = (
    ("make *", "make -j4 test"),
    ("make *", "make -j 4 test"),
    ("make *", "make -j"),
    ("make *", "make -l2 -O test"),
    ("git *", "git diff -U5 --stat"),
    ("date *", "date -Iseconds"),
    ("python -m pytest *", "python -m pytest -q -k 'a and not b' tests"),
    ("python -m mypy *", "python -m mypy src"),
    ("pytest *", "pytest --cov=a --cov-report term"),
    ("ruff *", "ruff check --fix src"),
    ("tsc *", "tsc --noEmit -p tsconfig.json"),
)


@pytest.fixture
def project(scene: Any) -> Any:
    scene.add("a.txt")
    for words in (["init", "-q"], ["add", "a.txt"]):
        subprocess.run(["git", *words], cwd=scene.workspace, check=True)
    return scene


@pytest.mark.parametrize("line", WRITES_UNASKED)
def test_what_writes_behind_such_an_option_does_not_pass_for_reading(line: str, project: Any) -> None:
    assert project.verdict(line) == "ask"


def test_git_writes_a_file_behind_such_an_option(project: Any) -> None:
    for index, line in enumerate(("git diff -U --output=0", "git diff --unified --output=1")):
        subprocess.run(line.split(" "), cwd=project.workspace, check=True)
        assert (project.workspace / str(index)).exists()


@pytest.mark.parametrize(
    "line", ["git diff -U3", "git diff -U0 --stat", "git show -U10", "git log -3 --format=%h"]
)
def test_a_number_in_the_word_of_such_an_option_is_its_value(line: str, project: Any) -> None:
    assert project.verdict(line) == "allow"


@pytest.mark.parametrize(("rule", "line"), BEHIND)
def test_no_wildcard_covers_what_stands_behind_such_an_option(rule: str, line: str, project: Any) -> None:
    assert project.verdict(line, ("allow", f"Bash:{rule}")) == "ask"


@pytest.mark.parametrize(("rule", "line"), STILL_FREE)
def test_a_wildcard_covers_the_options_of_every_day(rule: str, line: str, project: Any) -> None:
    assert project.verdict(line, ("allow", f"Bash:{rule}")) == "allow"
