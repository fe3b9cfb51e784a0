"""What a terminal is shown: no byte that steers it, and nothing lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.terminal import TerminalText, visible

STEERING = {
    "osc52": ("\x1b]52;c;ZXZpbA==\x07", r"\x1b]52;c;ZXZpbA==\x07"),
    "csi": ("\x1b[21t", r"\x1b[21t"),
    "c1": ("\x9b21t\x9d0;x\x9c", r"\u009b21t\u009d0;x\u009c"),
    "bidi": ("a\u202eb\u2066c\u200f", r"a\u202eb\u2066c\u200f"),
    "lone cr": ("safe\rrm -rf", r"safe\x0drm -rf"),
    "crlf": ("a\r\nb\tc\n", "a\r\nb\tc\n"),
    "backspace": ("a\b\x7f\0", r"a\x08\x7f\x00"),
    "tags": ("\U000e0041", r"\udb40\udc41"),
    "words": ("é 追加 👩‍💻 ❤️ می‌خواهم", "é 追加 👩‍💻 ❤️ می‌خواهم"),
}


@pytest.mark.parametrize("name", STEERING)
def test_what_steers_a_terminal_is_shown(name):
    text, shown = STEERING[name]
    assert visible(text) == shown


@given(st.text())
def test_nothing_below_a_blank_is_left_but_lines_and_tabs(text):
    left = visible(text).replace("\r\n", "\n")
    assert not [char for char in left if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]
    assert visible(left) == left


@given(st.lists(st.text("a\r\n\x1b\u202e", max_size=4)))
def test_a_text_in_pieces_is_shown_like_the_whole(pieces):
    stream = TerminalText()
    shown = "".join(map(stream.feed, [*pieces, "."]))
    assert shown == visible("".join(pieces) + ".")


def test_json_stays_json():
    text = json.dumps({"a": "\x1b[m\u202e\x9b\U000e0041"}, ensure_ascii=False)
    assert json.loads(visible(text)) == json.loads(text)
