"""Characters that show as others, and text that cannot be read, are allowed by no wildcard."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *", "allow Bash:ls *")
ROWS = {
    "s175": Row(RULES_1, {"command": "git status\x00; touch /tmp/PWNED"}, "deny"),
    "s177": Row(RULES_1, {"command": "git status；touch /tmp/PWNED"}, "ask"),
    "s179": Row(RULES_1, {"command": "git status\rtouch /tmp/PWNED"}, "ask"),
    "s180": Row(RULES_1, {"command": "git\x0bstatus"}, "ask"),
    "s181": Row(RULES_1, {"command": "git log \u202e#touch /tmp/PWNED"}, "ask"),
    "s183": Row(RULES_1, {"command": 'git log "unterminated'}, "ask"),
    "s184": Row(RULES_1, {"command": "git log &&"}, "ask"),
    "s185": Row(
        RULES_1,
        {"command": "$(" * 2000 + "$(" * 0 + "x" + ")" * 2000},
        "ask",
    ),
    "s186": Row(RULES_1, {"command": "git log " + "a" * 10001}, "ask"),
    "s187": Row(RULES_1, {"command": "true " + "x" * 131072}, "deny"),
    "s188": Row(RULES_1, {"command": "git log \ud800"}, "deny"),
    "s191": Row(RULES_1, {"command": 'ls *(e:"touch /tmp/PWNED":)'}, "ask"),
}
SIBLINGS = [
    *lines(
        RULES_1,
        "not allow",
        (
            "git status\x0btouch x",
            "git status\x0ctouch x",
            "git\x0cstatus",
            "git\xa0status",
            "git\u2003status",
            "git status\u2028touch x",
            "git status\u2029touch x",
            "git status\x85touch x",
            "git log\u200b",
            "git log \u200f",
            "git log \u202a",
            "git log \u2066x",
            "gіt status",
            "git status\x1b[2K",
            "git log \x7f",
            "git log \x08",
            "git log \ufeff",
            "\ufeffgit log",
            "git log \x01",
            "git log \U000e0041",
            "git log \xad",
            "git\u3000status",
            "git status＆＆touch",
            "git log 'unterminated",
            "git log `x",
            "git log $(",
            "git log (",
            "git log )",
            "git log ;;",
            "git log ||",
            "git log |",
            "&& git log",
            "; git log",
            "| git log",
            "git log > ",
            "git log <",
            "git log &&& x",
            "git log |||",
            "git log }; }",
            "if git log",
            "for",
            "while git log",
            "case",
            "git log ${",
            "git log ${x",
            "git log $((",
            "git log $'",
            'git log "$("',
            "git log \\",
            "if; then; fi",
            "( git log",
            "{ git log;",
            "git log\\",
            "git log \r\n touch x",
            "git log\r",
            "\rgit log",
            "git log &&\n",
            "ls *(.)",
            "ls **/*(e'[touch x]')",
            "ls ^(x)",
            "ls x~y(e:x:)",
            "=ls(x)",
            "git log ()",
            "git log !(x)",
            "git log <(",
            "git log >(",
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


@pytest.mark.parametrize("name", ["s177", "s180", "s183"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
