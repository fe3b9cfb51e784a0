"""The keys that take more than a draft: what waits and works, the clipboard, history, the whole screen."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from command_kit import Cli
from media_kit import plain
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

READY = "anthropic/"
BUSY = "esc interrupts"


def until_there(name: str) -> wire.WireBlock:
    """A call that works until a file is there."""
    return wire.tool_use("Bash", {"command": f"until [ -e {name} ]; do sleep 0.02; done; echo seen"})


def prompts(cli: Cli) -> list[str]:
    """The words that each request ends with, without results of calls."""
    last = [body["messages"][-1]["content"] for body in cli.bodies()]
    return ["".join(part.get("text", "") for part in content) for content in last]


def leave(screen: Screen) -> None:
    screen.wait(lambda: BUSY not in screen.text)
    screen.press("ctrl+d")
    assert screen.ended() == 0


def test_what_waits_is_taken_back_and_one_esc_stops_neither_work_nor_draft(cli: Cli) -> None:
    answers = ("The first is done.", "The second is done.", "The third is done.")
    cli.script(wire.exchange(until_there("go")), *(wire.exchange(wire.text(answer)) for answer in answers))
    with on_screen(cli, "--allow", "Bash") as screen:
        screen.wait(READY)
        screen.type("first")
        screen.press("enter")
        screen.wait("○ Bash until")
        for words in ("second", "third"):
            screen.type(words)
            screen.wait(f"> {words}")
            screen.press("tab")
            screen.wait(f"… {words}")
        screen.press("alt+up")
        screen.wait(lambda: "> third" in screen.lines and "… third" not in screen.lines)
        assert "… second" in screen.lines
        screen.press("esc")
        screen.wait("esc again interrupts")
        (cli.work / "go").touch()
        screen.wait("The second is done.")
        assert "> third" in screen.lines
        screen.wait(lambda: BUSY not in screen.text)
        screen.press("enter")
        screen.wait("The third is done.")
        leave(screen)
        assert prompts(cli)[0] == "first"
        assert prompts(cli)[2:] == ["second", "third"]
        assert "seen" in json.dumps(cli.bodies()[1])


def test_interrupting_keeps_draft_and_queue_and_ctrl_c_never_leaves_what_is_at_work(cli: Cli) -> None:
    cli.script(
        wire.exchange(until_there("never")),
        wire.exchange(until_there("never")),
        wire.exchange(wire.text("All is well.")),
    )
    with on_screen(cli, "--allow", "Bash") as screen:
        screen.wait(READY)
        screen.type("first")
        screen.press("enter")
        screen.wait("○ Bash until")
        screen.type("queued words")
        screen.wait("> queued words")
        screen.press("tab")
        screen.wait("… queued words")
        screen.type("half a draft")
        screen.wait("> half a draft")
        screen.press("esc", "esc")
        screen.wait("interrupted")
        screen.wait("> queued words\n  half a draft")
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.wait(lambda: BUSY not in screen.text)
        screen.type("again")
        screen.press("enter")
        screen.wait("○ Bash until")
        screen.type("a thought")
        screen.wait("> a thought")
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        assert BUSY in screen.text, "a key that clears the draft has interrupted the work"
        screen.type("\x03\x03\x03")
        screen.wait(lambda: "\n".join(screen.scrollback).count("interrupted") >= 2)
        screen.wait(lambda: BUSY not in screen.text)
        screen.press("up")
        screen.wait("> a thought")
        screen.press("enter")
        screen.wait("All is well.")
        leave(screen)
    assert prompts(cli)[-1].endswith("a thought")


def test_esc_twice_in_an_empty_box_goes_back_to_a_prompt_and_not_with_a_draft(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("First answer.")), wire.exchange(wire.text("Second answer.")))
    with on_screen(cli) as screen:
        screen.wait(READY)
        screen.type("the first one")
        screen.press("enter")
        screen.wait("First answer.")
        screen.wait(lambda: BUSY not in screen.text)
        screen.type("words")
        screen.wait("> words")
        screen.type("\x1b[27u\x1b[27u!")
        screen.wait("> words!")
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.press("esc", "esc")
        screen.wait("Back to before which prompt?")
        screen.press("enter")
        screen.wait("files and conversation")
        screen.press("enter")
        screen.wait("back to before prompt 1")
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.type("the other one")
        screen.press("enter")
        screen.wait("Second answer.")
        leave(screen)
    assert "the first one" not in json.dumps(cli.bodies()[-1]["messages"])


def program(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_clipboard_gives_text_and_images_through_whatever_program_is_there(cli: Cli) -> None:
    folder = cli.work.parent / "programs"
    folder.mkdir()
    image, copied = folder / "image.png", folder / "copied"
    image.write_bytes(plain(8, 8)[:-20])
    dropped = folder / "dropped.png"
    dropped.write_bytes(plain(9, 9))
    state = folder / "kind"
    state.write_text("text/plain")
    wayland = program(
        folder,
        "wl-paste",
        f'case "$*" in *list-types*) exec /bin/cat {state};; *image/png*) exec /bin/cat {image};; esac\n'
        "printf 'from wayland\\r\\nin two lines'",
    )
    program(folder, "wl-copy", f"exec /bin/cat > {copied}")
    x11 = program(
        folder,
        "xclip",
        f'case "$*" in *TARGETS*) exec /bin/cat {state};; *image/png*) exec /bin/cat {image};; esac\n'
        f'case "$*" in *-in*) exec /bin/cat > {copied};; esac\nprintf "from x11"',
    )
    cli.script(wire.exchange(wire.text("A **fine** picture.")), wire.exchange(wire.text("Two.")))
    env = {"PATH": str(folder), "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
    with on_screen(cli, env=env, columns=120) as screen:
        screen.wait(READY)
        screen.press("ctrl+v")
        screen.wait("> from wayland\n  in two lines")
        state.write_text("TARGETS\nimage/png\n")
        screen.type(" see ")
        screen.press("ctrl+v")
        screen.wait(".png")
        screen.press("enter")
        screen.wait("the image is cut off")
        screen.wait("> from wayland\n  in two lines see")  # what cannot be sent is in the box again
        (pasted,) = (cli.home / ".cache" / "caliban" / "pasted").iterdir()
        assert pasted.stat().st_mode & 0o777 == 0o600
        pasted.write_bytes(plain(8, 8))
        screen.press("enter")
        screen.wait("A fine picture.")
        screen.wait(lambda: BUSY not in screen.text)
        screen.type("/copy")
        screen.press("enter")
        screen.wait("copied: 19 characters")
        screen.wait(copied.exists)
        assert copied.read_text() == "A **fine** picture."
        assert b"\x1b]52;c;QSAqKmZpbmUqKiBwaWN0dXJlLg==\x07" in screen.sent
        copied.unlink()
        wayland.unlink()
        state.write_text("STRING")
        screen.press("ctrl+v")
        screen.wait("> from x11")
        screen.type(
            f"\x1b[200~{dropped}\x1b[201~"
        )  # dropped on the terminal, from a folder that is not at work
        screen.wait(lambda: ".png" in screen.text.rpartition("> from x11")[2])
        screen.press("enter")
        screen.wait("Two.")
        screen.wait(lambda: BUSY not in screen.text)
        screen.type("/copy 2")
        screen.press("enter")
        screen.wait(lambda: copied.exists() and copied.read_text() == "A **fine** picture.")
        program(folder, "xclip", "exit 1")
        screen.press("ctrl+v")
        screen.wait("the clipboard is empty")
        x11.unlink()
        screen.press("ctrl+v")
        screen.wait("no program that reads the clipboard is there")
        leave(screen)
    for body, words in zip(cli.bodies(), ("from wayland\nin two lines see", "from x11"), strict=True):
        parts = body["messages"][-1]["content"]
        assert [part["source"]["media_type"] for part in parts if part["type"] == "image"] == ["image/png"]
        assert parts[0]["text"].startswith(words)


def test_menus_and_the_search_take_each_of_their_keys(cli: Cli) -> None:
    (cli.work / "one.txt").touch()
    (cli.work / "one.md").touch()
    with on_screen(cli) as screen:
        screen.wait(READY)
        for words in ("alpha one", "alpha two", "beta"):
            screen.type(words)
            screen.wait(f"> {words}")
            screen.press("ctrl+c")
            screen.wait(lambda: ">" in screen.lines)
        screen.type("kept")
        screen.wait("> kept")
        for cancel in ("esc", "ctrl+c"):
            screen.press("ctrl+r")
            screen.wait("history of this session")
            screen.type("alp")
            screen.wait("1 of 2")
            screen.press(cancel)
            screen.wait(lambda: "history of this session" not in screen.text)
            assert "> kept" in screen.lines
        screen.press("ctrl+r")
        screen.wait("history of this session")
        screen.type("alp")
        screen.wait("1 of 2")
        for key, place in (("ctrl+r", "2 of 2"), ("down", "1 of 2"), ("up", "2 of 2")):
            screen.press(key)
            screen.wait(place)
        screen.press("tab")
        screen.wait(lambda: "> alpha one" in screen.lines)
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.type("see @one")
        screen.wait(lambda: "› one.md" in screen.text or "› one.txt" in screen.text)
        chosen = re.search("› (one[.a-z]*)", screen.text)
        assert chosen is not None
        other = "one.md" if chosen[1] == "one.txt" else "one.txt"
        screen.press("ctrl+n")
        screen.wait(f"› {other}")
        screen.press("ctrl+p")
        screen.wait(f"› {chosen[1]}")
        screen.press("down")
        screen.wait(f"› {other}")
        screen.press("tab")
        screen.wait(f"> see @{other}")
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        leave(screen)


def numbered(word: str, count: int) -> wire.WireBlock:
    return wire.text("\n\n".join(f"{word} {number}." for number in range(count)))


def seen(screen: Screen) -> list[str]:
    """The numbers of the paragraphs on the screen."""
    return re.findall(r"^(?:First|Second) \d+\.", screen.text, re.MULTILINE)


def test_the_whole_screen_scrolls_by_key_and_wheel_and_stays_where_one_reads(cli: Cli) -> None:
    cli.configure('[tui]\npainter = "full"\nmouse = true\n')
    cli.script(
        wire.exchange(numbered("First", 60)),
        wire.exchange(
            until_there("go"),
        ),
        wire.exchange(numbered("Second", 60)),
    )
    with on_screen(cli, "--allow", "Bash") as screen:
        screen.wait(READY)
        screen.wait(lambda: b"\x1b[?1006h" in screen.sent)
        screen.type("count")
        screen.press("enter")
        screen.wait("First 59.")
        screen.wait(lambda: BUSY not in screen.text)
        screen.type("wait")
        screen.press("enter")
        screen.wait("○ Bash until")
        screen.press("pageup")
        screen.wait(lambda: "First 59." not in screen.text)
        above = seen(screen)
        screen.type("\x1b[<64;10;10M")
        screen.wait(lambda: seen(screen)[:1] != above[:1])
        screen.type("\x1b[<65;10;10M")
        screen.wait(lambda: seen(screen) == above)
        (cli.work / "go").touch()
        screen.wait(lambda: BUSY not in screen.text)
        assert seen(screen)[0] == above[0], "what comes has moved what is read"
        for _ in range(20):
            if "Second 59." in screen.text:
                break
            before = screen.text
            screen.press("pagedown")
            screen.wait(lambda before=before: screen.text != before)
        assert "Second 59." in screen.text
        leave(screen)


def test_a_prompt_is_seen_also_by_who_has_scrolled_up(cli: Cli) -> None:
    cli.configure('[tui]\npainter = "full"\n')
    cli.script(wire.exchange(numbered("First", 60)), wire.exchange(wire.text("The end.")))
    with on_screen(cli) as screen:
        screen.wait(READY)
        screen.type("count")
        screen.press("enter")
        screen.wait("First 59.")
        screen.wait(lambda: BUSY not in screen.text)
        screen.press("pageup")
        screen.wait(lambda: "First 59." not in screen.text)
        screen.type("go on")
        screen.press("enter")
        screen.wait("The end.")
        assert b"\x1b[?1000h" not in screen.sent
        leave(screen)


def test_page_keys_open_the_viewer_where_the_terminal_scrolls(cli: Cli) -> None:
    cli.script(wire.exchange(numbered("First", 60)))
    with on_screen(cli) as screen:
        screen.wait(READY)
        screen.type("count")
        screen.press("enter")
        screen.wait("First 59.")
        screen.wait(lambda: BUSY not in screen.text)
        for key in ("pageup", "pagedown"):
            screen.press(key)
            screen.wait("Transcript · ")
            before = screen.text
            screen.press("pageup")
            screen.wait(lambda before=before: screen.text != before)
            screen.press("pagedown")
            screen.wait(lambda before=before: screen.text == before)
            screen.press("esc")
            screen.wait(lambda: "Transcript · " not in screen.text)
        leave(screen)


def test_alt_o_goes_through_three_levels_of_what_tools_say(cli: Cli) -> None:
    call = wire.tool_use("Bash", {"command": "seq 40 | sed 's/^/row /'"})
    for number in range(3):
        cli.script(wire.exchange(call), wire.exchange(wire.text(f"Shown {number}.")))
    rows = []
    with on_screen(cli, "--allow", "Bash", rows=30) as screen:
        screen.wait(READY)
        for number, level in enumerate(("whole", "in a line", "in short")):
            screen.press("alt+o")
            screen.wait(f"what tools say is shown {level}")
            screen.type("show")
            screen.press("enter")
            screen.wait(f"Shown {number}.")
            screen.wait(lambda: BUSY not in screen.text)
            rows.append(sum(line.strip().startswith("row ") for line in screen.scrollback))
        leave(screen)
    whole, line, short = rows[0], rows[1] - rows[0], rows[2] - rows[1]
    assert whole == 40
    assert line == 0
    assert 0 < short < 40
