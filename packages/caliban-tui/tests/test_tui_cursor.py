"""The shape of the cursor: what vim's mode wants, and nothing of it left behind."""

from __future__ import annotations

import os
import tty

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.compose import compose
from caliban_tui.line import text_of
from caliban_tui.screen import ScreenSize
from caliban_tui.terminal.outlet import TerminalOutlet
from caliban_tui.transcript.view import ConversationView
from caliban_tui.ui import DraftView, UiState


@pytest.mark.parametrize(
    ("mode", "shape"),
    [("", ""), ("insert", "bar"), ("normal", "block"), ("visual", "block"), ("replace", "underline")],
)
def test_a_mode_is_seen_at_the_cursor_in_the_status_and_told_to_who_listens(mode: str, shape: str) -> None:
    ui = UiState(draft=DraftView(text="x", mode=mode))
    frame = compose(ConversationView(), ui, ScreenSize(60, 20), 0.0)
    assert frame.cursor == shape
    assert text_of(frame.lines[-1]) == mode.upper()
    spoken = [text_of(line) for line in frame.spoken]
    assert (f"vim: {mode}" in spoken) == bool(mode)


@given(
    st.lists(st.sampled_from([b"\x1b[0 q", b"\x1b[2 q", b"\x1b[6 q", b"\x1b[?1049h", b"x q", b"\x1b[9 q"]))
)
def test_the_last_shape_alone_is_taken_back_and_a_taken_back_one_is_not(sent: list[bytes]) -> None:
    ours, theirs = os.openpty()
    try:
        tty.setraw(theirs)
        outlet = TerminalOutlet(theirs)
        for data in sent:
            outlet.write(data)
            os.read(ours, 100)
        shapes = [data for data in sent if data in (b"\x1b[0 q", b"\x1b[2 q", b"\x1b[6 q")]
        left = bool(shapes) and shapes[-1] != b"\x1b[0 q"
        assert outlet.undo.count(b"\x1b[0 q") == left
        assert outlet.undo.count(b"\x1b[?1049l") == sent.count(b"\x1b[?1049h")
        outlet.close()
    finally:
        os.close(ours)
        os.close(theirs)
