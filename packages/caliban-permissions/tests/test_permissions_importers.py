"""Rules of other harnesses: what has an equal is taken, nothing gets wider, everything else is named."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions import Rule
from caliban_permissions.errors import ImportRefused
from caliban_permissions.importers import import_codex_rules, import_table

LISTS = ("allow", "ask", "deny", "rules", "rule")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(LISTS), inner, max_size=4)
    ),
)


def pairs(found: Any) -> list[tuple[str, str]]:
    return [(rule.action, rule.pattern) for rule in found.rules]


def test_three_buckets_come_out_strictest_first():
    table = {
        "permissions": {"allow": ["Read", "Bash(git log:*)"], "ask": ["Bash(npm *)"], "deny": ["WebFetch"]}
    }
    imported = import_table(table, foreign=True)
    assert pairs(imported) == [
        ("deny", "WebFetch"),
        ("ask", "Bash(npm *)"),
        ("allow", "Read"),
        ("allow", "Bash(git log:*)"),
    ]
    assert imported.left_out == ()


@pytest.mark.parametrize(
    ("action", "pattern", "ours"),
    [
        ("allow", "mcp__files", "mcp__files__*"),
        ("deny", "mcp__files", "mcp__files"),
        ("allow", "mcp__files__read", "mcp__files__read"),
        ("allow", "Read(//etc/hosts)", "Read(//etc/hosts)"),
        ("deny", "Read(~/.ssh/**)", "Read(~/.ssh/**)"),
        ("allow", "Edit(src/**)", "Edit(src/**)"),
        ("allow", "WebFetch(domain:example.com)", "WebFetch(domain:example.com)"),
        ("allow", "Read(/src/**)", None),
        ("deny", "Grep(/src)", None),
        ("allow", "Bash(git:* log)", None),
        ("allow", "Bash(git", None),
        ("allow", "mcp__files__read(x)", None),
        ("allow", "", None),
        ("allow", 3, None),
    ],
)
def test_a_pattern_of_another_harness_means_the_same_or_is_named(action, pattern, ours):
    imported = import_table({"permissions": {action: [pattern]}}, foreign=True)
    if ours is None:
        assert imported.rules == () and len(imported.left_out) == 1
        assert imported.left_out[0].startswith(f"{action}[0] ")
    else:
        assert (pairs(imported), imported.left_out) == ([(action, ours)], ())


def test_our_own_older_forms_are_taken_as_they_are():
    table = {
        "rule": [{"tool": "Bash:make *", "action": "allow", "comment": "c"}, {"tool": "", "action": "ask"}],
        "permissions": {
            "deny": ["Read(/etc/x)"],
            "rules": [{"pattern": "Grep", "action": "ask"}],
            "enforce": True,
        },
    }
    imported = import_table(table, foreign=False)
    assert imported.rules == (
        Rule(pattern="Read(/etc/x)", action="deny"),
        Rule(pattern="Grep", action="ask"),
        Rule(pattern="Bash:make *", action="allow", comment="c"),
    )
    assert [remark.split()[0] for remark in imported.left_out] == ["permissions.enforce:", "rule[1]"]


@given(st.dictionaries(st.text() | st.sampled_from(("permissions", *LISTS)), JSON, max_size=5), st.booleans())
def test_whatever_a_file_holds_each_entry_is_a_rule_or_named(data, foreign):
    try:
        imported = import_table(data, foreign=foreign)
    except ImportRefused:
        return
    assert all(rule.problem is None for rule in imported.rules)
    inner = data.get("permissions")
    table = inner if isinstance(inner, dict) else data
    entries = [item for name in LISTS if isinstance(table.get(name), list) for item in table[name]]
    if isinstance(inner, dict) and isinstance(data.get("rule"), list):
        entries = [item for name in LISTS[:-1] if isinstance(table.get(name), list) for item in table[name]]
        entries += data["rule"]
    assert len(imported.left_out) + len(imported.rules) >= len({repr(item) for item in entries})


def test_prefix_rules_of_codex_are_prefixes_here():
    imported = import_codex_rules(
        "prefix_rule(\n  pattern = ['git', ['push', 'fetch']],\n  decision = 'prompt',\n"
        "  match = [['git', 'push']],\n)\n"
        "prefix_rule(pattern=['rm'], decision='forbidden', justification='use trash')\n"
        "prefix_rule(pattern=['ls'])\n"
    )
    assert [(rule.action, rule.pattern, rule.reason) for rule in imported.rules] == [
        ("ask", "Bash(git push:*)", None),
        ("ask", "Bash(git fetch:*)", None),
        ("deny", "Bash(rm:*)", "use trash"),
        ("allow", "Bash(ls:*)", None),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "prefix_rule(pattern=['a b'])",
        "prefix_rule(pattern=['*'])",
        "prefix_rule(pattern=[''])",
        "prefix_rule(pattern=[])",
        "prefix_rule(pattern='git')",
        "prefix_rule(pattern=['git'], decision='maybe')",
        "prefix_rule(['git'])",
        "prefix_rule(pattern=[open('/etc/passwd').read()])",
        "network_rule(host='x')",
        "x = 1",
        "import os",
    ],
)
def test_a_rule_of_codex_without_an_equal_is_named_with_its_line_and_never_run(line):
    imported = import_codex_rules(f"\n{line}\n")
    assert imported.rules == ()
    assert [remark.partition(":")[0] for remark in imported.left_out] == ["line 2"]


@given(
    st.text()
    | st.lists(st.sampled_from(["prefix_rule(", "pattern=", "['git']", ",", ")", "\n"])).map("".join)
)
def test_any_text_is_rules_of_codex_or_refused(text):
    try:
        imported = import_codex_rules(text)
    except ImportRefused:
        return
    assert all(rule.problem is None for rule in imported.rules)
