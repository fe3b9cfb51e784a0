"""The reader of shell commands: what it takes apart, what it calls opaque, and that it never gives up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caliban_permissions.shell import HOLE, loose_commands, parse_line
from caliban_permissions.shell.loose import dequoted


def simple_commands(command: str) -> list[tuple[str, ...]]:
    line = parse_line(command)
    assert line.clear, [
        str(item) for item in (*line.opaque, *(o for simple in line.simple_commands for o in simple.opaque))
    ]
    return [simple.argv for simple in line.simple_commands]


def doubts(command: str) -> list[str]:
    line = parse_line(command)
    return [
        item.what for item in (*line.opaque, *(o for simple in line.simple_commands for o in simple.opaque))
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", [("git", "status")]),
        ("a;b&&c||d|e|&f\ng", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",)]),
        ("(a; b) | { c; d; }", [("a",), ("b",), ("c",), ("d",)]),
        ("! a", [("a",)]),
        ("a 'x y' \"z\"w\\ v", [("a", "x y", "zw v")]),
        ('a "x\\$y" "x\\(y" "a\\\nb"', [("a", "x$y", "x\\(y", "ab")]),
        ("a '' \"\"", [("a", "", "")]),
        ("a \\\n  b", [("a", "b")]),
        ("a # b; c\nd", [("a",), ("d",)]),
        ("a b#c", [("a", "b#c")]),
        ("a x=1 --y=2", [("a", "x=1", "--y=2")]),
        (
            "a HEAD~1 HEAD^ @{1} stash@{0} {} a{b}",
            [("a", "HEAD~1", "HEAD^", "@{1}", "stash@{0}", "{}", "a{b}")],
        ),
        ("a *.py ~/x", [("a", "*.py", "~/x")]),
        ('a $ "$" a$', [("a", "$", "$", "a$")]),
        ("a if then }", [("a", "if", "then", "}")]),
        ("LC_ALL=C a", [("a",)]),
        ("a\n\n\nb\n", [("a",), ("b",)]),
        ("a &&\n\n b", [("a",), ("b",)]),
        ("cat <<'E' | b\nx; $(y)\nE\nc", [("cat",), ("b",), ("c",)]),
        ("cat <<-'E F'\n\tx\n\tE F\nc", [("cat",), ("c",)]),
        ("a '\n' b", [("a", "\n", "b")]),
        ("a \u00e9 \u8aac", [("a", "\u00e9", "\u8aac")]),
        ("a {b,c}d {1..3}", [("a", "bd", "cd", "1", "2", "3")]),
        ("a &", [("a",)]),
        ("X=1 a", [("a",)]),
        ("X=1", [()]),
        ("X=1; a", [("a",)]),
        ("if a; then b; elif c; then d; else e; fi", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("while a; do b; done | c", [("a",), ("b",), ("c",)]),
        ("until a\ndo\nb\ndone >x", [("a",), ("b",)]),
        ("time -p a", [("a",)]),
        ("time -- a", [("a",)]),
        ("a <<E\nb\nE", [("a",)]),
        ("a <&-b c", [("a", "b", "c")]),
        ("a <& -b", [("a", "b")]),
        ('a 2>&-""', [("a", "")]),
        ("a 99999999999>b", [("a", "99999999999")]),
        ("a \"$(cat <<'E'\nb (c'\n\nE\n)\"", [("a", "b (c'")]),
        ('a "$(cat <<E\nb\nE\n)"', [("a", "b")]),
        ('a "$HOME" $HOME/x "$PWD/y"', [("a", "~", "~/x", "./y")]),
    ],
)
def test_a_clear_command_is_its_leaves(command: str, expected: list[tuple[str, ...]]) -> None:
    assert simple_commands(command) == expected


def test_redirects_are_taken_off_the_words() -> None:
    simple = parse_line("2>&1 a >b 2>> c <d 3>&- &>e >|f <<<g h").simple_commands[0]
    assert simple.argv == ("a", "h")
    assert [(item.descriptor, item.op, item.target.text) for item in simple.redirects] == [
        ("2", ">&", "1"),
        ("", ">", "b"),
        ("2", ">>", "c"),
        ("", "<", "d"),
        ("3", ">&", "-"),
        ("", "&>", "e"),
        ("", ">|", "f"),
        ("", "<<<", "g"),
    ]
    assert [item.writes for item in simple.redirects] == [False, True, True, False, False, True, True, False]


def test_the_redirect_of_a_group_belongs_to_the_line() -> None:
    line = parse_line("(a; b) > c")
    assert [item.target.text for item in line.redirects] == ["c"]
    assert line.clear


def test_the_body_of_a_quoted_here_document_is_data() -> None:
    simple = parse_line("cat <<'A' <<\\B\nx\nA\ny\nB\n").simple_commands[0]
    assert [item.body for item in simple.redirects] == ["x\n", "y\n"]


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ('a "$X"', "variable"),
        ("a ${x:-y}", "expansion"),
        ("a $(b)", "command substitution"),
        ("a `b`", "command substitution"),
        ("a $((1))", "arithmetic"),
        ("a $[1]", "arithmetic"),
        ("a <(b)", "process substitution"),
        ("a $'b'", "ANSI-C quoting"),
        ('a $"b"', "translated string"),
        ('a {"b",c}', "brace expansion"),
        ("a {b,$c}", "brace expansion"),
        ("a {1..900}", "brace expansion"),
        ("a {01..10}", "brace expansion"),
        ("a x={b,c}", "brace expansion"),
        ("a > {b,c}", "brace expansion"),
        ("PYTHONPATH=x a", "assignment"),
        ("GIT_SSH_COMMAND=x a", "assignment"),
        ("A[1]=x a", "assignment"),
        ("if a; then b", "unclosed group"),
        ("if a; b; fi", "control flow"),
        ("if a; then fi", "control flow"),
        ("then a", "control flow"),
        ("while a; done", "control flow"),
        ("for i; do a; done", "control flow"),
        ("for i in b", "control flow"),
        ("for i in b; a; done", "control flow"),
        ("for ((;;)); do a; done", "control flow"),
        ("for PATH in b; do a; done", "control flow"),
        ("case a in b) c;; esac", "control flow"),
        ("time -x a", "control flow"),
        ("a <<E\n$b\nE", "here-document with an unquoted delimiter"),
        ("a ~b", "tilde expansion"),
        ("a b\\\nc", "line continuation inside a word"),
        ("a $\\\n{x}", "line continuation after $"),
        ("LANG=../x a", "assignment"),
        ("TZ=/etc/x a", "assignment"),
        ("> x", "redirect without a command"),
        ("a > *", "wildcard in a redirect target"),
        ("a {fd}> x", "named descriptor"),
        ("a? b", "command name that is not literal"),
        ("'' a", "empty command name"),
        ("[[ a ]]", "control flow"),
        ("[[ -f a* ]]", "control flow"),
        ("[[ -f {a,b} ]]", "control flow"),
        ("[[ $a == b ]]", "control flow"),
        ('[[ "$a" == b* ]]', "control flow"),
        ("[[ a =~ b ]]", "control flow"),
        ("[[ a -eq 1 ]]", "control flow"),
        ("[[ -v a ]]", "control flow"),
        ("[[ -f a && -f b ]]", "control flow"),
        ("[[ a < b ]]", "control flow"),
        ("[[ = = = ]]", "control flow"),
        ("[[ -f a", "control flow"),
        ("[[ -f a ]] b", "a word after a group"),
        ("((a))", "arithmetic"),
        ("f() { a; }", "function or pattern"),
        ("a *(b)", "function or pattern"),
        ("a &&", "nothing follows"),
        ("&& a", "nothing stands before"),
        ("a | ! b", "unexpected operator"),
        ("a;; b", "unexpected operator"),
        ("(a", "unclosed group"),
        ("a)", "unexpected operator"),
        ("()", "unexpected operator"),
        ("{ a }", "unclosed group"),
        ("(a) b", "a word after a group"),
        ("a 'b", "unclosed quote"),
        ('a "b', "unclosed quote"),
        ("a b\\", "backslash at the end"),
        ("a >", "a redirect without a target"),
        ("a <<'E'\nb", "here-document without an end"),
        ("", "no command"),
        ("# a", "no command"),
        ("a\rb", "hidden character"),
        ("a \u202eb", "hidden character"),
        ("a \u200bb", "hidden character"),
        ("a \U000e0041", "hidden character"),
        ("a\u00a0b", "character that looks like shell syntax"),
        ("a\uff1bb", "character that looks like shell syntax"),
        ("a " + "b" * 10_000, "length above 10000 characters"),
    ],
)
def test_what_is_not_understood_is_opaque(command: str, doubt: str) -> None:
    assert doubt in doubts(command)


@pytest.mark.parametrize("command", ['a "\u00a0\uff1b"', "a '\u00a0'", 'a "feat!: x"', "a b;"])
def test_what_is_harmless_is_not(command: str) -> None:
    assert doubts(command) == []


@pytest.mark.parametrize(
    "command",
    [
        *("$X a", "a?b", "{rm,x}", "a$X b", "$(x) a", "IFS=x a", "PATH=. a", "a \u202eb", "f() { a; }", "(a"),
        # Bash prints a substitution and reads it again: without an end to find, what is behind runs.
        *("a <<'E'\nb", "a <<E", "a \"$(b <<''\nc&d )\"", "a $(b <<E\nc\nEd)"),
    ],
)
def test_an_opaque_construct_that_may_run_anything_says_so(command: str) -> None:
    assert runs_anything(parse_line(command))


def runs_anything(line: Any) -> bool:
    """Whether anything in the line, or in a substitution of it, may run any program."""
    doubts = (*line.opaque, *(doubt for simple in line.simple_commands for doubt in simple.opaque))
    return any(doubt.runs or (doubt.script and runs_anything(parse_line(doubt.script))) for doubt in doubts)


def test_unknown_text_is_a_hole_in_its_word() -> None:
    assert parse_line('curl -H "X: $T" u').simple_commands[0].argv == ("curl", "-H", f"X: {HOLE}", "u")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("r\\m 'x' \"y\"", "rm x y"),
        ("$'\\x72\\155' x", "rm x"),
        ("rm$IFS-rf${IFS}x", "rm -rf x"),
        ("r\\\nm\t\tx", "rm x"),
        ("a $X", f"a {HOLE}"),
    ],
)
def test_the_loose_reading_sees_through_quotes(text: str, plain: str) -> None:
    assert dequoted(text) == plain


def test_the_loose_reading_finds_every_command() -> None:
    command = "for i in $(rm a); do { sudo rm b; } & [ x ] || X=1 rm c; done; `rm d`; {rm,-e}"
    commands = loose_commands(command)
    for wanted in ("rm a", "sudo rm b", "rm c", "rm d", "rm -e"):
        assert wanted in commands


SYNTAX = st.text(alphabet="ab '\"\\$`(){}[]<>|&;\n\t#!*?~=,.0-", max_size=40)


@settings(max_examples=examples(400))
@given(st.one_of(SYNTAX, st.text(max_size=40)))
@example("\\")
@example("$")
@example("<<")
@example("<<<")
@example("$'\\U99999999'")
@example("a<<b\n")
def test_reading_never_raises(command: str) -> None:
    parse_line(command)
    loose_commands(command)


@given(st.lists(st.from_regex(r"[a-z][a-z0-9_./:@%+=-]{0,8}", fullmatch=True), min_size=1, max_size=6))
def test_plain_words_come_back_as_they_are(words: list[str]) -> None:
    if "=" not in words[0] and words[0] not in {
        "if",
        "do",
        "fi",
        "in",
        "for",
        "case",
        "esac",
        "done",
        "else",
        "then",
        "elif",
        "time",
        "until",
        "while",
        "select",
        "coproc",
        "function",
    }:
        assert simple_commands(" ".join(words)) == [tuple(words)]


@given(st.lists(st.text(alphabet="ab '\"\\$`;&|*?~#!{}\n", max_size=6), min_size=1, max_size=5))
def test_a_single_quoted_argument_comes_back_as_it_is(values: list[str]) -> None:
    quoted = " ".join("'" + value.replace("'", "'\\''") + "'" for value in values)
    assert simple_commands("cmd " + quoted) == [("cmd", *values)]


HOSTILE: dict[str, Any] = {
    "substitutions": lambda n: "$(" * n + ")" * n,
    "backticks": lambda n: "`" * n,
    "single quotes": lambda n: "'" * n,
    "double quotes": lambda n: '"' * n,
    "braces": lambda n: "{a," * n,
    "parameters": lambda n: "${" * n,
    "parentheses": lambda n: "(" * n,
    "here-documents": lambda n: "<<a " * n,
    "continuations": lambda n: "a\\\n" * n,
    "words": lambda n: "a " * n,
    "leaves": lambda n: "a;" * n,
    "redirects": lambda n: "a" + " >b" * n,
    "ansi": lambda n: "$'" * n,
    "quoted substitutions": lambda n: '"$(' * n,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_takes_linear_time(name: str) -> None:
    def seconds(count: int) -> float:
        command = HOSTILE[name](count)[:9_900]
        best = 9.0
        for _ in range(3):
            started = time.process_time()
            parse_line(command)
            loose_commands(command)
            best = min(best, time.process_time() - started)
        return best

    small, large = seconds(400), seconds(1_600)
    assert large < 12 * small + 0.02
