"""Calls as models of other houses write them, through the real command."""

from __future__ import annotations

import json

import pytest

from caliban_provider_anthropic.testing import wire


def result(cli, call, *flags: str) -> dict:
    cli.script(wire.exchange(call), wire.exchange(wire.text("ok")))
    done = cli.run("-p", "go", "--output-format", "stream-json", *flags)
    (frame,) = done.of("tool_result")
    return frame


CALLS = {
    "read": ("Read", {"file_path": "a.txt", "offset": "2", "description": "look"}, "2  two"),
    "edit": (
        "Edit",
        {"file_path": "a.txt", "old_str": "o", "new_str": "0", "replace_all": "true"},
        "(2 replac",
    ),
    "grep": ("Grep", {"pattern": "two", "glob": "*.txt", "head_limit": "5", "-n": True}, "a.txt:2:two"),
    "bash": ("Bash", {"command": "echo hi", "timeout": 120000, "description": "say hi"}, "hi"),
    "write": ("Write", {"file_path": "b.txt", "content": "x"}, "Wrote b.txt"),
}


@pytest.mark.parametrize("name", CALLS)
def test_names_and_strings_of_others_are_taken(cli, name):
    (cli.work / "a.txt").write_text("one\ntwo\n")
    tool, sent, shown = CALLS[name]
    frame = result(cli, wire.tool_use(tool, sent), "--auto-allow")
    assert not frame["is_error"], frame
    assert shown in json.dumps(frame["content"], ensure_ascii=False)


@pytest.mark.parametrize("sent", [{"file_path": ".env"}, {"filename": ".env"}, {"target_file": "./.env"}])
def test_rules_judge_the_canonical_name(cli, sent):
    (cli.work / ".env").write_text("SECRET=CANARY")
    frame = result(cli, wire.tool_use("Read", sent), "--auto-allow", "--deny", "Read:**/.env")
    assert frame["is_error"]
    assert "CANARY" not in json.dumps(frame)


def test_an_unknown_argument_is_still_refused_by_name(cli):
    frame = result(cli, wire.tool_use("Read", {"path": "a.txt", "encodingg": "x"}))
    assert "unknown argument 'encodingg'" in json.dumps(frame)
