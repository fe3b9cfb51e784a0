"""The draft of `caliban` on a terminal: its menus, its history, pastes, an editor."""

from __future__ import annotations

from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire


def test_commands_and_files_are_offered_below_the_draft(cli: Cli) -> None:
    (cli.work / "notes for you.txt").write_text("remember the milk")
    (cli.work / "src").mkdir()
    (cli.work / "src" / "painter.py").write_text("x = 1\n")
    cli.script(wire.exchange(wire.text("Read.")))
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.type("/")
        screen.wait("Session")
        screen.type("comp")
        screen.wait("› /compact")
        screen.press("esc")
        screen.wait(lambda: "› /compact" not in screen.text)
        screen.press("ctrl+u")
        screen.type("see @pain")
        screen.wait("› src/painter.py")
        screen.press("tab")
        screen.wait("> see @src/painter.py")
        screen.type("and @not")
        screen.wait("› notes for you.txt")
        screen.press("enter")
        screen.wait('and @"notes for you.txt"')
        screen.press("enter")
        screen.wait("Read.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    sent = str(cli.bodies()[-1])
    assert "x = 1" in sent
    assert "remember the milk" in sent


def test_what_was_typed_comes_back_in_the_next_run_and_is_searched(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("First.")), wire.exchange(wire.text("Second.")))
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.type("look at the painter\r")
        screen.wait("First.")
        screen.type(" a secret")
        screen.wait("a secret")
        screen.press("ctrl+c")
        screen.wait(lambda: "secret" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    kept = next((cli.home / ".local" / "state" / "caliban" / "history").glob("*.jsonl"))
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "secret" not in kept.read_text()
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.wait(lambda: _recalled(screen))
        screen.press("ctrl+u")
        screen.press("ctrl+r")
        screen.wait("history of this session: nothing")
        screen.type("paint")
        screen.press("ctrl+s")
        screen.wait("history of this project: 1 of 1")
        screen.press("enter")
        screen.wait("> look at the painter")
        screen.press("enter")
        screen.wait("Second.")
        screen.press("ctrl+d")
        assert screen.ended() == 0


def _recalled(screen: Screen) -> bool:
    """Press Up until the history has been read."""
    screen.press("up")
    return "> look at the painter" in screen.text


def test_a_prompt_is_written_in_an_editor_and_a_missing_one_is_told(cli: Cli) -> None:
    script = cli.work / "ed.sh"
    script.write_text('#!/bin/sh\necho "$1" >&2\nprintf "%s in the editor\\n" "$(cat "$2")" > "$2"\n')
    script.chmod(0o755)
    cli.script(wire.exchange(wire.text("Done.")))
    with on_screen(cli, env={"EDITOR": f"{script} --wait", "VISUAL": ""}) as screen:
        screen.wait("anthropic/")
        screen.type("written")
        screen.wait("> written")
        screen.press("ctrl+g")
        screen.wait("> written in the editor")
        assert "--wait" in screen.text
        script.unlink()
        screen.press("ctrl+x", "ctrl+e")
        screen.wait("cannot be started")
        screen.wait("> written in the editor")
        screen.press("enter")
        screen.wait("Done.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "written in the editor" in str(cli.bodies()[-1])


def test_a_large_paste_is_one_line_on_the_screen_and_whole_for_the_model(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Seen.")))
    with on_screen(cli, columns=40) as screen:
        screen.wait("anthropic/")
        screen.type("\x1b[200~" + "one line of many\r" * 5000 + "the last\x1b[201~")
        screen.wait("> [pasted text #1, 5,001 lines]")
        screen.press("enter")
        screen.wait("Seen.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "one line of many\\nthe last" in str(cli.bodies()[-1])


def test_keys_of_a_persons_own_are_used_and_bad_ones_are_told(cli: Cli) -> None:
    cli.configure('[tui.keys]\nsend = ["f5"]\nnewline = ["enter"]\n')
    cli.script(wire.exchange(wire.text("Sent.")))
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.type("one\rtwo")
        screen.wait("  two")
        screen.type("\x1b[15~")
        screen.wait("Sent.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    cli.configure('[tui.keys]\nviewer = ["ctrl+r"]\n')
    with on_screen(cli) as screen:
        screen.wait("Ctrl+R does two things")
        screen.press("ctrl+d")
        assert screen.ended() == 0
