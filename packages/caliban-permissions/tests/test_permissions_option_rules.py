"""A deny that ends in options means them in every order and spelling."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX workspace")

RULES = (
    ("deny", "Bash:rm -rf *"),
    ("deny", "Bash(git push --force:*)"),
    ("deny", "Bash:git reset --hard *"),
    ("deny", "Bash:git commit --no-verify *"),
    ("deny", "Bash:git branch -D *"),
    ("deny", "Bash:terraform apply -destroy *"),
    ("allow", "Bash"),
)


@pytest.mark.parametrize(
    "line",
    [
        "rm -fr x",
        "rm -r -f x",
        "rm --recursive --force x",
        "rm --rec --for x",
        "rm -Rf x",
        "rm -rfv x",
        "rm x -rf",
        "sudo rm -r --force x",
        "sh -c 'rm -fr x'",
        "find . -exec rm -f -r {} +",
        "python3 -c 'import os; os.system(\"rm -fr x\")'",
        "cat <<E\n$(rm -fr x)\nE",
        "git push origin main --force",
        "git push -f",
        "git push -uf origin x",
        "git push origin --forc",
        "git -C . push origin -f",
        "git reset HEAD~1 --hard",
        "git commit -m x --no-verify",
        "git commit -anm x",
        "git branch -d -f x",
        "git branch --delete --force x",
        "terraform apply x -destroy",
    ],
)
def test_another_spelling_of_the_options_is_denied(line: str, scene: Any) -> None:
    assert scene.verdict(line, *RULES) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "rm -r x",
        "rm -f x",
        "rm -r -- -f",
        "git push -u origin x",
        "git push --force-with-lease",
        "git fetch --force",
        "git reset --soft HEAD~1",
        "git commit -am x",
        "git commit -mn x",
        "git commit -m 'keep -n and --no-verify'",
        "git branch -d x",
        "terraform apply -auto-approve",
    ],
)
def test_other_options_are_not(line: str, scene: Any) -> None:
    assert scene.verdict(line, *RULES) == "allow"


def test_an_allow_of_options_means_them_as_they_are_written(scene: Any) -> None:
    assert scene.verdict("rm -fr x", ("allow", "Bash:rm -rf *")) == "ask"
