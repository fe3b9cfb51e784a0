"""The views of the terminal interface, through the real command."""

from __future__ import annotations

import json

from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

CLOSES = "q closes"


def say(screen: Screen, text: str, answer: str) -> None:
    screen.type(text)
    screen.wait(f"> {text}")
    screen.press("enter")
    screen.wait(lambda: answer in screen.text and "esc interrupts" not in screen.text)


def command(screen: Screen, line: str) -> None:
    """Type a slash command and run it, whatever a menu offers."""
    screen.type(line)
    screen.wait(line)
    screen.press("enter")


def leave(screen: Screen) -> None:
    screen.press("ctrl+d")
    assert screen.ended() == 0


def test_the_viewer_shows_all_that_the_model_sees_and_dumps_it(cli: Cli) -> None:
    (cli.work / "a.txt").write_text("".join(f"row {n}\n" for n in range(60)), encoding="utf-8")
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "a.txt"})), wire.exchange(wire.text("It has rows."))
    )
    with on_screen(cli) as screen:
        screen.wait(" · ")
        say(screen, "read it", "It has rows.")
        screen.press("ctrl+o")
        screen.wait("Transcript · ")
        screen.type("/row 41")
        screen.press("enter")
        screen.wait("row 41")
        screen.press("[")
        screen.wait("written to the scrollback")
        screen.press("q")
        screen.wait(lambda: "Transcript · " not in screen.text)
        assert any("row 41" in row for row in screen.scrollback)
        screen.press("ctrl+t")
        screen.wait("the list of tasks is empty")
        screen.press("esc")
        screen.wait(lambda: "list of tasks is empty" not in screen.text)
        leave(screen)


def test_a_rule_is_seen_and_deleted_and_another_mode_is_one_key_away(cli: Cli) -> None:
    file = cli.work / ".caliban" / "settings.local.toml"
    file.parent.mkdir()
    rule = '[[permissions.rules]]\npattern = "Bash:{} *"\naction = "deny"\n'
    file.write_text(rule.format("rm") + rule.format("dd"), encoding="utf-8")
    with on_screen(cli, columns=120) as screen:
        screen.wait(" · ")
        command(screen, "/permissions")
        screen.wait("deny  Bash:rm *")
        screen.press("tab")
        screen.wait("mode: acceptEdits")
        screen.press("d")
        screen.wait("Delete deny Bash:rm * from ")
        screen.press("down", "enter")
        screen.wait(lambda: "Delete deny" not in screen.text and "deny  Bash:rm *" not in screen.text)
        assert "rm *" not in file.read_text(encoding="utf-8")
        screen.press("q")
        screen.wait(lambda: "next mode" not in screen.text)
        leave(screen)


def test_one_goes_back_before_a_prompt_with_files_and_conversation(cli: Cli) -> None:
    file = cli.work / "a.txt"
    file.write_text("before\n", encoding="utf-8")
    cli.script(
        wire.exchange(wire.text("First answer.")),
        wire.exchange(wire.tool_use("Read", {"path": "a.txt"})),
        wire.exchange(wire.tool_use("Write", {"path": "a.txt", "content": "after\n"})),
        wire.exchange(wire.text("Second answer.")),
        wire.exchange(wire.text("Third answer.")),
    )
    with on_screen(cli, "--permission-mode", "acceptEdits", rows=30) as screen:
        screen.wait(" · ")
        say(screen, "first", "First answer.")
        say(screen, "second", "Second answer.")
        assert file.read_text(encoding="utf-8") == "after\n"
        command(screen, "/rewind")
        screen.wait("Back to before which prompt?")
        assert screen.text.index("2 second") < screen.text.index("1 first")
        screen.press("enter")
        screen.wait("-after")
        assert "+before" in screen.text
        screen.press("enter")
        screen.wait("back to before prompt 2")
        assert file.read_text(encoding="utf-8") == "before\n"
        say(screen, "third", "Third answer.")
        sent = json.dumps(cli.bodies()[-1]["messages"])
        assert "first" in sent and "third" in sent and "second" not in sent
        leave(screen)


def test_a_session_is_looked_at_renamed_and_gone_on_with(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("The older answer.")), wire.exchange(wire.text("It goes on.")))
    assert cli.run("-p", "the older question").code == 0
    with on_screen(cli) as screen:
        screen.wait(" · ")
        command(screen, "/resume")
        screen.wait("/ search")
        screen.press("down")
        screen.wait("The older answer.")
        screen.press("r")
        screen.wait("Call the older question what?")
        screen.type("Old one")
        screen.press("enter")
        screen.wait("> Old one")
        screen.press("enter")
        screen.wait(lambda: "Sessions of this workspace" not in screen.text)
        say(screen, "go on", "It goes on.")
        assert "the older question" in json.dumps(cli.bodies()[-1]["messages"])
        leave(screen)


def test_commands_in_the_background_are_followed_and_ended(cli: Cli) -> None:
    call = wire.tool_use("Bash", {"command": "echo begun; sleep 600", "background": True})
    cli.script(wire.exchange(call), wire.exchange(wire.text("It runs.")))
    with on_screen(cli, "--allow", "Bash:*", rows=30) as screen:
        screen.wait(" · ")
        say(screen, "start it", "It runs.")
        screen.press("ctrl+b")
        screen.wait("In the background")
        screen.wait(lambda: screen.press("r") or "begun" in screen.text)
        screen.press("enter")
        screen.wait("esc back")
        screen.press("esc")
        screen.wait("x end it")
        screen.press("x")
        screen.wait("yes")
        screen.press("down", "enter")
        screen.wait(lambda: screen.press("r") or "killed" in screen.text)
        screen.press("q")
        screen.wait(lambda: "In the background" not in screen.text)
        leave(screen)


def test_all_of_the_transcript_opens_in_the_editor(cli: Cli) -> None:
    seen = cli.work.parent / "seen"
    editor = cli.work.parent / "editor"
    editor.write_text(f"#!/bin/sh\ncp \"$1\" '{seen}'\n", encoding="utf-8")
    editor.chmod(0o755)
    cli.script(wire.exchange(wire.text("A fine answer.")))
    with on_screen(cli, env={"VISUAL": str(editor)}) as screen:
        screen.wait(" · ")
        say(screen, "hello", "A fine answer.")
        screen.press("ctrl+o")
        screen.wait("Transcript · ")
        screen.press("v")
        screen.wait(seen.exists)
        screen.wait("Transcript · ")
        screen.press("q")
        screen.wait(lambda: "Transcript · " not in screen.text)
        leave(screen)
    text = seen.read_text(encoding="utf-8")
    assert "hello" in text and "A fine answer." in text


def test_a_choice_of_a_command_is_picked_from_a_list(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait(" · ")
        command(screen, "/effort")
        screen.wait("type to search")
        screen.type("low")
        screen.wait(lambda: "> low" in screen.text and "high" not in screen.text)
        screen.press("enter")
        screen.wait("/effort low")
        leave(screen)
