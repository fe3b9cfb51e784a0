"""Vim's mode on the screen: the shape of the cursor, the word in the status, and both gone at every end."""

from __future__ import annotations

import signal

import pytest
from command_kit import Cli
from screen_kit import Screen, on_screen

VIM = ("--settings", '{"editor_mode": "vim"}')
BAR, BLOCK, UNDERLINE, OWN = b"\x1b[6 q", b"\x1b[2 q", b"\x1b[4 q", b"\x1b[0 q"


def last_shape(screen: Screen) -> bytes:
    """The shape that was sent last; empty where none ever was."""
    places = {shape: screen.sent.rfind(shape) for shape in (BAR, BLOCK, UNDERLINE, OWN)}
    return max(places, key=lambda shape: places[shape]) if max(places.values()) >= 0 else b""


def test_each_mode_has_its_shape_and_its_word_and_emacs_keys_have_neither(cli: Cli) -> None:
    with on_screen(cli, *VIM) as screen:
        screen.wait("· INSERT ·")
        assert last_shape(screen) == BAR
        screen.type("words")
        screen.wait("> words")
        screen.press("esc")
        screen.wait("· NORMAL ·")
        assert last_shape(screen) == BLOCK
        screen.type("0R")
        screen.wait("· REPLACE ·")
        assert last_shape(screen) == UNDERLINE
        screen.press("esc")
        screen.wait("· NORMAL ·")
        screen.type("v")
        screen.wait("· VISUAL ·")
        assert last_shape(screen) == BLOCK
        screen.press("esc")
        screen.wait("· NORMAL ·")
        screen.type("cc/vim")
        screen.wait("> /vim")
        screen.press("enter")
        screen.wait("emacs keys")
        assert "INSERT" not in screen.text and last_shape(screen) == OWN
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert screen.sent.count(OWN) == 1


@pytest.mark.parametrize("end", ["ctrl+d", "term", "hangup"])
def test_the_shape_of_before_is_put_back_at_every_end(cli: Cli, end: str) -> None:
    with on_screen(cli, *VIM) as screen:
        screen.wait("· INSERT ·")
        assert last_shape(screen) == BAR
        if end == "ctrl+d":
            screen.press("ctrl+d")
        else:
            screen.process.send_signal(signal.SIGTERM if end == "term" else signal.SIGHUP)
        screen.ended()
        assert last_shape(screen) == OWN


def test_a_stop_as_a_job_puts_it_back_and_going_on_takes_it_again(cli: Cli) -> None:
    with on_screen(cli, *VIM) as screen:
        screen.wait("· INSERT ·")
        screen.press("ctrl+z")  # no shell is there to let it go on, so that the stop is over at once
        screen.wait(lambda: screen.sent.count(BAR) == 2)
        assert screen.sent.find(BAR) < screen.sent.find(OWN) < screen.sent.rfind(BAR)
        screen.wait("· INSERT ·")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert last_shape(screen) == OWN


def test_neither_emacs_keys_nor_a_terminal_that_would_show_it_are_sent_a_shape(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait(" · ")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert last_shape(screen) == b""
    with on_screen(cli, *VIM, env={"TERM": "vt220"}) as screen:
        screen.wait("· INSERT ·")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert last_shape(screen) == b""
