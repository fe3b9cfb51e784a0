"""A comment for a rule that is kept from a question, through the real command."""

from __future__ import annotations

import tomllib

from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

COMMENT = "yes, e and c: \"tests\" = 'mine' \\d"
READY = "tab no, with a reason"


def test_what_is_said_of_a_rule_is_kept_beside_it_and_shown_again(cli: Cli) -> None:
    call = wire.exchange(wire.tool_use("Bash", {"command": "touch one"}))
    cli.script(call, wire.exchange(wire.text("Done.")))
    with on_screen(cli, columns=120, rows=40) as screen:
        screen.wait(" · ")
        screen.type("go")
        screen.wait("> go")
        screen.press("enter")
        screen.wait(READY)
        screen.press("Y")
        screen.wait("c comment")
        screen.press("c")
        screen.wait("what the rule is for:")
        screen.type("\x1b[200~thrown\naway\x1b[201~")
        screen.wait("> thrown away")
        screen.type(f"\x1b[200~{'x' * 200}\x1b[201~")
        screen.wait("a comment has at most 200 characters")
        screen.press("esc")
        screen.wait("c comment")
        assert "thrown" not in screen.text
        screen.press("c")
        screen.wait("what the rule is for:")
        screen.type(f"{COMMENT}!\x7f")
        screen.wait(f"> {COMMENT}")
        screen.press("enter")
        screen.wait(f"# {COMMENT}")
        screen.press("down", "down", "enter")
        screen.wait("Done.")
        text = (cli.work / ".caliban" / "settings.local.toml").read_text(encoding="utf-8")
        (rule,) = tomllib.loads(text)["permissions"]["rules"]
        assert rule == {"pattern": "Bash:touch one", "action": "allow", "comment": COMMENT}
        screen.type("/permissions")
        screen.wait("/permissions")
        screen.press("enter")
        assert f"# {COMMENT}" in screen.wait("allow Bash:touch one")
        screen.press("q")
        screen.wait(lambda: "next mode" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert COMMENT in cli.run("perms", "list").out
    assert COMMENT in cli.run("-p", "/permissions", "--trust-project").out
