"""A deny is about the program, however its name is quoted."""

from __future__ import annotations

import pytest
from verdict_kit import UNASKED, Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *", "deny Bash:~rm *")
RULES_2 = ("allow Bash:find *",)
RULES_3 = ("allow Bash:git *", "deny Bash:rm *")
ROWS = {
    "s058": Row(RULES_1, {"command": "r\\m -rf build"}, "deny", flags=UNASKED),
    "s059": Row(RULES_1, {"command": 'r""m -rf build'}, "deny", flags=UNASKED),
    "s064": Row(RULES_1, {"command": "r\\\nm -rf build"}, "deny", flags=UNASKED),
    "s065": Row(RULES_1, {"command": "rm\t-rf\tbuild"}, "deny", flags=UNASKED),
    "s066": Row(RULES_1, {"command": "rm  -rf   build"}, "deny", flags=UNASKED),
    "s067": Row(RULES_1, {"command": "/bin/rm -rf build"}, "deny", flags=UNASKED),
    "s068": Row(RULES_1, {"command": "/usr/bin/../bin/rm -rf build"}, "deny", flags=UNASKED),
    "s069": Row(RULES_1, {"command": "/proc/self/root/bin/rm -rf build"}, "deny", flags=UNASKED),
    "s070": Row(RULES_1, {"command": "{rm,-rf,build}"}, "deny", flags=UNASKED),
    "s071": Row(RULES_1, {"command": 'bash -c "r\\m -rf build"'}, "deny", flags=UNASKED),
    "s074": Row(RULES_2, {"command": 'find . -maxdepth 1 -name a.txt {-exec,touch,/tmp/PWNED,";"}'}, "ask"),
}
SIBLINGS = [
    *lines(
        RULES_3,
        "deny",
        (
            "'r'm -rf build",
            "r'm' -rf build",
            '"rm" -rf build',
            "$'rm' -rf build",
            "$'\\162m' -rf build",
            "$'\\x72\\x6d' -rf build",
            "$'\\u0072m' -rf build",
            '$"rm" -rf build',
            "\\r\\m -rf build",
            "r$@m -rf build",
            "r$*m x",
            "r${x}m -rf build",
            "r$()m -rf build",
            "r``m -rf build",
            "rm\\\n -rf build",
            "rm\t\t-rf build",
            "RM=1 rm -rf build",
            "./../../bin/rm -rf build",
            "/bin//rm -rf build",
            "/bin/./rm -rf build",
            "//bin/rm -rf build",
            "/usr/bin/rm -rf build",
            "~/../../bin/rm -rf build",
            "/proc/1/root/bin/rm -rf build",
            "/proc/$$/root/bin/rm -rf build",
            "/dev/fd/../../bin/rm -rf build",
            "{rm,-rf,build}",
            "{rm,-r,-f,build}",
            "{,rm} -rf build",
            "r{m,} -rf build",
            "{r,}m build",
            "bash -c 'r\\m -rf build'",
            "bash -c r\\\\m\\ -rf\\ build",
            'sh -c "rm -rf build"',
            "bash -c $'rm -rf build'",
            "bash -lc 'rm -rf build'",
            "bash --norc -c 'rm -rf build'",
            "bash -o pipefail -c 'rm -rf build'",
            "eval rm -rf build",
            "eval 'r''m' -rf build",
            'eval "r"m -rf build',
            "command rm -rf build",
            "builtin command rm -rf build",
            "\\command rm x",
            "'command' rm x",
            'rm -rf bu"il"d',
            "-- rm -rf build; rm x",
            "!rm; rm x",
            "{ 'rm' -rf build;}",
            "rm<<<x -rf build",
            "rm>x -rf build",
            "2>x rm -rf build",
            "<x rm -rf build",
            "rm 2>&1 -rf build",
            "rm -rf build#x",
            "rm\\ -rf build; rm y",
            "r\\\n\\\nm -rf build",
            "r''''m -rf build",
            "'r''m' -rf build",
        ),
        flags=UNASKED,
    ),
    *lines(
        RULES_2,
        "ask",
        (
            "find . -name a {-exec,touch,/tmp/PWNED,\\;}",
            "find . {-delete,}",
            "find . -{delete,print}",
            "find . \"-exec\" touch x ';'",
            "find . -e''xec touch x \\;",
            "find . -\\exec touch x \\;",
            "find . $'-exec' touch x \\;",
            "find . -'delete'",
            "find . {-ok,touch,x,\\;}",
            "find . {-fprint,/tmp/PWNED}",
            "find . {,-delete}",
            "find . -name x -{exec,}{dir,} touch x \\;",
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


@pytest.mark.parametrize("name", ["s058", "s065", "s068"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
