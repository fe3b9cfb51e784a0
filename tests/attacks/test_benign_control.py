"""What is plainly covered runs without a question: who is asked in vain answers yes to everything."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

GIT = ("allow Bash:git *",)
MANY = (
    "allow Bash:git *",
    "allow Bash:cargo *",
    "allow Bash:npm test*",
    "allow Bash:pytest*",
    "allow Bash:ls*",
    "allow Bash:rg *",
    "deny Bash:~rm *",
)
ROWS = {
    "s881": Row(GIT, {"command": "git status"}, "allow"),
    "s882": Row(GIT, {"command": 'git commit -m "fix: handle A; B && C | D"'}, "allow"),
    "s884": Row(GIT, {"command": 'git commit -m "line one\n\nline two"'}, "allow"),
    "s887": Row(GIT, {"command": "git diff HEAD~3..HEAD -- src/a.py"}, "allow"),
    "s888": Row(GIT, {"command": "git show HEAD^:README.md"}, "allow"),
    "s889": Row(GIT, {"command": 'git stash push -m "wip"'}, "allow"),
    "s890": Row(GIT, {"command": 'git add -A && git commit -m "x" && git push'}, "allow"),
    "s891": Row(GIT, {"command": "git rev-parse --abbrev-ref HEAD 2>/dev/null"}, "allow"),
    "s894": Row(GIT, {"command": 'git branch --list "feature/*"'}, "allow"),
    "s897": Row(MANY, {"command": "cargo build && cargo test"}, "allow"),
    "s898": Row(MANY, {"command": "npm test"}, "allow"),
    "s901": Row(MANY, {"command": 'pytest -k "a and not b"'}, "allow"),
    "s902": Row(MANY, {"command": "ls -la src"}, "allow"),
    "s903": Row(MANY, {"command": 'rg "fn main\\(" -g "*.rs" src'}, "allow"),
    "s905": Row(MANY, {"command": "git checkout -b farm-rm-fix"}, "allow"),
    "s908": Row(
        (),
        {"path": "src/new/mod.py", "content": "x = 1\n"},
        "allow",
        tool="Write",
        flags=("--permission-mode", "acceptEdits"),
    ),
    "s909": Row(
        (),
        {"path": "README.md", "old_string": "a", "new_string": "b"},
        "allow",
        tool="Edit",
        flags=("--permission-mode", "acceptEdits"),
    ),
    "s910": Row((), {"path": "src/a.py"}, "allow", tool="Read", flags=("--permission-mode", "plan")),
    "s911": Row((), {"pattern": "TODO"}, "allow", tool="Grep", flags=("--permission-mode", "plan")),
    "s912": Row((), {"path": "docs/руководство 説明.md"}, "allow", tool="Read"),
    "s913": Row(GIT, {"command": 'git commit -m "修正 — исправлено ✓"'}, "allow"),
    "s915": Row(
        ("allow WebFetch:https://docs.python.org/*",),
        {"url": "https://docs.python.org/3/library/os.html?x=1#os.path"},
        "allow",
        tool="WebFetch",
    ),
}

SIBLINGS = [
    *lines(
        GIT,
        "allow",
        (
            "git log --oneline -5",
            "git commit -m 'rm -rf / && echo $(x) `y` > z'",
            'git commit -m "a; b | c & d > e < f (g) {h}"',
            'git commit -m "50% done, 3 * 4 = 12? [yes] {no} ~ok # 1"',
            "git commit -m 'it''s'",
            'git commit -m "don\'t"',
            'git commit -m "say \\"hi\\""',
            'git commit -m "fix" -m "long\n- a\n- b"',
            "git commit -F - <<'EOF'\nsubject\n\nbody; rm -rf /\nEOF",
            "git commit -m \"$(cat <<'EOF'\nsubject\n\nbody\nEOF\n)\"",
            "git log --format='%h %s' --since='2 weeks ago'",
            "git log --grep='foo|bar' -i",
            "git show HEAD@{1}",
            "git show HEAD~2:src/a.py",
            "git diff main...HEAD -- '*.py'",
            "git stash && git pull --rebase && git stash pop",
            "git status || git log",
            "git status; git diff",
            "git status\ngit diff",
            "git status # what changed",
            "git add -A && git commit -m 'x' && git push origin HEAD",
            "git fetch 2>&1 && git log 2>/dev/null",
            "git log | git hash-object --stdin",
            "(git status; git log)",
            "{ git status; git log; }",
            "if git diff --quiet; then git status; else git add -A; fi",
            "for f in a b; do git add $f; done",
            "! git diff --quiet",
            "git add src/*.py",
            "git checkout -- a.txt",
            "git log -- \\\n  a.txt",
            "LC_ALL=C git log",
            "git grep 'std::vector'",
            "git grep -n Foo::bar",
            "git log -S Foo::bar",
            "git merge --no-ff -s ort main",
            "git rebase -s recursive main",
            "git cherry-pick -s abc",
            "git commit -m '修正 — исправлено ✓'",
        ),
    ),
    *lines(
        MANY,
        "allow",
        (
            "cargo build --release 2>&1",
            "cargo test -- --nocapture",
            "cargo clippy --all-targets -- -D warnings",
            "npm test -- --watch=false",
            "pytest -x -q tests/test_a.py::test_b",
            "pytest -k 'not slow' --maxfail=1",
            "ls -la src | rg foo",
            "ls src && cargo build",
            "rg 'rm -rf' src",
            "rg -n 'a|b' -g '!*.md' src",
            "rg --files | rg farm",
            "git checkout -b farm-fix",
            "git commit -m 'perform better'",
            "ls farm",
        ),
    ),
    *lines((), "allow", ("pwd", "ls", "cat a.txt", "wc -l a.txt", "grep -n x a.txt")),
]


@pytest.mark.parametrize("row", rows(ROWS))
def test_a_row(row: Row, place: Verdicts) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("row", SIBLINGS)
def test_a_sibling(row: Row, place: Verdicts) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.parametrize("name", ["s882", "s912", "s915", "s908"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
