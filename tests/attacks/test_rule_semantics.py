"""What a rule says is what it does: order, fields, expiry, and what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from verdict_kit import Row, Verdicts, lines, rows

ROWS = {
    "s331": Row(("allow Bash:*", "deny Bash:~rm *"), {"command": "rm -rf build"}, "allow"),
    "s332": Row(("allow Bash:echo *",), {"command": 'echo "a; rm -rf /"'}, "allow"),
    "s334": Row(
        ("allow mcp__gh__create_issue:repo=acme/*",),
        {"repo": "acme/../other/x"},
        "ask",
        tool="mcp__gh__create_issue",
    ),
    "s335": Row(
        ("allow mcp__gh__create_issue:repo=acme/*,title=feat*",),
        {"repo": "acme/a", "title": "feat"},
        "allow",
        tool="mcp__gh__create_issue",
    ),
    "s338": Row(("allow mcp__gh__x:a.b=1",), {"a.b": "1", "a": {"b": "2"}}, "ask", tool="mcp__gh__x"),
    "s339": Row(("allow mcp__gh__x:ids=5",), {"ids": [5, 6]}, "ask", tool="mcp__gh__x"),
}


def calls(rules: tuple[str, ...], expect: str, tool: str, *inputs: Mapping[str, Any]) -> Iterator[Any]:
    """Calls of one tool, as parameters of a test."""
    for given in inputs:
        yield pytest.param(Row(rules, given, expect, tool=tool), id=f"{rules} {given}"[:90])


ISSUE = "mcp__gh__create_issue"
SIBLINGS = [
    *lines(("allow Bash:git *",), "allow", ("git push", 'git commit -m "x"')),
    *lines(("allow Bash:git *",), "ask", ("gitk", "sudo git push", "git-x", "gitgit")),
    *lines(("deny Bash:~git *",), "deny", ("sudo git push", 'bash -c "git fetch"', "x; git log")),
    *lines(("deny Bash:~git *",), "ask", ("digit x", "legit x")),
    *lines(("deny Bash:rm *",), "deny", ("rm -rf build", "rm", "rm a; ls")),
    *lines(("allow Bash(git log:*)",), "allow", ("git log", "git log -1")),
    *lines(("allow Bash(git log:*)",), "ask", ("git logger", "git push")),
    *lines(("allow Bash(npm test)",), "allow", ("npm test",)),
    *lines(("allow Bash(npm test)",), "ask", ("npm test x", "npm tests")),
    *lines(("allow Bash:git log?*",), "ask", ("git lo", "git push")),
    *lines(("deny Bash:git push*", "allow Bash:git *"), "deny", ("git push", "git push -f x")),
    *lines(("allow Bash:git *", "deny Bash:git push*"), "allow", ("git push", "git push -f")),
    *lines(("ask Bash:git push*", "allow Bash:git *"), "ask", ("git push", "git status && git push")),
    *lines(("allow *",), "allow", ("touch x",)),
    *lines(("deny *",), "deny", ("ls",)),
    *calls(
        ("allow Edit:**/*.rs",), "allow", "Edit", {"path": "/ws/src/main.rs"}, {"path": "crates/x/lib.rs"}
    ),
    *calls(
        ("allow Edit:src/**/*.rs",), "allow", "Edit", {"path": "a/src/b/main.rs"}, {"path": "src/b/c/m.rs"}
    ),
    *calls(("allow Edit:**/*.rs",), "ask", "Edit", {"path": "/t/scratch.rs"}, {"path": "a.py"}),
    *calls(("allow Edit(src/**)",), "allow", "Edit", {"path": "src/a.py"}, {"path": "/ws/src/b/c.py"}),
    *calls(("allow Write:~/notes/*",), "allow", "Write", {"path": "/home/u/notes/a"}),
    *calls(("allow Write:~/notes/*",), "ask", "Write", {"path": "/home/u/a"}, {"path": "~/notes/a/b"}),
    *calls(("deny Read:~/.ssh/**",), "deny", "Read", {"path": "/home/u/.ssh/id"}, {"path": "~/.ssh/a/b"}),
    *calls(
        ("allow WebFetch:https://docs.rs/*",),
        "allow",
        "WebFetch",
        {"url": "https://docs.rs/x"},
        {"url": "https://docs.rs/"},
    ),
    *calls(
        ("allow WebFetch:https://docs.rs/*",),
        "ask",
        "WebFetch",
        {"url": "https://docs.rs.evil.example/x"},
        {"url": "http://docs.rs/x"},
    ),
    *calls(
        (f"allow {ISSUE}:repo=acme/*",), "allow", ISSUE, {"repo": "acme/x"}, {"repo": "acme/x", "title": "y"}
    ),
    *calls(
        (f"allow {ISSUE}:repo=acme/*",),
        "ask",
        ISSUE,
        {"repo": "other/x"},
        {"repo": "acme/./x"},
        {"repo": "acme/%2e%2e/x"},
        {"repo": "acme/..\\x"},
        {"repo": ["acme/x"]},
        {"repo": {"x": "acme/x"}},
        {"repo": None},
        {},
        {"Repo": "acme/x"},
        {"repos": "acme/x"},
    ),
    *calls(
        (f"allow {ISSUE}:repo=acme/*,title=feat*",),
        "ask",
        ISSUE,
        {"repo": "acme/x"},
        {"title": "feat"},
        {"repo": "acme/x", "title": "fix"},
        {"repo": "other/x", "title": "feat"},
    ),
    *calls(("allow mcp__gh__x:a.b=1",), "allow", "mcp__gh__x", {"a": {"b": "1"}}, {"a": {"b": 1}}),
    *calls(
        ("allow mcp__gh__x:a.b=1",),
        "ask",
        "mcp__gh__x",
        {"a.b": "1"},
        {"a": "1"},
        {"a": {"b": "11"}},
        {"a": {"b": True}},
        {"a": [{"b": "1"}]},
        {"a": {"b": {"c": "1"}}},
        {"b": "1"},
    ),
    *calls(("deny mcp__gh__x:a.b=1",), "deny", "mcp__gh__x", {"a": {"b": "1"}}, {"a.b": "1"}),
    *calls(("deny mcp__gh__x:ids=5",), "deny", "mcp__gh__x", {"ids": "5"}, {"ids": 5}, {"ids": [4, 5]}),
    *calls(("allow mcp__gh__*",), "allow", "mcp__gh__x", {}),
    *calls(("allow mcp__gh__*",), "ask", "mcp__ghx__y", {}),
    *calls(("deny mcp__gh",), "deny", "mcp__gh__x", {}),
    *calls(("allow mcp__gh__x:value",), "ask", "mcp__gh__x", {"a": "value"}),
    *calls(("allow mcp__gh__x:~value",), "ask", "mcp__gh__x", {"a": "value"}),
]


@pytest.mark.parametrize("row", rows(ROWS))
def test_a_row(row: Row, place: Verdicts) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("row", SIBLINGS)
def test_a_sibling(row: Row, place: Verdicts) -> None:
    assert place.verdict(row) == row.expect


@pytest.mark.parametrize("name", ["s331", "s334", "s335"])
def test_the_command_says_the_same(name: str, place: Verdicts) -> None:
    assert place.by_command(ROWS[name]) == ROWS[name].expect


def settings(place: Verdicts, text: str) -> None:
    file = place.home / ".config" / "caliban" / "settings.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("text", ['{"repo": "acme/a", "repo": "other/b"}', '{"a": {"b": 1, "b": 2}}'])
def test_s336_two_values_of_one_field_are_no_call(text: str, place: Verdicts) -> None:
    settings(place, "permissions.allow = ['mcp__gh__create_issue:repo=acme/*']\n")
    done = place.run("perms", "test", "mcp__gh__create_issue", text)
    assert done.returncode == 64
    assert "stands twice" in done.stderr


@pytest.mark.parametrize(
    "bad",
    [
        "action = 'allow'",
        "pattern = 'Bash'",
        "pattern = 5\naction = 'allow'",
        "pattern = 'Bash'\naction = 'permit'",
        "pattern = 'Bash'\naction = 'allow'\npatern = 'x'",
        "pattern = ''\naction = 'deny'",
    ],
)
def test_s342_one_rule_that_cannot_be_read_stops_the_start(bad: str, place: Verdicts) -> None:
    good = "".join(f"[[permissions.rules]]\npattern = 'Bash:a{n} *'\naction = 'deny'\n" for n in range(9))
    settings(place, f"{good}[[permissions.rules]]\n{bad}\n")
    for words in (("-p", "x"), ("perms", "test", "Bash", '{"command": "ls"}')):
        done = place.run(*words)
        assert done.returncode == 78, done.stderr
        assert "settings.toml" in done.stderr


@pytest.mark.parametrize(
    ("rule", "command", "expect"),
    [
        pytest.param(
            "pattern = 'Bash:git *'\naction = 'allow'\nexpires_at = 2026-01-01", "git push", 2, id="s343"
        ),
        pytest.param(
            "pattern = 'Bash:~curl *'\naction = 'deny'\nexpires_at = 'not-a-date'", "curl x", 1, id="s344"
        ),
        ("pattern = 'Bash:git *'\naction = 'allow'\nexpires_at = 'not-a-date'", "git push", 2),
        ("pattern = 'Bash:git *'\naction = 'allow'\nexpires_at = 2999-01-01", "git push", 0),
        ("pattern = 'Bash:git *'\naction = 'allow'\nexpires_at = '2999-01-01T00:00:00Z'", "git push", 0),
        ("pattern = 'Bash:git *'\naction = 'allow'\nexpires_at = '2020-01-01T00:00:00Z'", "git push", 2),
        ("pattern = 'Bash:curl *'\naction = 'deny'\nexpires_at = 2020-01-01", "curl x", 1),
        ("pattern = 'Bash:curl *'\naction = 'ask'\nexpires_at = 2020-01-01", "curl x", 2),
    ],
)
def test_an_allow_ends_and_a_deny_stays(rule: str, command: str, expect: int, place: Verdicts) -> None:
    settings(place, f"[[permissions.rules]]\n{rule}\n")
    done = place.run("perms", "test", "Bash", f'{{"command": "{command}"}}')
    assert done.returncode == expect, done.stderr


def test_s346_an_import_says_what_each_rule_will_allow(place: Verdicts) -> None:
    source = place.home / "theirs.json"
    source.write_text('{"permissions": {"allow": ["Bash(git log:*)", "Bash(npm:*)", "Read(~/x/**)"]}}')
    done = place.run("perms", "import", "--from", str(source), "--dry-run")
    assert done.returncode == 0
    assert "commands that are `git log` or begin with `git log `" in done.stdout
    assert "commands that are `npm` or begin with `npm `" in done.stdout


@pytest.mark.parametrize("stars", [40, 400])
def test_s347_a_pattern_of_many_stars_is_matched_in_linear_time(stars: int, place: Verdicts) -> None:
    rule = "allow Bash:" + "*a" * stars + "*b"
    assert place.verdict(Row((rule,), {"command": "a" * 9_000}, "ask")) == "ask"
    assert place.verdict(Row((rule,), {"command": "a" * 4_000 + "b"}, "ask")) in ("allow", "ask")


@pytest.mark.parametrize("pattern", ["Bash:{git,hg} *", "Bash:git [a-z]* ", "Bash:[!a]*", "Bash(git {a})"])
def test_s348_a_syntax_that_globs_do_not_have_grants_nothing(pattern: str, place: Verdicts) -> None:
    row = Row((f"allow {pattern}",), {"command": "git push"}, "ask")
    assert place.by_command(row) == "ask"
    done = place.run("perms", "lint", "--scope", "user")
    assert (done.returncode, "unreadable" in done.stdout) == (1, True)
    assert place.run("-p", "x", "--allow", pattern).returncode == 64


@pytest.mark.parametrize(
    ("text", "expect"),
    [
        ("permissions.allow = ['Bash:git *']\npermissions.deny = ['Bash:git push*']\n", 1),
        ("permissions.deny = ['Bash:git push*']\npermissions.allow = ['Bash:git *']\n", 1),
        ("permissions.allow = ['Bash:git *']\npermissions.ask = ['Bash:git push*']\n", 2),
        ("permissions.allow = ['Bash:git *']\n", 0),
    ],
)
def test_the_three_lists_have_no_order_among_them(text: str, expect: int, place: Verdicts) -> None:
    settings(place, text)
    assert place.run("perms", "test", "Bash", '{"command": "git push"}').returncode == expect


def test_the_file_of_rules_alone_is_read_as_the_settings_are(place: Verdicts) -> None:
    settings(place, "")
    (place.home / ".config" / "caliban" / "permissions.toml").write_text(
        "[[rules]]\npattern = 'Bash:git *'\naction = 'allow'\ncomment = 'fine'\n"
    )
    assert place.run("perms", "test", "Bash", '{"command": "git push"}').returncode == 0
    (place.home / ".config" / "caliban" / "permissions.toml").unlink()


def test_a_reason_goes_to_the_model_and_a_comment_does_not(place: Verdicts) -> None:
    settings(
        place,
        "[[permissions.rules]]\npattern = 'Bash:rm *'\naction = 'deny'\n"
        "reason = 'use git revert'\ncomment = 'since May'\n",
    )
    done = place.run("perms", "test", "Bash", '{"command": "rm x"}')
    assert "use git revert" in done.stdout
    assert "since May" not in done.stdout
