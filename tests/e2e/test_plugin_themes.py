"""Themes of plugins on a terminal: by the settings, by `/theme`, completed, and missed when gone."""

from __future__ import annotations

import json

import plugin_kit as kit
from command_kit import Cli
from screen_kit import on_screen
from test_tui_paint import said

from caliban_provider_anthropic.testing import wire

COLOURS = {"COLORTERM": "truecolor"}
OURS, THEIRS = b"38;2;18;52;86", b"38;2;52;86;120"


def themed(cli: Cli) -> None:
    """Install a plugin with four files of themes, one of them no theme, and one of no such kind."""
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "kit", "experimental": {"themes": "./more"}}),
        "themes/dusk.toml": '[roles]\nprompt = "#123456"\n',
        "themes/broken.toml": '[roles]\npromt = "red"\n',
        "themes/README.md": "none",
        "more/dawn.json": json.dumps({"name": "D", "base": "dark", "overrides": {"inactive": "#345678"}}),
    }
    folder = kit.write(cli.work / "kit", files)
    done = cli.run("plugin", "install", "--dir", str(folder), "--yes")
    assert done.code == 0 and "theme kit:dusk: colours of the terminal" in done.out, done.err
    assert "the theme kit:broken cannot be used" in done.out and "did you mean prompt?" in done.out
    assert "README" not in done.out
    done = cli.run("plugin", "validate", str(folder))
    assert (done.code, "the theme kit:broken cannot be used" in done.err) == (1, True)
    assert cli.run("plugin", "info", "kit").json["themes"] == ["kit:broken", "kit:dusk", "kit:dawn"]


def test_a_theme_of_a_plugin_paints_by_the_settings_and_by_name(cli: Cli) -> None:
    cli.configure('[tui]\ntheme = "kit:dusk"\n')
    themed(cli)
    cli.script(wire.exchange(wire.text("Painted.")), wire.exchange(wire.text("Again.")))
    with on_screen(cli, env=COLOURS) as screen:
        screen.wait("claude")
        said(screen, "hello", "Painted.")
        assert OURS in screen.sent and THEIRS not in screen.sent
        screen.type("/theme kit:")
        screen.wait("kit:dawn")
        screen.type("dawn")
        screen.press("enter")
        screen.wait(lambda: THEIRS in screen.sent)
        for name, words in (("broken", "did you mean prompt?"), ("gone", "/theme does not know")):
            screen.type(f"/theme kit:{name}")
            screen.wait(f"/theme kit:{name}")
            screen.press("enter")
            screen.wait(lambda words=words: words in " ".join(screen.text.split()))  # wherever a line ends


def test_a_theme_whose_plugin_is_removed_is_missed_by_name_and_the_default_is_taken(cli: Cli) -> None:
    cli.configure('[tui]\ntheme = "kit:dusk"\n')
    themed(cli)
    assert cli.run("plugin", "remove", "kit").code == 0
    cli.script(wire.exchange(wire.text("Painted.")), wire.exchange(wire.text("ok")))
    with on_screen(cli, env=COLOURS) as screen:
        screen.wait(lambda: "no plugin kit that counts brings it" in " ".join(screen.text.split()))
        said(screen, "hello", "Painted.")
        assert OURS not in screen.sent
    done = cli.run("-p", "hi")  # no screen, no colours: nothing to be missed
    assert (done.code, "theme" in done.err) == (0, False), done.err
