"""Pastes while something else than the draft is open: each lands where one types, and answers nothing."""

from __future__ import annotations

from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire


def paste(screen: Screen, text: str) -> None:
    screen.type(f"\x1b[200~{text}\x1b[201~")


def closed(screen: Screen, *keys: str, words: str) -> None:
    screen.press(*keys)
    screen.wait(lambda: words not in screen.text)


def command(screen: Screen, line: str, words: str) -> None:
    screen.type(line)
    screen.wait(f"> {line}")
    screen.press("enter")
    screen.wait(words)


def test_a_paste_lands_in_the_search_of_each_list(cli: Cli) -> None:
    for name in ("apple.txt", "banana.txt"):
        (cli.work / name).write_text("x", encoding="utf-8")
    cli.script(wire.exchange(wire.text("Seen.")), wire.exchange(wire.text("Seen too.")))
    with on_screen(cli) as screen:
        screen.wait(" · ")
        for prompt, answer in (("look q once", "Seen."), ("look twice", "Seen too.")):
            screen.type(prompt)
            screen.wait(f"> {prompt}")
            screen.press("enter")
            screen.wait(lambda answer=answer: answer in screen.text and "esc interrupts" not in screen.text)
        for line, title in (
            ("/rewind", "Back to before which prompt?"),
            ("/resume", "Sessions of this workspace"),
            ("/config", "Settings"),
        ):
            command(screen, line, title)
            paste(screen, "look\x1b[31m\r\nq\x07\tonce")
            screen.wait("/ look q once")
            assert title in screen.text
            closed(screen, "esc", "esc", words=title)
        command(screen, "/config", "changes go to: ")
        paste(screen, "tui.wrap\n")
        screen.wait("1/1")
        closed(screen, "esc", "esc", words="changes go to: ")
        screen.press("ctrl+o")
        screen.wait("Transcript · ")
        screen.type("/")
        paste(screen, "look\ntwice")
        screen.wait("/look twice")
        screen.press("enter", "q")
        screen.wait(lambda: "Transcript · " not in screen.text)
        screen.press("ctrl+r")
        screen.wait("search>")
        paste(screen, "look\x1b[2J\nq")
        screen.wait("search> look q")
        closed(screen, "esc", words="search>")
        screen.type("@")
        screen.wait("banana.txt")
        paste(screen, "apple")
        screen.wait(lambda: "apple.txt" in screen.text and "banana.txt" not in screen.text)
        screen.press("ctrl+c")
        screen.wait(lambda: "@apple" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_a_paste_where_nothing_is_typed_waits_in_the_draft_and_answers_nothing(cli: Cli) -> None:
    file = cli.work / ".caliban" / "settings.local.toml"
    file.parent.mkdir()
    file.write_text('[[permissions.rules]]\npattern = "Bash:rm *"\naction = "deny"\n', encoding="utf-8")
    with on_screen(cli, columns=120) as screen:
        screen.wait(" · ")
        command(screen, "/help", "q closes")
        paste(screen, "q\rvgo on")
        screen.wait("pasted into the prompt")
        assert "q closes" in screen.text
        closed(screen, "q", words="q closes")
        screen.wait("vgo on")
        screen.press("ctrl+c")
        screen.wait(lambda: "vgo on" not in screen.text)
        command(screen, "/permissions", "deny  Bash:rm *")
        screen.press("d")
        screen.wait("Delete deny Bash:rm * from ")
        screen.press("down")
        paste(screen, "yes\r\r")
        screen.wait("pasted into the prompt")
        assert "Delete deny" in screen.text
        closed(screen, "esc", words="Delete deny")
        assert "rm *" in file.read_text(encoding="utf-8")
        screen.press("ctrl+c")
        screen.press("ctrl+d")
        assert screen.ended() == 0
