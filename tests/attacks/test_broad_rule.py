"""A rule that grants arbitrary code says so where rules are checked, and grants it to no project unasked."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts

from caliban_permissions import Rule
from caliban_permissions.lint import lint

ROWS = {
    "s284": ("Bash:*", "touch x"),
    "s286": ("Bash:bash *", "bash x"),
    "s288": ("Bash:python3 *", "python3 x"),
    "s289": ("Bash:node *", "node x"),
    "s290": ("Bash:env *", "env touch x"),
    "s292": ("Bash:xargs *", "xargs touch"),
    "s293": ("Bash:find *", "find . -delete"),
    "s294": ("Bash:docker *", "docker run x"),
    "s295": ("Bash:ssh *", "ssh x"),
    "s296": ("Bash:~*", "touch x"),
    "s298": ("mcp__*", "touch x"),
}
"""The rule of a project that nobody has trusted, and a command that it would allow."""
SIBLINGS = """
Bash
*
Bash(*)
Bash:**
Bash:* *
Bash:?*
Bash:~ *
Bash:~sh
Bash:sh *
Bash:zsh*
Bash:*sh *
Bash:/bin/bash *
Bash:python *
Bash:python3*
Bash(python3:*)
Bash:python3.12 *
Bash:perl *
Bash:ruby *
Bash:php *
Bash:lua *
Bash:java *
Bash:/usr/bin/env *
Bash:sudo *
Bash:doas *
Bash:su *
Bash:nohup *
Bash:timeout *
Bash:timeout 5 *
Bash:nice *
Bash:time *
Bash:watch *
Bash:parallel *
Bash:busybox *
Bash:fd *
Bash:podman *
Bash:kubectl *
Bash:npx *
Bash:uv *
Bash:eval *
Bash:source *
Bash:. *
Bash:exec *
Bash:command *
Bash:vim *
Bash:gdb *
Bash:strace *
Bash:screen *
Bash:tmux *
Bash:nc *
Bash:at *
Bash:chroot *
Bash:systemd-run *
Bash:osascript *
Bash:powershell *
Bash:aws-vault *
Bash:gstdbuf *
Bash:command=*
mcp__gh__*
"""
NARROW = """
Bash:ls *
Bash:git *
Bash:git log *
Bash:git status
Bash:npm test
Bash:cargo test*
Bash:python3 -m pytest*
Bash:uv run pytest*
Bash:~git *
Read
Edit:src/**
WebFetch:https://docs.rs/*
mcp__gh__create_issue
"""


def kinds(pattern: str) -> list[str]:
    return [finding.kind for finding in lint([Rule(pattern=pattern, action="allow")])]


@pytest.mark.parametrize(("pattern", "command"), ROWS.values(), ids=ROWS)
def test_a_row(pattern: str, command: str, place: Verdicts) -> None:
    project = place.work / ".caliban" / "settings.toml"
    project.parent.mkdir(exist_ok=True)
    project.write_text(f'[[permissions.rules]]\npattern = "{pattern}"\naction = "allow"\n')
    done = place.run("perms", "lint", "--scope", "project")
    assert (done.returncode, "grants arbitrary code" in done.stdout) == (1, True), done.stdout
    tool = "mcp__a__b" if pattern.startswith("mcp__") else "Bash"
    assert place.by_command(Row((), {"command": command}, "ask", tool=tool)) == "ask"


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("pattern", SIBLINGS.split("\n")[1:-1])
def test_a_sibling(pattern: str) -> None:
    assert "grants code" in kinds(pattern)


@pytest.mark.parametrize("pattern", NARROW.split("\n")[1:-1])
def test_a_rule_that_names_what_runs_is_none(pattern: str) -> None:
    assert kinds(pattern) == []
