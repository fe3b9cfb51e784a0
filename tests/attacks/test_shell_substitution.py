"""What a substitution runs is a command of the line, however deep and however quoted it stands."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *", "allow Bash:echo *")
RULES_2 = ("deny Bash:~touch *", "allow Bash:echo *")
RULES_3 = ("allow Bash:echo *", "deny Bash:~rm *")
ROWS = {
    "s021": Row(RULES_1, {"command": 'git log "$(touch /tmp/PWNED)"'}, "ask"),
    "s022": Row(RULES_1, {"command": "git log `touch /tmp/PWNED`"}, "ask"),
    "s023": Row(RULES_1, {"command": "echo `echo \\`touch /tmp/PWNED\\``"}, "ask"),
    "s024": Row(RULES_1, {"command": "git diff --no-index a.txt <(touch /tmp/PWNED)"}, "ask"),
    "s026": Row(RULES_1, {"command": 'git log "${x:-$(touch /tmp/PWNED)}"'}, "ask"),
    "s027": Row(RULES_1, {"command": 'git log "${x:=$(touch /tmp/PWNED)}"'}, "ask"),
    "s028": Row(RULES_1, {"command": "git log ${x/a/$(touch /tmp/PWNED)}; x=a"}, "ask"),
    "s031": Row(RULES_1, {"command": 'echo ${a="\\$"}${b="$a(touch /tmp/PWNED)"}${b@P}'}, "ask"),
    "s032": Row(RULES_1, {"command": 'git log "$(: # )\ntouch /tmp/PWNED\n)"'}, "ask"),
    "s033": Row(RULES_1, {"command": 'echo "$(cat <<E\n$(touch /tmp/PWNED)\nE\n)"'}, "ask"),
    "s036": Row(RULES_1, {"command": "git log \\\n$(tou\\\nch /tmp/PWNED)"}, "ask"),
    "s037": Row(RULES_2, {"command": "echo $(echo $(touch /tmp/PWNED))"}, "deny"),
}
SIBLINGS = [
    *lines(
        RULES_1,
        "ask",
        (
            'echo "$(touch /tmp/PWNED)"',
            "echo $(touch /tmp/PWNED)",
            'echo "${x:+$(touch /tmp/PWNED)}"',
            "echo ${x:?$(touch /tmp/PWNED)}",
            "echo ${x#$(touch /tmp/PWNED)}",
            "echo ${x%%$(touch /tmp/PWNED)}",
            "echo ${x^$(touch /tmp/PWNED)}",
            "echo ${x:$(touch /tmp/PWNED)}",
            "echo ${x:0:$(touch /tmp/PWNED)}",
            "echo ${x//a/$(touch /tmp/PWNED)}",
            "echo $[$(touch /tmp/PWNED)]",
            "echo $(( $(touch /tmp/PWNED) ))",
            "echo >( touch /tmp/PWNED )",
            "git log > >(touch /tmp/PWNED)",
            "git log 2> >(touch /tmp/PWNED)",
            "echo <(git log; touch /tmp/PWNED)",
            "echo $(<(touch /tmp/PWNED))",
            "echo ${!x}$(touch /tmp/PWNED)",
            'echo "`touch /tmp/PWNED`"',
            'echo "$(echo "$(touch /tmp/PWNED)")"',
            "echo $(git log; touch /tmp/PWNED)",
            "echo $(git log\ntouch /tmp/PWNED)",
            "echo $(git log # )\ntouch /tmp/PWNED\n)",
            "echo $(case a in a) touch /tmp/PWNED;; esac)",
            "echo $( (touch /tmp/PWNED) )",
            "echo $(cat <<'E'\n)\nE\ntouch /tmp/PWNED)",
            "x=$(touch /tmp/PWNED) git log",
            "git log --format=$(touch /tmp/PWNED)",
            "git log <<< $(touch /tmp/PWNED)",
            "git log <<E\n$(touch /tmp/PWNED)\nE",
            "git log <<E\n`touch /tmp/PWNED`\nE",
            "git log <<E\n${x:-$(touch /tmp/PWNED)}\nE",
            "git log <<-E\n\t$(touch /tmp/PWNED)\n\tE",
            "for i in $(touch /tmp/PWNED); do git log; done",
            "case $(touch /tmp/PWNED) in a) git log;; esac",
            "[[ $(touch /tmp/PWNED) ]] && git log",
            "echo ${x@P}",
            "echo ${x:=$(touch /tmp/PWNED)}",
            "echo ${ touch /tmp/PWNED; }",
            "echo ${| touch /tmp/PWNED; }",
            "echo $'\\x24('touch /tmp/PWNED)",
            "echo a$(touch /tmp/PWNED)b",
            "git log '--format='$(touch /tmp/PWNED)",
            'git log "a"$(touch /tmp/PWNED)',
            "git log {a,$(touch /tmp/PWNED)}",
            "git log ~$(touch /tmp/PWNED)",
            "git log $(touch /tmp/PWNED)/*",
            "echo ${a[$(touch /tmp/PWNED)]:-x}",
        ),
    ),
    *lines(
        RULES_3,
        "deny",
        (
            "echo $(echo $(rm x))",
            "echo `echo \\`rm x\\``",
            'echo "$(echo "$(rm x)")"',
            "echo <(rm x)",
            "git log > >(rm x)",
            "echo ${x:-$(rm x)}",
            "x=$(rm x)",
            "echo $((a[$(rm x)]))",
            "echo <<E\n$(rm x)\nE",
            'echo "${x:=`rm x`}"',
            "for i in $(rm x); do echo; done",
            "echo $(case a in a) rm x;; esac)",
            "echo $(git log # )\nrm x\n)",
            "echo $(\\rm x)",
            "echo $(r''m x)",
            "git log $(xargs rm <<< x)",
        ),
    ),
    *lines(
        RULES_1,
        "allow",
        (
            "git log $(git rev-parse HEAD)",
            "git log '$(touch x)'",
            'git log "\\$(touch x)"',
            "git commit -m 'use `rm`'",
            'git commit -m "cost \\$5"',
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


@pytest.mark.parametrize("name", ["s021", "s026", "s032"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
