"""What a screen is told of a change to a file, and the model is not."""

from __future__ import annotations

from caliban_common.hunks import TextChange, TextHunk


def test_every_tool_that_changes_text_says_what_it_changed(call, ws):
    written = call("Write", path="a.txt", content="one\ntwo\n")
    assert TextChange.of_details(written.details) == TextChange(
        added=2, removed=0, hunks=(TextHunk(old_start=1, new_start=1, lines=("+one", "+two")),)
    )
    call("Read", path="a.txt")
    edited = call("Edit", path="a.txt", old_string="two", new_string="2")
    changed = TextChange.of_details(edited.details)
    assert changed is not None
    assert changed.hunks == (TextHunk(old_start=1, new_start=1, lines=(" one", "-two", "+2")),)
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "2", "new_string": "zwei"}]
    several = TextChange.of_details(call("MultiEdit", path="a.txt", edits=edits).details)
    assert several is not None
    assert (several.added, several.removed) == (2, 2)
    assert "zwei" not in edited.text


def test_a_large_file_is_not_compared(call, ws):
    written = call("Write", path="a.txt", content="x\n" * 1_500_000)
    assert TextChange.of_details(written.details) is None


def test_filling_an_empty_file_is_a_change_too(call, ws):
    (ws / "a.txt").write_bytes(b"")
    filled = TextChange.of_details(call("Edit", path="a.txt", old_string="", new_string="x\n").details)
    assert filled is not None
    assert (filled.added, filled.removed) == (1, 0)
