"""What programs print and how they end: what is no answer is named, and lets no call run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_hooks.answer import HookAnswer, ProgramEnd, program_answer
from caliban_hooks.errors import HookFailed
from caliban_hooks.events import EVENTS


def answer(stdout: str | bytes, code: int = 0, stderr: str = "", event: str = "PreToolUse") -> HookAnswer:
    raw = stdout.encode() if isinstance(stdout, str) else stdout
    return program_answer(event, ProgramEnd(exit_code=code, stdout=raw, stderr=stderr))


def own(**members: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **members}})


@pytest.mark.parametrize(
    ("stdout", "decision", "reason"),
    [
        ("", "continue", ""),
        ("formatted a.py", "continue", ""),
        ("{}", "continue", ""),
        ("\ufeff{}\n", "continue", ""),
        (own(permissionDecision="allow"), "continue", ""),
        (own(permissionDecision="ask", permissionDecisionReason="why"), "ask", "why"),
        (own(permissionDecision="defer"), "ask", ""),
        (own(permissionDecision="deny", permissionDecisionReason="no rm"), "deny", "no rm"),
        ('{"decision": "block", "reason": "no"}', "deny", "no"),
        ('{"decision": "approve"}', "continue", ""),
        ('{"permissionDecision": "deny", "permissionDecisionReason": "flat"}', "deny", "flat"),
        ('{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}', "deny", ""),
        ('{"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}', "deny", ""),
    ],
)
def test_what_counts_is_the_strictest_thing_that_was_said(stdout: str, decision: str, reason: str) -> None:
    reply = answer(stdout)
    assert (reply.decision, reply.reason) == (decision, reason)


@pytest.mark.parametrize(
    "stdout",
    [
        '{"hookSpecificOutput":',
        '{"decision": "block"',
        '{"decision": "block"} and more',
        'starting up\n{"decision": "block"}',
        '[{"permissionDecision": "deny"}]',
        '{"decision": "block", "decision": "approve"}',
        own(permissionDecision="Deny"),
        own(permissionDecision="denied"),
        own(permissionDecision=True),
        own(permissionDecision=["deny"]),
        '{"decision": "deny"}',
        '{"decision": false}',
        '{"continue": "false"}',
        '{"continue": 0}',
        '{"reason": 1, "decision": "block"}',
        '{"hookSpecificOutput": []}',
        '{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "allow"}}',
        own(updatedInput=[1]),
        own(updatedInput="rm"),
        '{"a": NaN}',
        '{"a": ' + "[" * 100_000,
        b'{"decision": "block"}\xff',
        b"\xff\xfe{\x00}\x00",
    ],
)
def test_what_cannot_be_read_for_certain_is_no_answer(stdout: str | bytes) -> None:
    with pytest.raises(HookFailed):
        answer(stdout)


@pytest.mark.parametrize("code", [-9, -11, 126, 127, 137, 139, 255])
def test_who_was_killed_or_could_not_run_gave_no_answer(code: int) -> None:
    with pytest.raises(HookFailed):
        answer("{}", code)


def test_too_much_is_no_answer() -> None:
    with pytest.raises(HookFailed, match="64 KiB"):
        program_answer("PreToolUse", ProgramEnd(exit_code=0, stdout=None, stderr=""))


@pytest.mark.parametrize("stdout", ["", "{}", own(permissionDecision="allow"), '{"decision":', None])
def test_exit_code_two_objects_whatever_was_printed(stdout: str | None) -> None:
    raw = None if stdout is None else stdout.encode()
    reply = program_answer(
        "PreToolUse", ProgramEnd(exit_code=2, stdout=raw, stderr="\x1b[31mblocked\x1b[0m\n")
    )
    assert reply.decision == "deny"
    assert "blocked" in reply.reason
    assert "\x1b" not in reply.reason


def test_another_code_warns_and_changes_nothing() -> None:
    reply = answer(own(updatedInput={"command": "x"}), 1, "oops")
    assert (reply.decision, reply.updated_input) == ("continue", None)
    assert reply.remarks == ("it ended with exit code 1, which is neither yes (0) nor no (2): oops",)
    with pytest.raises(HookFailed, match="exit code 1"):
        program_answer("PreToolUse", ProgramEnd(exit_code=1, stdout=b"", stderr=""), strict=True)


def test_who_fails_may_object_all_the_same() -> None:
    assert answer('{"decision": "block", "reason": "no"}', 1).decision == "deny"


def test_text_is_context_where_a_prompt_or_a_session_begins() -> None:
    assert answer("on\x1b]52;c;x\x07 main\x1b[2J", event="SessionStart").context == "on main"
    assert answer("on main", event="PostToolUse").context == ""


def test_what_is_not_known_is_named_and_allowing_a_request_does_nothing() -> None:
    assert answer('{"permisionDecision": "deny"}').remarks == (
        "its answer has `permisionDecision`, which is not known",
    )
    inside = {"decision": {"behavior": "allow"}}
    reply = answer(json.dumps({"hookSpecificOutput": inside}), event="PermissionRequest")
    assert reply.remarks == ("it allows what the rules leave to a person: no hook can",)
    inside = {"decision": {"behavior": "deny", "message": "never"}}
    reply = answer(json.dumps({"hookSpecificOutput": inside}), event="PermissionRequest")
    assert (reply.decision, reply.reason) == ("deny", "never")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        *("continue", "stopReason", "decision", "reason", "hookSpecificOutput", "permissionDecision"),
        *("updatedInput", "additionalContext", "systemMessage", "updatedToolOutput", "hookEventName"),
    ]
)


@given(
    st.sampled_from(sorted(EVENTS)),
    st.dictionaries(names, values | st.dictionaries(names, values, max_size=4), max_size=6),
    st.integers(-70, 260),
)
def test_whatever_is_answered_is_an_answer_or_none(event: str, data: dict[str, Any], code: int) -> None:
    try:
        reply = answer(json.dumps(data), code, event=event)
    except HookFailed:
        return
    if code == 2:
        assert reply.decision == "deny"
    if code not in (0, 2):
        assert reply.updated_input is None
    assert reply.updated_input is None or event == "PreToolUse"


@given(st.binary(max_size=200), st.integers(-70, 260))
def test_whatever_bytes_are_printed_are_an_answer_or_none(raw: bytes, code: int) -> None:
    try:
        answer(raw, code)
    except HookFailed:
        pass
