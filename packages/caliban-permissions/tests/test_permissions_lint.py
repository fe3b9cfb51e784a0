"""Remarks on rules: unreadable, duplicate, unreachable, and those that grant arbitrary code."""

from __future__ import annotations

import pytest

from caliban_permissions import Rule
from caliban_permissions.lint import describe, grants_code, lint


def rules(*pairs: tuple[str, str]) -> list[Rule]:
    return [Rule(pattern=pattern, action=action) for action, pattern in pairs]  # type: ignore[arg-type]


def kinds(*pairs: tuple[str, str]) -> list[tuple[str, int]]:
    return [(finding.kind, finding.index) for finding in lint(rules(*pairs))]


@pytest.mark.parametrize(
    "pattern",
    [
        "Bash:*",
        "Bash:bash *",
        "Bash:python3 *",
        "Bash:node *",
        "Bash:env *",
        "Bash:xargs *",
        "Bash:find *",
        "Bash:docker *",
        "Bash:ssh *",
        "Bash:~*",
        "mcp__*",
        "*",
        "Bash",
        "Bash(sudo:*)",
        "Bash:perl -e *",
        "Bash:sh -c *",
        "Bash:sudo -u x *",
        "B*",
    ],
)
def test_a_rule_that_equals_code_is_named(pattern: str) -> None:
    assert grants_code(Rule(pattern=pattern, action="allow"))
    assert ("grants code", 0) in kinds(("allow", pattern))
    assert grants_code(Rule(pattern=pattern, action="ask")) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "Bash:git *",
        "Bash:npm test*",
        "Bash:ls*",
        "Bash:python3 -m pytest*",
        "Bash:cargo *",
        "Bash:rg *",
        "Edit",
        "mcp__a__b",
        "Bash:timeout 60 npm test*",
        "Bash:bash scripts/a.sh *",
        "Bash:sudo systemctl status",
        "WebFetch:https://a.example/*",
    ],
)
def test_an_everyday_rule_is_clean(pattern: str) -> None:
    assert grants_code(Rule(pattern=pattern, action="allow")) is None
    assert kinds(("allow", pattern)) == []


@pytest.mark.parametrize("pattern", ["Bash:[unclosed", "Ba[d", "(git *)", ":git *", "Bash(git *", "Read:~rm"])
def test_what_matches_nothing_is_named(pattern: str) -> None:
    assert ("unreadable", 0) in kinds(("deny", pattern))


@pytest.mark.parametrize(
    "pattern", ["*", "mcp__*", "Bash", "Bash:git *", "Bash(git *)", "Bash:~rm *", "x:a=b,c=d", "Read(~/x)"]
)
def test_every_documented_form_is_accepted(pattern: str) -> None:
    assert kinds(("deny", pattern)) == []


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ((("deny", "Bash:a *"), ("deny", "Bash:a *")), [("duplicate", 1)]),
        ((("ask", "Bash:git *"), ("deny", "Bash:git push*")), [("unreachable", 1)]),
        ((("ask", "Bash(git:*)"), ("deny", "Bash(git push:*)")), [("unreachable", 1)]),
        ((("ask", "Bash:*"), ("deny", "Bash:~rm *")), [("unreachable", 1)]),
        ((("ask", "Read"), ("deny", "Read:**/.env")), [("unreachable", 1)]),
        ((("ask", "*"), ("deny", "Bash")), [("unreachable", 1)]),
        ((("deny", "Bash:git push*"), ("ask", "Bash:git *")), []),
        ((("ask", "Bash:git *"), ("deny", "Bash")), []),
        ((("ask", "Bash:git a* b*"), ("deny", "Bash:git ac")), []),
        ((("ask", "Read"), ("deny", "Edit")), []),
        ((("ask", "mcp__*"), ("deny", "mcp__a__b")), [("unreachable", 1)]),
        ((("ask", "Bash"), ("deny", "*")), []),
    ],
)
def test_a_rule_that_never_counts_is_named(
    pairs: tuple[tuple[str, str], ...], found: list[tuple[str, int]]
) -> None:
    assert kinds(*pairs) == found


def test_a_guard_that_an_allowed_program_can_walk_past_is_named() -> None:
    assert kinds(("deny", "Read:**/.env"), ("allow", "Bash:python3 *")) == [
        ("not enforced", 0),
        ("grants code", 1),
    ]
    assert kinds(("deny", "Read:**/.env"), ("allow", "Bash:git *")) == []


def test_an_open_host_and_an_unreadable_expiry_are_named() -> None:
    assert kinds(("allow", "WebFetch:https://docs.*")) == [("open host", 0)]
    assert [finding.kind for finding in lint([Rule(pattern="Edit", action="allow", expires_at="soon")])] == [
        "expiry"
    ]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Bash", "every call of Bash"),
        ("*", "every call of every tool"),
        ("Bash(git log:*)", "commands that are `git log` or begin with `git log `"),
        ("Bash:git *", "commands that match `git *`, each command of a line on its own"),
        ("Bash:~rm *", "commands in which `rm *` occurs at the start of a word"),
        ("Edit:src/**", "calls of Edit whose main argument matches `src/**`"),
        ("x:a.b=1,c=2", "calls of x whose a.b matches `1` and c matches `2`"),
        ("Bash()", "nothing: the argument part is empty"),
    ],
)
def test_a_rule_is_described_in_words(pattern: str, words: str) -> None:
    assert describe(Rule(pattern=pattern, action="allow")) == words
