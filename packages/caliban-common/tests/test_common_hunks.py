"""What turns one text into another, as hunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caliban_common.hunks import (
    KEPT_LINES,
    MAX_CHARS,
    MAX_LINE_CHARS,
    TextChange,
    TextHunk,
    text_change,
    text_hunks,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=60)


@given(LINES, LINES)
def test_the_hunks_hold_every_changed_line_at_its_place(old: list[str], new: list[str]):
    change = text_change("\n".join(old), "\n".join(new))
    before, after = "\n".join(old).splitlines(), "\n".join(new).splitlines()
    assert len(before) - change.removed + change.added == len(after)
    for hunk in change.hunks:
        removed = [line[1:] for line in hunk.lines if line[0] != "+"]
        added = [line[1:] for line in hunk.lines if line[0] != "-"]
        assert before[hunk.old_start - 1 :][: len(removed)] == removed
        assert after[hunk.new_start - 1 :][: len(added)] == added
    signs = "".join(line[0] for hunk in change.hunks for line in hunk.lines)
    assert (signs.count("+"), signs.count("-")) == (change.added, change.removed)
    assert TextChange.of_details({"change": change.details()}) == change


def test_a_change_has_three_lines_around_it():
    old = "".join(f"{number}\n" for number in range(1, 21))
    assert text_change(old, old.replace("10\n", "ten\n")) == TextChange(
        added=1,
        removed=1,
        hunks=(
            TextHunk(old_start=7, new_start=7, lines=(" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13")),
        ),
    )
    assert text_change(old, old) == TextChange(added=0, removed=0)


def test_what_is_kept_is_bounded():
    change = text_change("", "x\n" * 10_000)
    assert (change.added, len(change.hunks[0].lines), change.left_out) == (10_000, KEPT_LINES, 9_600)
    assert text_change("a" * MAX_CHARS, "b").hunks == ()
    scattered = "".join(f"{number}\n" for number in range(4_000))
    changed = text_change(scattered, scattered.replace("1\n", "x\n"))
    assert sum(len(hunk.lines) for hunk in changed.hunks) <= KEPT_LINES


def test_details_that_say_something_else_are_none():
    for odd in ({}, {"change": 7}, {"change": {"hunks": 7}}, {"change": {}}):
        assert TextChange.of_details(odd) is None
    assert TextChange.of_details({"change": {"hunks": [7, {"lines": 7}], "added": "x"}}) == TextChange(
        added=0, removed=0
    )


def test_whole_hunks_leave_nothing_out():
    long = "x" * (MAX_LINE_CHARS + 1)
    new = f"{long}\n" * (KEPT_LINES + 1)
    (hunk,) = text_hunks("", new)
    assert hunk.lines == (f"+{long}",) * (KEPT_LINES + 1)
    change = text_change("", new)
    assert (change.added, change.left_out) == (KEPT_LINES + 1, 1)
    assert change.hunks[0].lines == (f"+{long}"[:MAX_LINE_CHARS],) * KEPT_LINES
