"""Laws of the engine, over generated rules and commands."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Rule, RuleSet

BASH = ToolSpec(name="Bash", description="", input_schema={}, kind="execute", roles={"command": "command"})
READ = ToolSpec(name="Read", description="", input_schema={}, kind="read", roles={"path": "reads"})
NOW = datetime(2026, 11, 27, tzinfo=UTC)
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
PLACE = Path(tempfile.gettempdir()) / "caliban-permissions-laws" / "ws"

MODES = st.sampled_from(["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"])


def verdict(rules: RuleSet, command: str, mode: Any = "default", **more: Any) -> str:
    engine = Engine(
        rules,
        mode=mode,
        workspace=PLACE,
        interactive=True,
        home=PLACE.parent,
        clock=lambda: NOW,
        vouched=(BASH, READ),
        **more,
    )
    return engine.explain(BASH, {"command": command}).verdict


WRAPPINGS = st.sampled_from(
    [
        "{}",
        "sudo {}",
        "env A=1 {}",
        "nice -n 5 {}",
        "timeout 5 {}",
        "nohup {}",
        "xargs {}",
        "bash -c '{}'",
        'sh -c "{}"',
        "a; {}",
        "a && {}",
        "a || {}",
        "a | {}",
        "a\n{}",
        "({})",
        "{{ {}; }}",
        "! {}",
        "X=1 {}",
        ">x {}",
        "{} 2>&1",
        "if a; then {}; fi",
        "for i in a; do {}; done",
        "echo $({})",
        "echo `{}`",
        'echo "$({})"',
        "cat <({})",
        "time {}",
        "eval '{}'",
        "busybox {}",
        "stdbuf -oL {}",
        "exec {}",
        "command {}",
        "f() {{ {}; }}; f",
        "{} # x",
        "# x\n{}",
        "while a; do {}; done",
        "coproc {}",
        "{} &",
        "find . -exec {} \\;",
        "strace -f {}",
        "bash <<'E'\n{}\nE",
    ]
)
RESERVED = ("!", "{", "(", "if", "for", "while", "time", "coproc", "f()", "#")
PROGRAMS = st.sampled_from(
    [
        "rm",
        "r\\m",
        "'rm'",
        '"rm"',
        'r"m"',
        "r''m",
        "/bin/rm",
        "/usr/bin/../bin/rm",
        "\\rm",
        "$'rm'",
        "$'\\x72m'",
        "r\\\nm",
        "./rm",
    ]
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \\\n "])


@settings(max_examples=examples(300))
@given(
    st.lists(WRAPPINGS, max_size=3),
    PROGRAMS,
    BLANKS,
    MODES,
    st.sampled_from(["Bash:rm *", "Bash(rm:*)", "Bash:~rm *"]),
)
def test_a_deny_beats_an_allow_under_any_wrapper_and_quoting(
    wrappings: list[str], program: str, blank: str, mode: str, pattern: str
) -> None:
    command = f"{program}{blank}x"
    quotes = command.count("'") + command.count('"') + command.count("\\") + command.count("$")
    for wrapping in wrappings:
        if quotes and ("'{}'" in wrapping or '"' in wrapping or "`" in wrapping):
            continue
        if wrapping in (">x {}", "X=1 {}") and command.startswith(RESERVED):
            continue  # there a reserved word is a program's name
        quotes += wrapping.count("'") + wrapping.count('"') + wrapping.count("`") + wrapping.count("\\")
        command = wrapping.format(command)
    rules = RuleSet(user=(Rule(pattern=pattern, action="deny"), Rule(pattern="Bash", action="allow")))
    assert verdict(rules, command, mode) == "deny"


PATTERNS = st.sampled_from(
    [
        "Bash",
        "Bash:*",
        "Bash:a *",
        "Bash:a*",
        "Bash:~b *",
        "Bash(a:*)",
        "Bash:a",
        "*",
        "Bash:b *",
        "Bash(*c*)",
        "Write:**",
        "Read:x",
    ]
)
ACTIONS = st.sampled_from(["allow", "ask", "deny"])
RULES = st.lists(
    st.builds(lambda pattern, action: Rule(pattern=pattern, action=action), PATTERNS, ACTIONS), max_size=4
)
COMMANDS = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "c",
            "x",
            " ",
            " ",
            ";",
            "&&",
            "|",
            "\n",
            "'",
            '"',
            "\\",
            "$x",
            "$(b c)",
            ">x",
            "2>&1",
            "(",
            ")",
            "{",
            "}",
            "*",
            "#",
            "sudo ",
        ]
    ),
    max_size=10,
).map("".join)


@settings(max_examples=examples(300))
@given(
    RULES,
    RULES,
    COMMANDS,
    MODES,
    st.sampled_from(["cli", "project", "user", "managed"]),
    st.sampled_from(["deny", "ask"]),
    PATTERNS,
)
def test_one_more_deny_or_ask_in_front_never_makes_a_verdict_laxer(
    user: list[Rule], other: list[Rule], command: str, mode: str, scope: str, action: Any, pattern: str
) -> None:
    layers: dict[str, Any] = {"user": tuple(user), "project": tuple(other), "managed": (), "cli": ()}
    before = verdict(RuleSet(project_trusted=True, **layers), command, mode)
    layers[scope] = (Rule(pattern=pattern, action=action), *layers[scope])
    after = verdict(RuleSet(project_trusted=True, **layers), command, mode)
    if scope == "managed" and action == "ask" and mode == "dontAsk":
        # The policy asks a person even where nobody else is asked: a deny may become an ask.
        assert after != "allow" or before == "allow"
    elif action == "deny" or scope == "managed":
        assert STRICTNESS[after] >= STRICTNESS[before]
    else:
        assert STRICTNESS[after] >= min(STRICTNESS[before], 1) or mode in ("dontAsk", "bypassPermissions")


@settings(max_examples=examples(200))
@given(RULES, COMMANDS, MODES)
def test_a_compound_is_never_laxer_than_its_parts(user: list[Rule], command: str, mode: str) -> None:
    rules = RuleSet(user=tuple(rule for rule in user if rule.pattern not in ("Bash", "*", "Bash:*")))
    alone = verdict(rules, "a x", mode)
    assert STRICTNESS[verdict(rules, f"a x; {command}", mode)] >= STRICTNESS[alone] or mode == "dontAsk"


@settings(max_examples=examples(200))
@given(RULES, COMMANDS, st.text(max_size=30))
def test_deciding_never_raises_and_says_why(user: list[Rule], command: str, noise: str) -> None:
    engine = Engine(
        RuleSet(user=tuple(user)),
        mode="default",
        workspace=PLACE,
        interactive=False,
        home=PLACE.parent,
        clock=lambda: NOW,
        vouched=(BASH, READ),
    )
    for tool, args in (
        (BASH, {"command": command + noise}),
        (READ, {"path": noise}),
        (READ, {"path": command}),
    ):
        decision = engine.decide(tool, args)
        assert decision.action in ("allow", "deny")
        assert decision.reason or decision.action == "allow"


@settings(max_examples=examples(100))
@given(RULES, COMMANDS)
def test_an_untrusted_project_never_makes_a_verdict_laxer(project: list[Rule], command: str) -> None:
    user = (Rule(pattern="Bash:a *", action="allow"), Rule(pattern="Bash:~b *", action="deny"))
    without = verdict(RuleSet(user=user), command)
    with_project = verdict(RuleSet(user=user, project=tuple(project)), command)
    assert STRICTNESS[with_project] >= STRICTNESS[without]


@settings(max_examples=examples(100))
@given(RULES, COMMANDS)
def test_a_trusted_project_never_loosens_what_the_user_denied_or_asked(
    project: list[Rule], command: str
) -> None:
    user = (Rule(pattern="Bash:~b *", action="deny"), Rule(pattern="Bash:a *", action="ask"))
    alone = verdict(RuleSet(user=user), command)
    both = verdict(RuleSet(user=user, project=tuple(project), project_trusted=True), command)
    if alone == "deny":
        assert both == "deny"


@given(st.dictionaries(st.sampled_from(["allow", "ask", "deny"]), st.lists(PATTERNS, max_size=3)), COMMANDS)
def test_the_order_of_bucket_keys_changes_nothing(buckets: dict[str, list[str]], command: str) -> None:
    from caliban_permissions import parse_rules

    backwards = dict(reversed(buckets.items()))
    one, other = (RuleSet(user=parse_rules(data)) for data in (buckets, backwards))
    assert verdict(one, command) == verdict(other, command)


OPERATORS = st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & ", " |& "])
ALLOWED_LINES = st.sampled_from(
    ["a", "a x", "a 'x y'", "a x; a y", "a x | a y", "a x 2>&1", "(a x)", 'a "b c"']
)


@settings(max_examples=examples(300))
@given(RULES, ALLOWED_LINES, OPERATORS, COMMANDS, st.booleans())
def test_what_is_joined_to_an_allowed_line_is_allowed_only_where_it_is_alone(
    user: list[Rule], line: str, operator: str, other: str, behind: bool
) -> None:
    rules = RuleSet(user=(*user, Rule(pattern="Bash:a *", action="allow")))
    joined = f"{line}{operator}{other}" if behind else f"{other}{operator}{line}"
    if verdict(rules, line) == "allow" and verdict(rules, joined) == "allow":
        # A rule that is the whole line is about no part of it, and what is no line alone is none of its own.
        alone = verdict(rules, other)
        assert alone == "allow" or not other.strip(" \n\t;&|") or not _is_a_line(other, behind=behind)


def _is_a_line(text: str, *, behind: bool) -> bool:
    """Whether a text is read alone as it is read behind (or before) another line."""
    from caliban_permissions.shell import parse_line

    joined = parse_line(f"a;{text}" if behind else f"{text};a")
    own = parse_line(text)
    return own.clear and len(joined.simple_commands) == len(own.simple_commands) + 1


def _decided_by_user(rules: tuple[Rule, ...], command: str) -> bool:
    engine = Engine(
        RuleSet(user=rules),
        mode="default",
        workspace=PLACE,
        interactive=True,
        home=PLACE.parent,
        clock=lambda: NOW,
        vouched=(BASH, READ),
    )
    parts = engine.explain(BASH, {"command": command}).parts
    return all(any(rule.decided and rule.scope == "user" for rule in part.matched) for part in parts)


@settings(max_examples=examples(300))
@given(RULES, st.sampled_from(["a", "a x", "b x", "c", "a x y"]), PATTERNS, ACTIONS)
def test_a_rule_below_never_changes_what_is_decided_above(
    user: list[Rule], command: str, pattern: str, action: Any
) -> None:
    above = tuple(user)
    before = verdict(RuleSet(user=above), command)
    after = verdict(RuleSet(user=(*above, Rule(pattern=pattern, action=action))), command)
    if not pattern.startswith("Bash") and action != "allow":
        # What rules say of a file binds the commands that name it, wherever they stand: it only tightens.
        assert after == before or after in ("ask", "deny")
        return
    assert before == after or not _decided_by_user(above, command)
