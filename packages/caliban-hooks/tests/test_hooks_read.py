"""Hooks as people write them, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_hooks import BadHook, HookSpec, read_hooks


def read(value: Any) -> list[HookSpec]:
    return list(read_hooks(value, source="s.toml"))


def test_claudes_form_and_ours_are_the_same_hooks() -> None:
    command = {"type": "command", "command": "a.sh", "timeout": 5}
    (theirs,) = read({"PreToolUse": [{"matcher": "Bash", "hooks": [command]}]})
    (ours,) = read({"PreToolUse": [{"matcher": "Bash", "handlers": [{**command, "timeout": "5s"}]}]})
    (alone,) = read({"PreToolUse": [{"matcher": "Bash", **command}]})
    assert theirs.identity == ours.identity == alone.identity
    assert (theirs.timeout_s, ours.timeout_s, theirs.matcher) == (5.0, 5.0, "Bash")
    assert (theirs.place, ours.place) == (
        "s.toml: `hooks.PreToolUse[0].hooks[0]`",
        "s.toml: `hooks.PreToolUse[0].handlers[0]`",
    )


@pytest.mark.parametrize(
    ("value", "seconds"), [("200ms", 0.2), ("5s", 5.0), ("1m", 60.0), (2.5, 2.5), ("1.5", 1.5), (None, 30.0)]
)
def test_time_limits_are_seconds_or_text(value: Any, seconds: float) -> None:
    given = {} if value is None else {"timeout": value}
    (spec,) = read({"Stop": [{"hooks": [{"command": "a", **given}]}]})
    assert spec.timeout_s == seconds


def test_what_a_group_says_of_failure_holds_for_its_hooks() -> None:
    group = {"on_failure": "allow", "hooks": [{"command": "a"}, {"command": "b", "onFailure": "block"}]}
    policies = [spec.on_failure for spec in read({"PreToolUse": [group]})]
    assert policies == ["allow", "block"]


HOOK = {"type": "command", "command": "a"}


@pytest.mark.parametrize(
    "table",
    [
        *("x", [], None, 3),
        *(
            {"Nothing": []},
            {"Stop": {}},
            {"Stop": "x"},
            {"Stop": [3]},
            {"Stop": [{}]},
            {"Stop": [{"hooks": []}]},
        ),
        {"Stop": [{"hooks": [HOOK], "handlers": [HOOK]}]},
        {"Stop": [{"hooks": [HOOK], "matcher": 3}]},
        {"Stop": [{"hooks": [HOOK], "matcher": "(?=a)"}]},
        {"Stop": [{"hooks": [HOOK], "wat": 3}]},
        {"Stop": [{"hooks": [HOOK], "if": "Bash"}]},
        {"PreToolUse": [{"hooks": [{**HOOK, "if": "Bash"}], "if": "Bash"}]},
        *(
            {"Stop": [{"hooks": [{**HOOK, "timeout": value}]}]}
            for value in (0, -1, True, "x", "1d", 1e9, [], "")
        ),
        *({"Stop": [{"hooks": [{**HOOK, "async": value}]}]} for value in (1, "true", None)),
        *({"Stop": [{"hooks": [{"type": kind}]}]} for kind in ("mcp", "mcp_tool", "agent", "x", 3, None)),
        *({"Stop": [{"hooks": [{"type": kind}]}]} for kind in ("command", "http", "prompt")),
        {"Stop": [{"hooks": [{**HOOK, "args": "x"}]}]},
        {"Stop": [{"hooks": [{**HOOK, "args": [1]}]}]},
        {"Stop": [{"hooks": [{**HOOK, "env": {"A": 1}}]}]},
        {"Stop": [{"hooks": [{**HOOK, "env": {"A=B": "x"}}]}]},
        {"Stop": [{"hooks": [{**HOOK, "shell": "fish"}]}]},
        {"Stop": [{"hooks": [{**HOOK, "command": "a\0b"}]}]},
        {"Stop": [{"hooks": [{**HOOK, "url": "https://a.example"}]}]},
        {"PreToolUse": [{"hooks": [{**HOOK, "on_failure": "maybe"}]}]},
        {"PreToolUse": [{"hooks": [{**HOOK, "on_failure": "block", "async": True}]}]},
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(table: Any) -> None:
    with pytest.raises(BadHook, match=r"s\.toml"):
        read(table)
