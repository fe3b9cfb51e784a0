"""Builtins and expansions that read their data as code again are covered by no wildcard."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:echo *", "allow Bash:test *", "allow Bash:printf *", "allow Bash:[[ *")
RULES_2 = (
    "allow Bash:echo *",
    "allow Bash:test *",
    "allow Bash:printf *",
    "allow Bash:[[ *",
    "allow Bash:[ *",
    "allow Bash:read *",
    "allow Bash:export *",
    "allow Bash:declare *",
    "allow Bash:set *",
    "allow Bash:local *",
    "allow Bash:typeset *",
    "allow Bash:unset *",
    "allow Bash:git *",
    "allow Bash:wait *",
    "allow Bash:exec *",
    "allow Bash:mapfile *",
    "allow Bash:readarray *",
)
ROWS = {
    "s041": Row(RULES_1, {"command": "echo ${a[$(touch /tmp/PWNED)]}"}, "ask"),
    "s042": Row(RULES_1, {"command": "echo ${#a[$(touch /tmp/PWNED)]}"}, "ask"),
    "s043": Row(RULES_1, {"command": "[[ -v 'a[$(touch /tmp/PWNED)]' ]]"}, "ask"),
    "s044": Row(RULES_1, {"command": "test -v 'a[$(touch /tmp/PWNED)]'"}, "ask"),
    "s046": Row(RULES_1, {"command": "printf -v 'a[$(touch /tmp/PWNED)]' x"}, "ask"),
    "s047": Row(RULES_1, {"command": "let 'a[$(touch /tmp/PWNED)]=1'"}, "ask"),
    "s048": Row(RULES_1, {"command": "read 'a[$(touch /tmp/PWNED)]' <<< 1"}, "ask"),
    "s050": Row(RULES_1, {"command": "declare -n r='a[$(touch /tmp/PWNED)]'; echo $r"}, "ask"),
    "s053": Row(RULES_1, {"command": "((x=a[$(touch /tmp/PWNED)]+1))"}, "ask"),
    "s054": Row(RULES_1, {"command": "mapfile -C 'touch /tmp/PWNED;' -c 1 x < a.txt"}, "ask"),
    "s055": Row(RULES_1, {"command": "compgen -C 'touch /tmp/PWNED' x"}, "ask"),
    "s056": Row(RULES_1, {"command": "PS4='$(touch /tmp/PWNED)'; set -x; echo hi"}, "ask"),
}
SIBLINGS = [
    *lines(
        RULES_2,
        "ask",
        (
            "echo ${a[$(touch /tmp/PWNED)]}",
            "echo ${a[`touch /tmp/PWNED`]}",
            "[[ 'a[$(touch /tmp/PWNED)]' -eq 1 ]]",
            "[[ 1 -lt 'a[$(touch /tmp/PWNED)]' ]]",
            "[ -v 'a[$(touch /tmp/PWNED)]' ]",
            "test -v 'a[$(touch /tmp/PWNED)]'",
            "test -R 'a[$(touch /tmp/PWNED)]'",
            "[[ -R 'a[$(touch /tmp/PWNED)]' ]]",
            "printf -v 'a[$(touch /tmp/PWNED)]' x",
            "printf '-va[$(touch /tmp/PWNED)]' x",
            "printf -v'a[$(touch /tmp/PWNED)]' x",
            "read 'a[$(touch /tmp/PWNED)]' <<< 1",
            "read -r -a 'a[$(touch /tmp/PWNED)]' <<< 1",
            "unset 'a[$(touch /tmp/PWNED)]'",
            "unset -v 'a[$(touch /tmp/PWNED)]'",
            "declare 'a[$(touch /tmp/PWNED)]=1'",
            "typeset 'a[$(touch /tmp/PWNED)]=1'",
            "export 'a[$(touch /tmp/PWNED)]=1'",
            "readonly 'a[$(touch /tmp/PWNED)]=1'",
            "local 'a[$(touch /tmp/PWNED)]=1'",
            "declare -i x='a[$(touch /tmp/PWNED)]'",
            "declare -n r='a[$(touch /tmp/PWNED)]'; echo $r",
            "let 'a[$(touch /tmp/PWNED)]'",
            "(( a[$(touch /tmp/PWNED)] ))",
            "for ((a[$(touch /tmp/PWNED)];0;)); do :; done",
            "echo $(( a[$(touch /tmp/PWNED)] ))",
            "echo ${x:a[$(touch /tmp/PWNED)]}",
            "echo ${x: -a[$(touch /tmp/PWNED)]}",
            "wait -n -p 'a[$(touch /tmp/PWNED)]'",
            "mapfile -C 'touch /tmp/PWNED;' -c1 x",
            "readarray -C 'touch /tmp/PWNED;' -c1 x",
            "compgen -C 'touch /tmp/PWNED' x",
            "complete -C 'touch /tmp/PWNED' x",
            "trap 'touch /tmp/PWNED' EXIT",
            "trap -- 'touch /tmp/PWNED' 0",
            "PROMPT_COMMAND='touch /tmp/PWNED' bash -i",
            "PS4='$(touch /tmp/PWNED)'; set -x; echo",
            "eval touch /tmp/PWNED",
            "eval 'touch /tmp/PWNED'",
            "builtin eval touch /tmp/PWNED",
            "command eval touch /tmp/PWNED",
            "source x.sh",
            ". ./p.sh",
            "bind -x '\"a\":touch /tmp/PWNED'",
            "fc -e 'touch /tmp/PWNED'",
            "enable -f ./x.so x",
            "alias git='touch /tmp/PWNED'; git log",
            "shopt -s expand_aliases; alias echo='touch /tmp/PWNED'\necho",
            "getopts a 'a[$(touch /tmp/PWNED)]'",
            "x='$(touch /tmp/PWNED)'; echo ${x@P}",
            "exec -a git touch /tmp/PWNED",
            "ulimit $(touch /tmp/PWNED)",
            "hash -p ./p.sh echo; echo",
            "history -s '$(touch /tmp/PWNED)'",
            "export x='a[$(touch /tmp/PWNED)]'; echo $((x))",
            "set -o xtrace; PS4='$(touch /tmp/PWNED)'; echo",
            "test -n x -a -v 'a[$(touch /tmp/PWNED)]'",
            "test ! -v 'a[$(touch /tmp/PWNED)]'",
            "read -a 'a[$(touch /tmp/PWNED)]' <<< 1",
            "read -u 0 'a[$(touch /tmp/PWNED)]' <<< 1",
            "read -p x 'a[$(touch /tmp/PWNED)]' <<< 1",
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


@pytest.mark.parametrize("name", ["s041", "s046", "s053"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
