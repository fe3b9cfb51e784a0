"""Printing what was read: one reading, the same line again, and what the engine hands to the shell."""

from __future__ import annotations

from typing import Any

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_permissions.shell import ParsedLine, parse_line, print_line
from caliban_permissions.shell.line import Redirect, SimpleCommand, Word


def shape(line: ParsedLine) -> object:
    """A line without what only its spelling decides."""

    def of_word(word: Word) -> object:
        return word.text, word.glob, word.at_home

    def of_redirect(redirect: Redirect) -> object:
        operator = redirect.op.removesuffix("-")
        return redirect.descriptor, operator, of_word(redirect.target), redirect.body

    def of_simple(simple: SimpleCommand) -> object:
        # The value of an assignment is no pattern: it is printed in quotes.
        assigns = tuple((word.text, word.at_home) for word in simple.assigns)
        return (
            assigns,
            tuple(map(of_word, simple.words)),
            tuple(map(of_redirect, simple.redirects)),
            simple.repeated,
        )

    pieces = tuple(piece for piece in line.pieces if isinstance(piece, str) and piece != "\n")
    return (
        tuple(map(of_simple, line.simple_commands)),
        tuple(map(of_redirect, line.redirects)),
        pieces,
        bool(line.opaque),
    )


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("git status; ls", "git status; ls"),
        ("git  log\t-1 && make", "git log -1 && make"),
        ("a 'x y' \"it's\" \\$x", "a 'x y' 'it'\\''s' '$x'"),
        ("<&-eval x", "eval x <&-"),
        ("echo x >&out.txt", "echo x >&out.txt"),
        ("99999999999>f", "99999999999 >f"),
        ("a 2>&1 >f <g", "a 2>&1 >f <g"),
        ("x=1 'y=2' z=3", "x=1 'y=2' z=3".replace(" z=3", " 'z=3'")),
        ("'if' a", "'if' a"),
        ('a ~/b\\ c \'~\' "$HOME/d" "$PWD/e f"', "a ~/'b c' '~' ~/d \"$PWD\"/'e f'"),
        ("a *.p'?' [ab]*", "a *'.p?' [ab]*"),
        ('a <$PWD""', "a <${PWD}''"),
        ("a <<E\nE", "a <<'E'\nE\n"),
        ("a <<E\n\nE", "a <<'E'\n\nE\n"),
        ("a <<-E && b <<'F'\n\t\n\tE\n\n\nF", "a <<'E' && b <<'F'\n\nE\n\n\nF\n"),
        ("a $HOME''/b $HOME/b", "a ${HOME}''/b ~/b"),
        ("a {b,c}{1..2}", "a b1 b2 c1 c2"),
        ("for f in *.py; do wc $f; done", 'for f in *.py; do wc "${f}"; done'),
        ("a \"$(cat <<'E'\nb $(c)\nE\n)\"", "a 'b $(c)'"),
        ("a <<E && b\nc\nE\n", "a <<'E' && b\nc\nE\n"),
        ('a "rc=$?"', "a 'rc='\"$?\""),
        ("a $(b 'c d')", "a $(b 'c d')"),
        ("[[ -f a ]] && b", "'[' -f a ']' && b"),
        ("[[ ! \"$x\" == 'a*' ]]", "'[' '!' \"${x}\" == 'a*' ']'"),
        ("while [[ -e x ]]; do b; done > y", "while '[' -e x ']'; do b; done >y"),
        ("a $( (b) )", "a $( ( b ))"),
        ("time  -p a", "time -p a"),
    ],
)
def test_a_line_is_printed_with_one_reading(typed: str, printed: str) -> None:
    assert print_line(parse_line(typed)) == printed


@pytest.mark.parametrize(
    "typed",
    [
        "a ${x:-y}",
        "a <(b)",
        "a `b`",
        "[[ a ]]",
        "(a",
        "a ~b",
        "a x=~/b",
        "f() { a; }",
        # Printed as it was, what is glued to the `-` would be a word.
        "<&''-p",
        ">&\\-p",
        # Printed with its redirect behind it, `-p` would be an option of `time`.
        "time >f -p a",
        "time <<'F' - a\nF\n",
        "a $HOME\\",
    ],
)
def test_what_has_more_readings_has_no_printed_form(typed: str) -> None:
    assert print_line(parse_line(typed)) is None


WORDS = 'a b \'c d\' "e" 1 12 x=1 $x "$x" ${x} $? $HOME /f ~ ~/g * [a-b] {a,b} {1..3} $PWD \u00b2 \'\' "" ='
SIGNS = "\\; ; && || | & ( ) { } \n > < >> 2> >& <& - <<E \nE\n <<'F' \nF\n $( ) \"$( )\" # \\"
RESERVED = "if then else fi for x in do done while ! time -p"
PIECES = st.sampled_from([piece for text in (WORDS, SIGNS, RESERVED) for piece in text.split(" ")])


@settings(max_examples=examples(1500), deadline=None)
@given(st.lists(st.tuples(PIECES, st.sampled_from(["", " ", " "])), max_size=14))
def test_reading_what_is_printed_gives_the_line_again(pieces: list[tuple[str, str]]) -> None:
    line = parse_line("".join(piece + gap for piece, gap in pieces))
    printed = print_line(line)
    if printed is not None:
        again = parse_line(printed)
        assert print_line(again) == printed
        if line.clear:
            assert shape(again) == shape(line)


class TestDecisions:
    """What runs is what was judged."""

    def ran(self, scene: Any, command: str, *rules: tuple[str, str], **more: Any) -> Any:
        decision = scene.decide("Bash", {"command": command, "cwd": "."}, *rules, **more)
        assert decision.action == "allow"
        return decision.updated_input

    def test_an_allow_by_rule_carries_the_printed_line_and_the_rest_of_the_input(self, scene: Any) -> None:
        assert self.ran(scene, "git  'log'", ("allow", "Bash:git *")) == {"command": "git log", "cwd": "."}

    def test_a_line_that_is_typed_as_it_is_printed_is_left_alone(self, scene: Any) -> None:
        assert self.ran(scene, "git log; git status", ("allow", "Bash:git *")) is None

    def test_what_only_a_rule_for_everything_covers_runs_as_typed(self, scene: Any) -> None:
        assert self.ran(scene, "[[ a ]]  && b", ("allow", "Bash")) is None

    def test_the_modes_without_rules_leave_the_line_alone(self, scene: Any) -> None:
        assert self.ran(scene, "git  log", mode="bypassPermissions") is None

    def test_an_ask_carries_nothing(self, scene: Any) -> None:
        assert scene.decide("Bash", {"command": "make  all"}).updated_input is None
