"""A picture on a terminal that answers that it draws sixels, through the real command."""

from __future__ import annotations

from io import BytesIO

import pytest
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

PIL = pytest.importorskip("PIL.Image")


def test_a_terminal_that_says_so_is_sent_sixels_and_the_picture_is_named(cli: Cli) -> None:
    out = BytesIO()
    PIL.new("RGB", (40, 40), (255, 0, 0)).save(out, "PNG")
    (cli.work / "red.png").write_bytes(out.getvalue())
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "red.png"})), wire.exchange(wire.text("It is red."))
    )
    with on_screen(cli) as screen:
        screen.wait(" · ")
        screen.type("\x1b[?62;4;22c")
        screen.type("look")
        screen.wait("> look")
        screen.press("enter")
        screen.wait("It is red.")
        assert "[image: image/png, 40×40" in screen.text
        start = screen.sent.find(b'\x1bP0;1;0q"1;1;')
        assert start > 0
        sequence = bytes(screen.sent[start : screen.sent.find(b"\x1b\\", start)])
        assert b"#0;2;100;0;0#0!" in sequence  # one colour, in runs
        screen.press("ctrl+d")
        assert screen.ended() == 0
