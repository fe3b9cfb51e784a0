"""The table of side effects: every example of every row, and the readers of git, sed, awk, interpreters."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from caliban_permissions.commands.wrappers import inner_start, program
from caliban_permissions.side_effects import ROWS, ArgumentRule, side_effects
from caliban_permissions.side_effects.awk import prints_only as awk_prints_only
from caliban_permissions.side_effects.everyday import LINES, WORDS
from caliban_permissions.side_effects.sed import prints_only as sed_prints_only

HITS = [(row, command) for row in ROWS for command in row.hits]
MISSES = [(row, command) for row in ROWS for command in row.misses]


def argv(command: str) -> tuple[str, ...]:
    return tuple(shlex.split(command))


def test_every_row_has_examples_of_both_kinds() -> None:
    assert [row.of for row in ROWS if not row.hits or not row.misses] == []


@pytest.mark.long(keep=5)
@pytest.mark.parametrize(("row", "command"), HITS, ids=[command for _, command in HITS])
def test_a_dangerous_argument_is_found(row: ArgumentRule, command: str) -> None:
    assert program(argv(command)[0]) in row.of.split()
    assert any(item.why == row.why for item in side_effects(argv(command)))


@pytest.mark.long(keep=5)
@pytest.mark.parametrize(("row", "command"), MISSES, ids=[command for _, command in MISSES])
def test_an_everyday_argument_is_not(row: ArgumentRule, command: str) -> None:
    assert program(argv(command)[0]) in row.of.split()
    assert side_effects(argv(command)) == ()


def test_no_hit_of_the_table_is_covered_by_a_wildcard(scene: Any) -> None:
    for _, command in HITS:
        name = argv(command)[0]
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in argv(command))
        assert scene.verdict(quoted, ("allow", f"Bash:{name} *")) != "allow", command


@pytest.mark.parametrize(
    "command",
    [
        "bash -c x",
        "bash x.sh",
        "bash",
        "sh -s",
        "zsh -ic x",
        "python3",
        "python3 x.py",
        "python3 -c x",
        "python3 -m x",
        "python3 -",
        "python3.11 x.py",
        "pypy3 x",
        "node x.js",
        "node -e x",
        "node --eval=x",
        "perl -ne x",
        "ruby -e x",
        "php -r x",
        "lua x.lua",
        "vim a",
        "emacs -Q",
        "ed",
        "sqlite3 a.db",
        "gdb a",
        "java -jar a.jar",
        "sudo ls",
        "env A=1 ls",
        "env -S 'a b'",
        "xargs ls",
        "nohup ls",
        "timeout 5 ls",
        "busybox ls",
        "script -c x",
        "watch ls",
        "strace ls",
        "parallel ls",
        "eval x",
        "source x",
        ". x",
        "exec x",
        "export A=1",
        "read a",
        "let a=1",
        "trap x EXIT",
        "set -x",
        "hash -p x git",
        "test -v a",
        "[ -v a ]",
        "printf -v a b",
        "mapfile -C x",
        "command x",
        "alias a=b",
        "unset a",
        "declare -n a=b",
        "tool --exec=x",
        "tool --output x",
        "tool --script-shell x",
        "pytest -p evil",
        "curl -d @x u",
        "cc @x",
    ],
)
def test_programs_that_run_what_they_are_given_are_known(command: str) -> None:
    assert side_effects(argv(command))


@pytest.mark.parametrize(
    "command",
    [
        "python3 --version",
        "node --help",
        "bash --version",
        "command -v git",
        "env",
        "ls -la",
        "echo -e x",
        "test -f a",
        "printf %s a",
        "cat a",
        "true",
        "cd a",
        "tool --verbose",
        "tool --outputs x",
        "grep -o x a",
        "pytest -x -q",
    ],
)
def test_programs_that_do_what_they_say_are_free(command: str) -> None:
    assert side_effects(argv(command)) == ()


@pytest.mark.parametrize(
    ("pattern", "command", "verdict"),
    [
        ("Bash:python3 -m pytest*", "python3 -m pytest -q tests", "allow"),
        ("Bash(python3 -m pytest:*)", "python3 -m pytest", "allow"),
        ("Bash:python3 -m *", "python3 -m pytest", "ask"),
        ("Bash:python3 -W ignore *", "python3 -W ignore x.py", "ask"),
        ("Bash:python3 scripts/a.py *", "python3 scripts/a.py --exec=x", "allow"),
        ("Bash:python3 *", "python3 scripts/a.py", "ask"),
        ("Bash:python3 -c *", "python3 -c pass", "allow"),
        ("Bash:bash *", "bash", "ask"),
        ("Bash:bash *", "bash scripts/a.sh", "ask"),
        ("Bash:bash scripts/a.sh*", "bash scripts/a.sh x", "allow"),
        ("Bash:sed -i*", "sed -i.bak s/a/b/ x", "allow"),
        ("Bash:sed *", "sed -n 1,5p x", "allow"),
        ("Bash:timeout 60 npm test*", "timeout 60 npm test -- -w", "allow"),
        ("Bash:timeout 60 npm test*", "timeout 60 npm test --script-shell=x", "ask"),
        ("Bash:timeout *", "timeout 60 npm test", "ask"),
        ("Bash:sudo -u www git *", "sudo -u www git status", "allow"),
        ("Bash:sudo -u *", "sudo -u www git status", "ask"),
        ("Bash:xargs git log*", "xargs git log", "allow"),
        ("Bash:xargs git log*", "xargs git log --output", "ask"),
        ("Bash:git log --output=*", "git log --output=x", "allow"),
        ("Bash:git log --output=*", "git log --output=x --output=y", "ask"),
        ("Bash:git -c color.ui=never log*", "git -c color.ui=never log -1", "allow"),
        ("Bash:git -c *", "git -c color.ui=never log -1", "ask"),
        ("Bash:npx prettier *", "npx prettier --check .", "allow"),
        ("Bash:npx *", "npx prettier --check .", "ask"),
        ("Bash:uv run pytest*", "uv run pytest -q", "allow"),
        ("Bash:find . -exec grep *", "find . -exec grep x {} +", "allow"),
        ("Bash:docker run --rm *", "docker run --rm x", "allow"),
        ("Bash:docker run *", "docker run --rm x", "allow"),
        ("Bash:docker *", "docker run --rm x", "ask"),
        ("Bash:./gradlew *", "./gradlew test", "allow"),
        ("Bash:*", "./p.sh", "ask"),
        ("Bash:*", "/usr/bin/git status", "allow"),
        ("Bash", "./p.sh", "allow"),
    ],
)
def test_a_rule_covers_a_delegating_argument_only_by_naming_it(
    pattern: str, command: str, verdict: str, scene: Any
) -> None:
    assert scene.verdict(command, ("allow", pattern)) == verdict


@pytest.mark.parametrize(
    "script",
    [
        "s/a/b/",
        "s|a|b|g",
        "1,20p",
        "$!d",
        "/a/,/b/d",
        "/a/{s/x/y/;p}",
        "y/ab/cd/",
        "5q",
        "1~2p",
        "s/[[:space:]]*$//",
        "N;P;D",
        "1i\\ text w x",
        "/a/I p",
        ":a;N;ba",
        "s/a/\\n/",
        "# c\np",
        "\\,a,p",
        "s/x/y/3g;$p",
    ],
)
def test_an_editing_sed_script_only_prints(script: str) -> None:
    assert sed_prints_only(script)


@pytest.mark.parametrize(
    "script",
    [
        "1e x",
        "e",
        "s/a/b/e",
        "s/a/b/w x",
        "s/a/b/gw x",
        "w x",
        "W x",
        "r x",
        "R x",
        "F",
        "v",
        "s/a/b",
        "/a",
        "a x\\",
        "s/[/]/x/",
        "y/a/b/w x",
        "p w",
        "{p;w x\n}",
        "s\na\nb\n",
        "1!e",
        "$!w x",
        "L",
    ],
)
def test_a_sed_script_that_may_do_more_does_not_pass(script: str) -> None:
    assert not sed_prints_only(script)


@pytest.mark.parametrize(
    "program_text",
    [
        "{print $1}",
        "$3 > 5 {print $1}",
        "/a|b/",
        "NR==1,NR==5",
        '{printf "%s\\n", $1}',
        "{s += $1} END {print s / NR}",
        "$1 ~ /x/ || $2 !~ /[0-9]/",
        "{print (a > b)}",
        'BEGIN{FS=":"} {print $2}',
        "!seen[$0]++",
    ],
)
def test_a_printing_awk_program_passes(program_text: str) -> None:
    assert awk_prints_only(program_text)


@pytest.mark.parametrize(
    "program_text",
    [
        '{system("x")}',
        '{print > "x"}',
        '{print >> "x"}',
        '{print | "x"}',
        '{"x" | getline}',
        '@load "x"',
        '{print $1, $2\n> "x"}',
        '{print "a", \n "b" > "x"}',
        'if (1) /"/ ; print "x" | "sh"',
        '{print "x',
        '{f = "a"; print(1) > f}',
        '{print /a/ > "x"}',
        "#",
        '{printf("%s", a) | b}',
        "@f()",
    ],
)
def test_an_awk_program_that_may_do_more_does_not_pass(program_text: str) -> None:
    assert not awk_prints_only(program_text)


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("sudo -u x -- git log", 4),
        ("sudo -nu x git", 3),
        ("env -i git", 2),
        ("env A=1 git", None),
        ("timeout -k 5 --signal=9 10 git", 5),
        ("nice -n 5 git", 3),
        ("nice -5 git", 2),
        ("taskset 1 git", 2),
        ("sudo", None),
        ("xargs git", None),
    ],
)
def test_the_inner_program_of_a_wrapper_is_found(command: str, start: int | None) -> None:
    assert inner_start(argv(command)) == start


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("/usr/bin/python3.11", "python"),
        ("base64", "base64"),
        ("GIT.EXE", "git"),
        ("C:\\x\\node.exe", "node"),
        ("7z", "7z"),
    ],
)
def test_programs_are_known_by_their_plain_name(word: str, name: str) -> None:
    assert program(word) == name


def test_a_chain_of_wrappers_deeper_than_any_bound_is_not_covered() -> None:
    chain = ("nice",) * 40 + ("git", "status")
    assert side_effects(chain)[-1].word == len(chain) - 1


EVERYDAY = (*LINES, *WORDS)


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("command", [command for row in EVERYDAY for command in row.hits])
def test_an_everyday_command_is_covered_by_a_wildcard(command: str) -> None:
    assert side_effects(argv(command)) == ()


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("command", [command for row in EVERYDAY for command in row.misses])
def test_a_hostile_sibling_of_an_everyday_command_is_not(command: str) -> None:
    assert side_effects(argv(command))


@pytest.mark.parametrize("runner", ["uv run", "poetry run", "bundle exec"])
def test_who_names_the_sub_command_that_runs_a_program_covers_it(runner: str, scene: Any) -> None:
    program = runner.split(maxsplit=1)[0]
    assert scene.verdict(f"{runner} pytest -q", ("allow", f"Bash:{runner} *")) == "allow"
    assert scene.verdict(f"{runner} pytest -q", ("allow", f"Bash:{program} *")) == "ask"
    assert scene.verdict(f"{runner} rm -rf x", ("deny", "Bash:rm *"), ("allow", f"Bash:{runner} *")) == "deny"
