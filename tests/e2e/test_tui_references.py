"""Links by name in a reply that streams, through the real command: what is given before leads there."""

from __future__ import annotations

from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

REPLY = """\
[docs]: https://e.org/docs

Read [the manual][docs], then [later][more]; a note[^1].

> a
> > b

- [ ] open
- [x] done

[more]: https://e.org/more
[^1]: said below
"""


def test_a_reply_links_by_names_that_it_gave_and_keeps_the_rest_as_written(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text(REPLY)))
    with on_screen(cli, rows=40) as screen:
        screen.wait(" · ")
        screen.type("go")
        screen.wait("> go")
        screen.press("enter")
        text = screen.wait("[^1]: said below")
        assert "Read the manual (https://e.org/docs), then [later][more]; a note[^1]." in text
        assert "│ │ b" in text and "☐ open" in text and "☑ done" in text
        for address in (b"https://e.org/docs", b"https://e.org/more"):
            assert b"\x1b]8;;" + address in screen.sent
        screen.wait(lambda: "esc interrupts" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0
