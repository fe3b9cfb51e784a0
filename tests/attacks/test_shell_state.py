"""What changes the state of the shell changes what later names mean."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *",)
ROWS = {
    "s313": Row(RULES_1, {"command": "export GIT_EXTERNAL_DIFF=./p.sh; git diff"}, "ask"),
    "s314": Row(RULES_1, {"command": "hash -p ./p.sh git; git status"}, "ask"),
}
SIBLINGS = [
    *lines(
        RULES_1,
        "ask",
        (
            "cd /tmp; git status",
            "cd .. && git status",
            "pushd /tmp; git log",
            "cd /; git log",
            "cd; git log",
            "cd -; git log",
            "cd ~; git log",
            "cd $x; git log",
            "cd $(x); git log",
            "cd build; git -C .. log; cd /tmp; git log",
            "export A=b; git log",
            "set -x; git log",
            "set -e; git log",
            "shopt -s x; git log",
            "umask 0; git log",
            "ulimit -c 0; git log",
            "alias git=x; git log",
            "unalias git; git log",
            "hash -r; git log",
            "hash git=./p.sh",
            "enable -n x; git log",
            "function git { x; }; git log",
            "git() { x; }; git log",
            "unset PATH; git log",
            "unset -f git; git log",
            "trap 'x' DEBUG; git log",
            "trap x RETURN; git log",
            "exec 9>/tmp/PWNED; git log >&9",
            "exec </dev/tty; git log",
            "source x; git log",
            ". x; git log",
            "eval x; git log",
            "command_not_found_handle() { x; }; git",
            "PROMPT_COMMAND=x; git log",
            "IFS=x; git log",
            "export PATH=.:$PATH; git log",
            "declare -x PATH=.; git log",
            "let x=1; git log",
            "mapfile x; git log",
            "local x; git log",
            "builtin cd /; git log",
            "command cd /; git log",
            "set -- x; git log",
            "shift; git log",
            "bind x; git log",
            "complete x; git log",
            "history -c; git log",
            "fc x; git log",
            "suspend; git log",
            "disown; git log",
            "kill 1; git log",
            "logout; git log",
            "newgrp x; git log",
        ),
    ),
]


@pytest.mark.parametrize("row", rows(ROWS))
def test_a_row(row: Row, place: Verdicts) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("row", SIBLINGS)
def test_a_sibling(row: Row, place: Verdicts) -> None:
    place.check(row)


@pytest.mark.parametrize("name", ["s313", "s314"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
