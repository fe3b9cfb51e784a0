"""What terminals answer, and what they are asked."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.terminal.caps import TerminalCaps, answered, queries, reflows
from caliban_tui.theme.colour import Rgb


@pytest.mark.parametrize(
    ("sequence", "caps"),
    [
        (b"\x1b[?62;4;22c", TerminalCaps(attributes=(62, 4, 22))),
        (b"\x1b[?6c", TerminalCaps(attributes=(6,))),
        (b"\x1b[?;;c", TerminalCaps(attributes=(0,))),
        (b"\x1b]10;rgb:ffff/ffff/ffff\x07", TerminalCaps(foreground=Rgb(255, 255, 255))),
        (b"\x1b]11;rgb:1e1e/1E1E/2020\x1b\\", TerminalCaps(background=Rgb(30, 30, 32))),
        (b"\x1b]11;rgba:f/0/8/f\x07", TerminalCaps(background=Rgb(255, 0, 136))),
        (b"\x1b]11;nonsense\x07", TerminalCaps()),
        (b"\x1b[?2026;2$y", TerminalCaps(synchronised=True)),
        (b"\x1b[?2026;0$y", TerminalCaps()),
        (b"\x1b[?2026;4$y", TerminalCaps()),
        (b"\x1b[?1004;1$y", TerminalCaps()),
        (b"\x1b[?0u", TerminalCaps(kitty_keys=True)),
        (b"\x1b_Gi=31;OK\x1b\\", TerminalCaps(kitty_graphics=True)),
        (b"\x1b_Gi=31;ENOTSUPPORTED:no\x1b\\", TerminalCaps()),
        (b"\x1b[12;40R", TerminalCaps()),
    ],
)
def test_an_answer(sequence: bytes, caps: TerminalCaps) -> None:
    assert answered(TerminalCaps(), sequence) == caps
    for cut in range(1, len(sequence)):
        assert answered(TerminalCaps(), sequence[:cut]) is None


@pytest.mark.parametrize(
    "key", [b"a", b"\x1b", b"\x1b[A", b"\x1b[1;5C", b"\x1b[97;5u", b"\x1b[200~", b"\x1bOP", b""]
)
def test_a_key_is_no_answer(key: bytes) -> None:
    assert answered(TerminalCaps(), key) is None


@given(st.binary(max_size=80))
def test_garbage_is_no_answer_and_does_no_harm(data: bytes) -> None:
    for sequence in (data, b"\x1b[?" + data, b"\x1b]11;" + data + b"\x07", b"\x1b_Gi=31;" + data + b"\x1b\\"):
        caps = answered(TerminalCaps(), sequence)
        assert caps is None or isinstance(caps, TerminalCaps)


def test_everything_is_known_once_the_last_question_is_answered() -> None:
    assert queries({"TERM": "xterm-256color"}).endswith(b"\x1b[c")
    assert TerminalCaps(attributes=(1,)).is_complete
    assert not TerminalCaps(kitty_keys=True).is_complete
    assert TerminalCaps(attributes=(62, 4)).sixel


@pytest.mark.parametrize(
    ("env", "asks_images"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "screen-256color", "TMUX": "/tmp/x,1,0"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
    ],
)
def test_a_terminal_is_not_asked_what_it_would_show(env: dict[str, str], asks_images: bool) -> None:
    assert (b"\x1b_G" in queries(env)) is asks_images
    assert queries({"TERM": "linux"}) == queries({"TERM": "dumb"}) == queries({}) == b""
    screen = pyte.Screen(20, 2)
    pyte.ByteStream(screen).feed(queries({**env, "TMUX": "x"}))
    assert "".join(screen.display).strip() == ""


def test_which_terminals_wrap_their_lines_anew() -> None:
    assert reflows({"TERM": "xterm-256color"})
    assert reflows({"TERM": "screen", "TMUX": "x"})
    assert not reflows({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"})
    assert not reflows({"TERM": "linux"})
