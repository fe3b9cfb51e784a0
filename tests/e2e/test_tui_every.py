"""Every key and every slash command is shown by a test that runs the real command, and so is a new one."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_kit import Cli
from screen_kit import KEYS as PRESSED
from screen_kit import Screen, on_screen

from caliban.slash.table import BUILT_IN, HELP
from caliban_provider_anthropic.testing import wire
from caliban_tui.keys.filter import KeyFilter
from caliban_tui.keys.table import KEYS

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

READY = "anthropic/"
BUSY = "esc interrupts"

SHOWN = {
    "copy": "5 characters are on the clipboard",
    "compact": "there is nothing old enough to compact",
    "undo": "nothing of this conversation was summarised",
    "cost": "From cache",
    "rename Mine": "is shown as 'Mine'",
    "export a.md": "2 messages written to",
    "recap": "A short recap.",
    "btw why": "Just because.",
    "init": "CLAUDE.draft.md is written",
    "review": "Reviewed.",
    "security-review": "No holes.",
    "todos": "the list of tasks is empty",
    "diff": "no file is another one",
    "think": "thinking: as the model likes",
    "login": "/login: a key is not typed where it would be shown",
    "logout": "ANTHROPIC_API_KEY",
    "plan": "plan mode is on",
    "sandbox": "off: commands run with the rights",
    "trust": "nothing in it needs trust",
    "usage": "calls of models alone are counted",
    "system": "Write for a terminal",
    "memory": "notes in",
    "hooks": "no hook counts here",
    "plugins": "there are no plugins",
    "agents": "any task of several steps",
    "skills": "make a git commit",
    "status": "provider: anthropic",
    "doctor": "✓  local",
    "heapdump": "from now on it is noted what takes memory",
    "heapdump stop": "is not noted any more",
    "feedback": "nothing is sent from here",
    "statusline": "there is no command of the status line",
    "view full": "what tools say is shown whole",
    "setup-token": "/setup-token is not part of this version",
    "add-dir": "/add-dir PATH adds one",
    "terminal-setup": "What this terminal needs for Shift+Enter",
    "focus": "what tools say is shown in a line",
    "loop --n=1 --interval=0 say more": "Looped.",
    "clear": "the conversation begins again",
}
"""Commands that print, and words of what each prints."""

VIEWS = {
    "help": "Ctrl+C                       clear the draft, else interrupt, else twice: leave",
    "resume": "Sessions of this workspace",
    "tree": "Sessions of this workspace",
    "rewind": "Back to before which prompt?",
    "tasks": "nothing runs in the background",
    "model": "models of anthropic",
    "effort": "effort of claude",
    "permissions": "tab next mode",
    "mcp": "there are no MCP servers",
    "config": "changes go to: user",
    "context": "the largest messages",
    "output-style": "short answers for a terminal",
    "theme": "light-daltonized",
    "view": "how much is shown",
    "keybindings": "Alt+Up                       take back",
}
"""Commands that open a view, and words in it; Esc closes each."""

AROUND = ("vim", "fork", "tui", "quit")
"""Commands that change the screen itself, or which conversation is on it."""


def run(screen: Screen, line: str) -> None:
    """Type a command and run it, whatever the menu offers."""
    screen.type(f"/{line}")
    screen.wait(f"> /{line}")
    screen.press("enter")


def test_each_command_is_typed_on_the_screen_and_does_what_it_is_for(cli: Cli) -> None:
    models = wire.models("claude-sonnet-4-6", "claude-other-1")  # for the list, and for the doctor
    answers = ("A short recap.", "Just because.", "Reviewed.", "No holes.")
    cli.script(
        wire.exchange(wire.text("Hello")), models, *(wire.exchange(wire.text(words)) for words in answers)
    )
    cli.script(models, *(wire.exchange(wire.text(words)) for words in ("Looped.", "In the copy.")))
    with on_screen(cli, columns=120, rows=50) as screen:
        screen.wait(READY)
        screen.type("first words")
        screen.press("enter")
        screen.wait("Hello")
        for line, words in VIEWS.items():
            screen.wait(lambda: ">" in screen.lines and BUSY not in screen.text)
            run(screen, line)
            screen.wait(words)
            screen.press("esc")
            screen.wait(lambda words=words: words not in screen.text)
        for line, words in SHOWN.items():
            screen.wait(lambda: ">" in screen.lines and BUSY not in screen.text)
            before = "\n".join(screen.scrollback).count(words)
            run(screen, line)
            screen.wait(lambda words=words, n=before: "\n".join(screen.scrollback).count(words) > n)
        screen.wait(lambda: BUSY not in screen.text)
        run(screen, "vim")
        screen.wait("vim keys")
        screen.press("esc")
        screen.wait(lambda: ":" in screen.lines)
        screen.type("i")
        screen.wait(lambda: ">" in screen.lines)
        run(screen, "vim")
        screen.wait("emacs keys")
        run(screen, "tui full")
        screen.wait(lambda: b"\x1b[?1049h" in screen.sent)
        screen.wait(lambda: ">" in screen.lines)
        run(screen, "tui inline")
        screen.wait(lambda: b"\x1b[?1049l" in screen.sent)
        screen.wait(lambda: ">" in screen.lines)
        run(screen, "fork")
        screen.wait(lambda: ">" in screen.lines)
        screen.type("within it")
        screen.press("enter")
        screen.wait("In the copy.")
        screen.wait(lambda: BUSY not in screen.text)
        run(screen, "quit")
        assert screen.ended() == 0
    called = {line.split()[0] for line in (*SHOWN, *VIEWS, *AROUND)}
    assert called == {HELP, *(row.name for row in BUILT_IN)}
    assert [request.method for request in cli.server.requests].count("POST") == len(answers) + 3
    assert len(cli.run("sessions", "list", "--json").out.splitlines()) == 2


SHOWN_BY = {
    "test_tui.py::test_a_prompt_is_typed_and_answered_and_stays_after_the_end": [
        ("draft", "enter"),
        ("empty", "c-d"),
    ],
    "test_tui_complaints.py::test_shift_enter_is_a_new_line_however_a_terminal_tells_it": [
        ("draft", "a-enter"),
        ("draft", "s-enter"),
        ("draft", "c-enter"),
        ("draft", "c-j"),
    ],
    "test_tui_more_keys.py::test_what_waits_is_taken_back_and_one_esc_stops_neither_work_nor_draft": [
        ("draft", "tab"),
        ("draft", "a-up"),
    ],
    "test_tui_more_keys.py::"
    "test_interrupting_keeps_draft_and_queue_and_ctrl_c_never_leaves_what_is_at_work": [
        ("draft", "escape"),
        ("draft", "c-c"),
    ],
    "test_tui_ends.py::test_ctrl_z_stops_it_as_a_job_and_fg_goes_on": [("draft", "c-z")],
    "test_tui_keys.py::test_new_lines_undo_and_answers_of_the_terminal": [("draft", "c-l"), ("draft", "c-_")],
    "test_tui_draft.py::test_what_was_typed_comes_back_in_the_next_run_and_is_searched": [
        ("draft", "c-r"),
        ("search", "c-s"),
        ("search", "enter"),
    ],
    "test_tui_draft.py::test_a_prompt_is_written_in_an_editor_and_a_missing_one_is_told": [
        ("draft", "c-g"),
        ("draft", "c-x c-e"),
    ],
    "test_tui_overlays.py::test_the_viewer_shows_all_that_the_model_sees_and_dumps_it": [
        ("draft", "c-o"),
        ("draft", "c-t"),
    ],
    "test_tui_overlays.py::test_commands_in_the_background_are_followed_and_ended": [("draft", "c-b")],
    "test_tui_more_keys.py::test_alt_o_goes_through_three_levels_of_what_tools_say": [("draft", "a-o")],
    "test_tui_drive.py::test_shift_tab_goes_through_the_modes_and_names_the_latch": [("draft", "s-tab")],
    "test_tui_more_keys.py::test_the_clipboard_gives_text_and_images_through_whatever_program_is_there": [
        ("draft", "c-v")
    ],
    "test_tui_more_keys.py::test_page_keys_open_the_viewer_where_the_terminal_scrolls": [
        ("draft", "pageup"),
        ("draft", "pagedown"),
    ],
    "test_tui_more_keys.py::test_the_whole_screen_scrolls_by_key_and_wheel_and_stays_where_one_reads": [
        ("draft", "scroll-up"),
        ("draft", "scroll-down"),
    ],
    "test_tui_keys.py::test_keys_open_and_close_the_views_that_the_table_names": [("empty", "?")],
    "test_tui_keys.py::test_the_menu_fits_a_narrow_terminal": [("menu", "up"), ("menu", "down")],
    "test_tui_draft.py::test_commands_and_files_are_offered_below_the_draft": [
        ("menu", "tab"),
        ("menu", "enter"),
        ("menu", "escape"),
    ],
    "test_tui_more_keys.py::test_menus_and_the_search_take_each_of_their_keys": [
        ("menu", "c-p"),
        ("menu", "c-n"),
        ("search", "c-r"),
        ("search", "up"),
        ("search", "down"),
        ("search", "tab"),
        ("search", "escape"),
        ("search", "c-c"),
    ],
}
"""Which test shows each key of the table, by its context and its names."""


@cache
def functions_of(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(Path(__file__).with_name(file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def strokes(text: str) -> Iterator[str]:
    """The keys that a word of a test stands for: one by its name, or what it types."""
    if text in PRESSED:
        text = PRESSED[text]
    elif text.startswith(("ctrl+", "C-")) and len(text.removeprefix("ctrl+").removeprefix("C-")) == 1:
        text = chr(ord(text[-1].upper()) & 0x1F)
    filter_ = KeyFilter()
    for stroke in (*filter_.feed(text.encode()), *filter_.flush()):
        yield stroke.name


def test_each_key_is_pressed_by_the_test_that_is_said_to_show_it() -> None:
    claimed = [claim for claims in SHOWN_BY.values() for claim in claims]
    assert sorted(claimed) == sorted({(row.context, " ".join(row.keys)) for row in KEYS})
    missing = []
    for place, claims in SHOWN_BY.items():
        file, _, name = place.partition("::")
        test = functions_of(file)[name]
        words = [node.value for node in ast.walk(test) if isinstance(node, ast.Constant)]
        pressed = " ".join(key for word in words if isinstance(word, str) for key in strokes(word))
        missing += [(place, keys) for _, keys in claims if f" {keys} " not in f" {pressed} "]
    assert missing == []
