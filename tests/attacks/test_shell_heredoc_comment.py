"""Here-documents and comments end where bash ends them."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *", "allow Bash:cat *")
RULES_2 = ("allow Bash:cat *",)
ROWS = {
    "s167": Row(RULES_1, {"command": "cat <<-EOF\n\tEOF\ntouch /tmp/PWNED"}, "ask"),
    "s168": Row(RULES_1, {"command": 'cat <<"E F"\nE F\ntouch /tmp/PWNED'}, "ask"),
    "s169": Row(RULES_1, {"command": "cat <<A <<B\nx\nA\ny\nB\ntouch /tmp/PWNED"}, "ask"),
    "s170": Row(RULES_1, {"command": "bash <<EOF\ntouch /tmp/PWNED\nEOF"}, "ask"),
    "s173": Row(RULES_1, {"command": "git commit -m 'x' #'\ntouch /tmp/PWNED"}, "ask"),
    "s174": Row(RULES_2, {"command": "cat <<'EOF'\nkill -9 1; rm -rf /; $(x)\nEOF"}, "allow"),
}
SIBLINGS = [
    *lines(
        RULES_1,
        "ask",
        (
            "cat <<E\nE\ntouch x",
            "cat <<'E'\nx\nE\ntouch x",
            "cat <<-'E'\n\tx\n\tE\ntouch x",
            "cat <<E; touch x\nE",
            "cat <<E && touch x\nE",
            "cat <<E | sh\ntouch x\nE",
            "sh <<'E'\ntouch x\nE",
            "bash -s <<'E'\ntouch x\nE",
            'cat << "E"F\nEF\ntouch x',
            "cat <<\\E\nE\ntouch x",
            "cat <<''\nx\n\ntouch x",
            "cat <<$E\n$E\ntouch x",
            "cat <<`x`\n`x`\ntouch x",
            "cat <<E\n$(touch x)\nE",
            "cat <<E\n`touch x`\nE",
            "cat <<E\n${a:-$(touch x)}\nE",
            "cat <<E\n$((a[$(touch x)]))\nE",
            "cat <<'E'\nE \nE\ntouch x",
            "cat <<E\\\nF\nEF\ntouch x",
            "git log #\ntouch x",
            "git log # '\ntouch x #'",
            "git log \\\n# x\ntouch x",
            "git log '#'\ntouch x",
            "git log a#b; touch x",
            "cat <<<x; touch x",
            "cat <<<'a\nb'\ntouch x",
            "cat <<E <<<$(touch x)\nE",
            "cat 3<<E\nE\ntouch x",
            "cat <<E\nx\nE\n\ntouch x",
            "python3 <<E\nimport os\nE",
            "cat <<E",
            "cat <<'E'\nunterminated",
            "cat <<E\n\\$(x)\n$(touch x)\nE",
            "cat << E # c\nE\ntouch x",
            "cat <<A\n<<B\nA\ntouch x",
            "cat <<'A' <<'B'\nA\nB\ntouch x",
            "git commit -F - <<E\n$(touch x)\nE",
            "git log \\#\ntouch x",
            ": <<'#'\ntouch x\n#\ntouch x",
            "git log;# x\ntouch x",
            "(git log # )\ntouch x)",
            "{ git log; # }\ntouch x\n}",
            "case a in a) cat <<E;; esac\nE\ntouch x",
        ),
    ),
    *lines(
        RULES_1,
        "allow",
        (
            "cat <<'EOF'\n$(rm -rf /)\n`x`\nEOF",
            "cat <<\\E\n$(x)\nE",
            'cat <<"E"\n; rm\nE',
            "git commit -F - <<'E'\nfix; rm -rf /\nE",
            "git log # touch x",
            "# touch x\ngit log",
            "git log #'",
            "cat <<-'E'\n\trm\n\tE",
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


@pytest.mark.parametrize("name", ["s167", "s169", "s173"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
