"""A rule is about one command: whatever else stands in the line is judged for itself."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *",)
RULES_2 = ("allow Bash:git *", "deny Bash:~rm *")
RULES_3 = ("allow Bash:cd *", "deny Bash:~rm *")
RULES_4 = ("allow Bash:git *", "allow Bash:cd *", "deny Bash:~rm *")
ROWS = {
    "s001": Row(RULES_1, {"command": "git status; touch /tmp/PWNED"}, "ask"),
    "s003": Row(RULES_1, {"command": "git nosuch || touch /tmp/PWNED"}, "ask"),
    "s004": Row(RULES_1, {"command": "git log | touch /tmp/PWNED"}, "ask"),
    "s007": Row(RULES_1, {"command": "git status\ntouch /tmp/PWNED"}, "ask"),
    "s009": Row(RULES_1, {"command": "(git status; touch /tmp/PWNED)"}, "ask"),
    "s010": Row(RULES_1, {"command": "{ git status; touch /tmp/PWNED; }"}, "ask"),
    "s011": Row(RULES_1, {"command": "if git status; then touch /tmp/PWNED; fi"}, "ask"),
    "s012": Row(RULES_1, {"command": "for i in 1; do git status; touch /tmp/PWNED; done"}, "ask"),
    "s014": Row(RULES_1, {"command": "! true && touch /tmp/PWNED; git status"}, "ask"),
    "s015": Row(RULES_1, {"command": "git status ; " * 60 + "touch /tmp/PWNED"}, "ask"),
    "s016": Row(RULES_2, {"command": "git status && rm -rf build"}, "deny"),
    "s019": Row(RULES_3, {"command": "cd build | rm -rf ."}, "deny"),
}
SIBLINGS = [
    *lines(
        RULES_1,
        "ask",
        (
            "git status && touch /tmp/PWNED",
            "git status & touch /tmp/PWNED",
            "git log |& touch /tmp/PWNED",
            "git status;touch /tmp/PWNED",
            "git status\n\n\ntouch /tmp/PWNED",
            "while git status; do touch /tmp/PWNED; done",
            "until git status; do touch /tmp/PWNED; done",
            "case a in a) touch /tmp/PWNED;; esac",
            "case a in a) git status;& b) touch /tmp/PWNED;; esac",
            "select x in a; do touch /tmp/PWNED; done",
            "for ((i=0;i<1;i++)); do touch /tmp/PWNED; done",
            "if git status; then git log; else touch /tmp/PWNED; fi",
            "if git status; then git log; elif touch /tmp/PWNED; then git log; fi",
            "f() { touch /tmp/PWNED; }; f",
            "function f { touch /tmp/PWNED; }; f",
            "coproc touch /tmp/PWNED",
            "coproc x { touch /tmp/PWNED; }",
            "time touch /tmp/PWNED",
            "! touch /tmp/PWNED",
            "git status &&\ntouch /tmp/PWNED",
            "git status |\ntouch /tmp/PWNED",
            "git status && ( touch /tmp/PWNED )",
            "git status && { touch /tmp/PWNED; }",
            "[[ -d . ]] && touch /tmp/PWNED",
            "git log; ((touch /tmp/PWNED))",
            "git log; ( (git log; touch /tmp/PWNED) )",
            "git status & wait; touch /tmp/PWNED",
            "git status;;touch /tmp/PWNED",
            "git status || (git log && touch /tmp/PWNED)",
            "git status # x\ntouch /tmp/PWNED",
            "touch /tmp/PWNED | git status",
            "touch /tmp/PWNED & git status",
            "touch /tmp/PWNED; git status",
            "git status" + "; git log" * 200 + "; touch /tmp/PWNED",
            "for f in *.py; do touch /tmp/PWNED; done",
            "[ -d . ] && git log && touch /tmp/PWNED",
            "git status && time -p touch /tmp/PWNED",
            "if ! git status; then touch /tmp/PWNED; fi",
            "until false; do git log; touch /tmp/PWNED; done",
        ),
    ),
    *lines(
        RULES_4,
        "deny",
        (
            "git status && rm -rf build",
            "git log; (rm -rf build)",
            "git log & rm -rf build",
            "git log |& rm -rf build",
            "{ git log; rm -rf build; } > x",
            "if true; then rm x; fi",
            "cd build | rm -rf .",
            "cd build && rm -rf .",
            "cd build; rm -rf .",
            "cd build || rm -rf .",
            "pushd build; rm -rf .; popd",
            "(cd build && rm -rf .)",
            "git log\nrm x",
            "f() { rm x; }; f",
            "while read f; do rm $f; done",
            'for f in a b; do rm "$f"; done',
            "case x in x) rm y;; esac",
            "coproc rm x",
            "time rm x",
            "! rm x",
            "git log && ! rm x",
            "[[ -d build ]] && rm -r build",
            "git status || true && rm x",
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


@pytest.mark.parametrize("name", ["s001", "s009", "s014"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
