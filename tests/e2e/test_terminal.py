"""On a terminal nothing that others wrote steers it; a pipe gets the text as it is."""

from __future__ import annotations

import sys

import pytest
from terminal_kit import on_terminal

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

EVIL = "a\x1b]52;c;ZXZpbA==\x07b\x1b]0;t\x07\x1b[21t\x9b5n\u202ec\rd"
SHOWN = r"a\x1b]52;c;ZXZpbA==\x07b\x1b]0;t\x07\x1b[21t\u009b5n\u202ec\x0dd"
HARMLESS = "\n\r\t"


def shown_on_terminal(cli, *args: str) -> str:
    """What a terminal is sent; nothing in it is a control character that does something."""
    text = on_terminal(cli, *args)
    assert not [char for char in text if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"], (
        text
    )
    assert not {"\u202e"}.intersection(text)
    return text


@pytest.mark.parametrize("pieces", [(EVIL,), tuple(EVIL)], ids=["whole", "split"])
def test_a_terminal_is_shown_what_would_steer_it_and_a_pipe_is_not(cli, pieces):
    cli.script(wire.exchange(wire.text(*pieces)), wire.exchange(wire.text(*pieces)))
    assert SHOWN in shown_on_terminal(cli, "-p", "hi")
    assert cli.run("-p", "hi").out == EVIL + "\n"


@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_frames_on_a_terminal_are_harmless_as_well(cli, output):
    cli.script(wire.exchange(wire.text(EVIL)))
    assert r"\u009b5n\u202ec" in shown_on_terminal(cli, "-p", "hi", "--output-format", output)


def test_the_name_of_a_tool_is_short_and_harmless(cli):
    call = wire.tool_use("x" * 1_000_000 + EVIL, {})
    cli.script(wire.exchange(call), wire.exchange(wire.text("ok")))
    assert len(shown_on_terminal(cli, "-p", "hi")) < 2000


@pytest.mark.parametrize(
    "args",
    [
        ("-p", "hi", "--workspace", f"/no{EVIL}"),
        ("-p", "hi", "--settings", f'{{"max_turns": "{EVIL}"}}'),
        ("-p", "hi", f"--no-such-{EVIL}"),
        ("perms", "explain", "Bash", '{"command": "echo \\u001b]52;c;x\\u0007 \\u202e \\u009b5n"}'),
        ("perms", "test", EVIL, "{}"),
    ],
    ids=["workspace", "settings", "flag", "explain", "tool"],
)
def test_errors_and_explanations_are_harmless(cli, args):
    assert shown_on_terminal(cli, *args)
