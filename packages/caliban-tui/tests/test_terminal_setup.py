"""What is said of a terminal: each that is known by its own words, any garbage by none of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.terminal.caps import UNKNOWN, TerminalCaps
from caliban_tui.terminal.setup import ALWAYS, setup_text

KNOWN = [
    ({"TERM_PROGRAM": "vscode"}, "keybindings.json"),
    ({"TERM_PROGRAM": "iTerm.app"}, "CSI u"),
    ({"TERM_PROGRAM": "WezTerm"}, "enable_kitty_keyboard"),
    ({"TERM": "alacritty"}, "alacritty.toml"),
    ({"WT_SESSION": "1"}, "sendInput"),
    ({"KONSOLE_VERSION": "230400"}, r"Return+Shift: \E\r"),
    ({"XTERM_VERSION": "XTerm(390)"}, "modifyOtherKeys: 1"),
    ({"TERM_PROGRAM": "vscode", "TMUX": "/tmp/x,1,0"}, "extended-keys always"),
    ({"TERM_PROGRAM": "Apple_Terminal"}, "Terminal of macOS cannot tell"),
    ({"TERM": "linux"}, "the Linux console cannot tell"),
    ({"STY": "1.pts", "TERM": "screen"}, "screen cannot tell"),
    ({"TERM": "odd"}, "is not known here"),
    ({}, "`unknown`"),
]


@pytest.mark.parametrize(("env", "words"), KNOWN)
def test_each_terminal_is_told_what_to_set_and_what_works_everywhere(env: dict[str, str], words: str) -> None:
    text = setup_text(env, UNKNOWN)
    assert words in text
    assert text.count(ALWAYS) == 1
    assert "told nothing of itself" in text


@pytest.mark.parametrize("env", [env for env, _ in KNOWN])
def test_one_that_tells_keys_apart_needs_nothing(env: dict[str, str]) -> None:
    text = setup_text(env, TerminalCaps(attributes=(62, 4), kitty_keys=True, synchronised=True), "kitty")
    assert "Nothing needs to be set" in text and "told apart" in text
    assert "pictures: kitty" in text and "whole frames at once: yes" in text
    assert "```" not in text


@given(st.dictionaries(st.sampled_from(["TERM", "TERM_PROGRAM", "STY", "TERMINAL_EMULATOR"]), st.text()))
def test_no_name_of_a_terminal_breaks_out_of_its_place(env: dict[str, str]) -> None:
    text = setup_text(env, UNKNOWN)
    assert text.count(ALWAYS) == 1
    first = text.split("\n")[0]
    assert first.startswith("- terminal: ") and first.count("`") in (0, 2)
