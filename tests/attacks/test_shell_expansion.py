"""A program that an expansion names may be the one that is denied."""

from __future__ import annotations

import pytest
from verdict_kit import UNASKED, Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *", "deny Bash:~rm *")
RULES_2 = ("allow Bash:git *",)
RULES_3 = ("allow Bash:git *", "deny Bash:rm *")
ROWS = {
    "s075": Row(RULES_1, {"command": "/???/b??/r? -rf build"}, "deny", flags=UNASKED),
    "s076": Row(RULES_1, {"command": "a=r;b=m; $a$b -rf build"}, "deny", flags=UNASKED),
    "s077": Row(RULES_1, {"command": "rm${IFS}-rf${IFS}build"}, "deny", flags=UNASKED),
    "s078": Row(RULES_1, {"command": "rm$IFS$9-rf$IFS$9build"}, "deny", flags=UNASKED),
    "s079": Row(RULES_1, {"command": 'set -- rm -rf build; "$@"'}, "deny", flags=UNASKED),
    "s082": Row(RULES_1, {"command": "x=rm; ${x} -rf build"}, "deny", flags=UNASKED),
    "s083": Row(RULES_1, {"command": "x=rm; ${x} -rf build"}, "ask"),
    "s084": Row(RULES_2, {"command": "git add *.py"}, "allow"),
}
SIBLINGS = [
    *lines(
        RULES_3,
        "deny",
        (
            "/bin/r? -rf build",
            "/???/r[m] -rf build",
            "/bin/[r]m -rf build",
            "/bi*/rm -rf build",
            "/usr/*/rm -rf build",
            "?m -rf build",
            "a=rm; $a -rf build",
            "a=rm b=-rf; $a $b build",
            "a='rm -rf build'; $a",
            "a=(rm -rf build); ${a[@]}",
            'a=(rm -rf build); "${a[@]}"',
            "set -- rm -rf build; $*",
            "set -- rm -rf build; $1 $2 $3",
            'set rm; "$1" -rf build',
            "x=mr; ${x:1:1}${x:0:1} -rf build",
            "x=arm; ${x#a} -rf build",
            "x=rma; ${x%a} -rf build",
            "x=RM; ${x,,} -rf build",
            "x=xm; ${x/x/r} -rf build",
            "${x:-rm} -rf build",
            "${x:=rm} -rf build",
            "${x-rm} build",
            ": ${x:=rm}; $x -rf build",
            "x=y; y=rm; ${!x} -rf build",
            "declare -n x=y; y=rm; $x build",
            "printf -v x rm; $x -rf build",
            "read x <<< rm; $x -rf build",
            "read -a x <<< 'rm -rf build'; ${x[@]}",
            "mapfile -t x <<< rm; $x -rf build",
            "for x in rm; do $x -rf build; done",
            "rm$IFS-rf${IFS}build",
            "rm${IFS:0:1}-rf build",
            "IFS=,; x=rm,-rf,build; $x",
            "$(echo rm) -rf build",
            "`echo rm` -rf build",
            "$(printf '\\162\\155') -rf build",
            "$(printf %s r m) build",
            "$(rev <<< mr) -rf build",
            "$(base64 -d <<< cm0=) -rf build",
            "r$(echo m) -rf build",
            "r$((1))m; $0",
            "$SHELL -c 'rm -rf build'",
            "$BASH -c 'rm -rf build'",
            "$0 -c 'rm -rf build'",
            "${BASH} -c 'rm x'",
            '"$@" rm -rf build',
            "~+/../../bin/rm -rf build",
            "export x=rm; $x -rf build",
            "alias x=rm\nx -rf build",
            "eval $x",
            'eval "$x"',
            "$x",
            "${x}",
            '"$x" -rf build',
            "$x$y -rf build",
            "${x@P}",
            "${x@E} build",
            "case rm in r*) x=rm;; esac; $x build",
            "cat <<E | sh\nrm -rf build\nE",
            "echo rm -rf build | sh",
            "echo 'rm -rf build' | bash -s",
            "printf 'rm -rf build' | sh -",
            "base64 -d <<< x | sh",
            "sh < script",
            "bash <(echo rm -rf build)",
            "source <(echo rm -rf build)",
            'sh -c "$(echo rm -rf build)"',
            'sh -c "$x"',
            "(x=rm; $x -rf build)",
            'f() { "$@"; }; f rm -rf build',
            "function g { $1 build; }; g rm",
            "x=rm;y=$x;$y build",
            "@(rm) -rf build",
            "+(r)m build",
            "/bin/@(rm) build",
        ),
        flags=UNASKED,
    ),
    *lines(
        RULES_1,
        "not allow",
        (
            "x=rm; $x -rf build",
            "$(echo rm) build",
            "/bin/r? build",
            'set -- rm build; "$@"',
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


@pytest.mark.parametrize("name", ["s075", "s077", "s079"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
