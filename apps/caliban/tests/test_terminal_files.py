"""What the terminal reads and writes by itself: the branch, notes, the file that a call would change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from caliban.errors import CommandRefused
from caliban.faces.terminal.branch import BranchReader
from caliban.faces.terminal.change import planned_change
from caliban.faces.terminal.note import MAX_NOTE_CHARS, add_note
from caliban_tools_builtin import builtin_specs


def test_a_pipe_in_the_place_of_a_branch_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    reader = BranchReader(tmp_path)
    head = tmp_path / ".git" / "HEAD"
    os.mkfifo(head)
    assert reader.read() == ""
    head.unlink()
    head.write_text("ref: refs/heads/main\n")
    assert reader.read() == "main"


def test_a_long_note_is_kept_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "CLAUDE.md"
    note = "word " * 400
    add_note(path, note)
    assert path.read_text() == f"- {note.strip()}\n"
    with pytest.raises(CommandRefused, match="at most"):
        add_note(path, "x" * (MAX_NOTE_CHARS + 1))
    assert path.read_text() == f"- {note.strip()}\n"


def test_what_a_call_would_change_is_read_from_regular_files_alone(tmp_path: Path) -> None:
    write = next(spec for spec in builtin_specs() if spec.name == "Write")
    os.mkfifo(tmp_path / "pipe")
    given = {"path": "pipe", "content": "new"}
    change = planned_change(write, given, tmp_path)
    assert change is not None and "a named pipe" in change.problem
    fresh = planned_change(write, {**given, "path": "none"}, tmp_path)
    assert fresh is not None and (fresh.before, fresh.after, fresh.problem) == (None, "new", "")
