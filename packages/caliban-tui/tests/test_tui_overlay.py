"""Overlays and lists as values."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from shots_kit import expect_shot

from caliban_commands.answer import ChoiceRow, ShownChoice, ShownTable
from caliban_tui.line import plain, text_of
from caliban_tui.overlay.overlay import MAX_SEARCH, Choose, Close, Overlay, PartsOverlay, Stay, TextOverlay
from caliban_tui.overlay.picker import (
    InputOverlay,
    PickerKey,
    PickerOverlay,
    PickerRow,
    choice_picker,
    confirmed,
    picker,
)
from caliban_tui.question.visible import broken, visible
from caliban_tui.screen import ScreenSize
from caliban_tui.width import cells, line_cells

SIZE = ScreenSize(80, 12)
ROWS = tuple(
    PickerRow(label=f"session {n}", detail=f"{n} messages", value=str(n), line=f"/resume {n}")
    for n in range(40)
)
TEXT = TextOverlay(title="Help", text="\n".join(f"word {n} and \x1b[2Jmore" for n in range(30)))
TABLE = PartsOverlay(
    title="Servers",
    parts=(
        ShownTable(
            columns=("name", "state", "tools"),
            rows=tuple(
                (f"server-{n}", "connected", "search, fetch and a long list of others") for n in range(6)
            ),
            notes=("one note",),
        ),
    ),
)
LIST = replace(
    picker("Sessions", ROWS, by="slash"),
    keys={"d": PickerKey(help="delete", does=lambda o, row: Stay(confirmed("Delete it?", Close, o)))},
    preview=lambda row: (plain(f"about {row.value}"), plain("its last words")),
)
ALL = [TEXT, TABLE, LIST, picker("Models", ROWS), picker("Nothing", ())]


def press(overlay: Overlay, *keys: str, size: ScreenSize = SIZE):
    """The last step of keys, each on what the one before left."""
    step = Stay(overlay)
    for key in keys:
        assert isinstance(step, Stay), step
        step = step.overlay.key(key, size)
    return step


def seen(overlay: Overlay, size: ScreenSize = SIZE) -> list[str]:
    return [text_of(line) for line in overlay.lines(size)]


@pytest.mark.parametrize("overlay", ALL)
@pytest.mark.parametrize("seed", range(8))
def test_any_keys_at_any_size_leave_something_that_fits(overlay: Overlay, seed: int) -> None:
    keys = random.Random(seed)
    names = [*"sion 12gGnqd/", "up", "down", "pageup", "pagedown", "home", "end", "backspace", "tab", "c-w"]
    for _ in range(100):
        size = ScreenSize(keys.choice([5, 20, 40, 80, 120]), keys.choice([1, 2, 5, 24]))
        lines = overlay.lines(size)
        assert len(lines) <= size.rows
        assert all(line_cells(line) <= size.columns for line in lines)
        assert "\x1b" not in "".join(map(text_of, lines))
        step = overlay.key(keys.choice(names), size)
        if not isinstance(step, Stay):
            return
        overlay = step.overlay


@pytest.mark.parametrize("overlay", ALL)
@pytest.mark.parametrize("key", ["escape", "c-c"])
def test_escape_closes(overlay: Overlay, key: str) -> None:
    assert press(overlay, key) == Close()


@pytest.mark.parametrize("overlay", [TEXT, TABLE, LIST])
def test_q_closes_where_letters_do_not_search(overlay: Overlay) -> None:
    assert press(overlay, "q") == Close()
    assert isinstance(press(picker("Models", ROWS), "q"), Stay)


def test_a_text_is_scrolled_to_its_end_and_back() -> None:
    assert seen(TEXT)[1] == "word 0 and more"
    end = press(TEXT, "G").overlay
    assert seen(end)[-2] == "word 29 and more"
    assert seen(press(end, "g").overlay)[1] == "word 0 and more"
    assert seen(press(TEXT, "pagedown").overlay)[1] == "word 10 and more"


def test_enter_runs_the_line_of_the_row_that_the_search_left() -> None:
    assert press(picker("Models", ROWS), *"sn17", "enter") == Choose("/resume 17")
    assert press(LIST, "/", *"17", "enter") == Choose("/resume 17")
    assert press(LIST, "down", "down", "up", "enter") == Choose("/resume 1")
    assert isinstance(press(picker("Models", ROWS), *"zzz", "enter"), Stay)


def test_a_paste_is_searched_for_in_one_row_and_within_bounds() -> None:
    step = LIST.paste("session\r\n\x1b]0;x\x07 3\u202e9\x1b[2J", SIZE)
    assert isinstance(step, Stay)
    (shown,) = [row for row in seen(step.overlay) if row.startswith("/ ")]
    assert shown.rstrip() == "/ session 39"
    assert press(step.overlay, "enter") == Choose("/resume 39")
    long = LIST.paste("d q\n" * 300_000, SIZE)
    assert isinstance(long, Stay)
    assert isinstance(long.overlay, PickerOverlay)
    assert len(long.overlay.search.text) == MAX_SEARCH
    more = long.overlay.paste("more", SIZE)
    assert isinstance(more, Stay)
    assert isinstance(more.overlay, PickerOverlay)
    assert more.overlay.search.text == long.overlay.search.text
    line = InputOverlay(title="Call it what?", done=Choose, before=LIST)
    named = line.paste("a\nname", SIZE)
    assert isinstance(named, Stay)
    assert press(named.overlay, "enter") == Choose("a name")
    for nothing in (line.paste("x" * 10_001, SIZE), TEXT.paste("q", SIZE), TABLE.paste("q", SIZE)):
        assert nothing is None
    assert confirmed("Delete it?", Close, LIST).paste("yes\n", SIZE) is None


def test_a_low_screen_shows_the_search_and_the_chosen_row_before_a_heading() -> None:
    low = replace(LIST, heading=(plain("one"), plain("two"), plain("three")))
    searched = press(low, "/", *"39").overlay
    assert seen(searched, ScreenSize(40, 4))[1:3] == ["/ 39 ", "> session 39  39 messages"]
    assert seen(searched, ScreenSize(40, 5))[1:4] == ["one", "/ 39 ", "> session 39  39 messages"]


def test_escape_ends_a_search_first_and_letters_are_keys_again() -> None:
    overlay = press(LIST, "/", *"17").overlay
    assert len(overlay.matches) == 1
    again = press(overlay, "escape").overlay
    assert len(again.matches) == len(ROWS)
    assert press(again, "q") == Close()


def test_what_cannot_be_taken_back_asks_and_no_is_chosen() -> None:
    assert press(LIST, "d", "enter") == Stay(LIST)
    assert press(LIST, "d", "down", "enter") == Close()


def test_a_choice_of_a_command_is_a_list_at_its_current_row() -> None:
    choice = ShownChoice(
        title="Theme", rows=tuple(ChoiceRow(label=n, line=f"/theme {n}", is_current=n == "b") for n in "abc")
    )
    assert press(choice_picker(choice), "enter") == Choose("/theme b")


def test_a_search_is_found_by_its_letters_the_likeliest_first() -> None:
    rows = tuple(PickerRow(label=name) for name in ["remodel", "a/model-x", "mxoxdxexl", "other"])
    overlay = press(picker("", rows), *"model").overlay
    assert [overlay.rows[place].label for place in overlay.matches] == ["a/model-x", "remodel", "mxoxdxexl"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_they_look_as_they_did(columns: int) -> None:
    size = ScreenSize(columns, 12)
    shown = [TEXT, TABLE, LIST, press(LIST, "/", *"n 3").overlay, press(LIST, "d").overlay, ALL[-1]]
    text = "\n".join("\n".join(seen(overlay, size)) + "\n==" for overlay in shown)
    expect_shot(__file__, f"overlays-{columns}.txt", text + "\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("a\tb", "a\\tb"),
        ("\x1b[2J\x00\x7f", "\\x1b[2J\\x00\\x7f"),
        ("é \x1b\u202e\u200b\u2028", "é \\x1b<U+202E><U+200B><U+2028>"),
        ("p\u0430ypal", "p\u0430<U+0430>ypal"),
        (
            "\u0441\u043e\u0440\u0443 x",
            "".join(f"{c}<U+{ord(c):04X}>" for c in "\u0441\u043e\u0440\u0443") + " x",
        ),
        ("Привет, мир", "Привет, мир"),
        ("\uff52\uff4d", "\uff52<U+FF52>\uff4d<U+FF4D>"),
        ("\ud800", "<U+D800>"),
        ("👍 中文", "👍 中文"),
    ],
)
def test_nothing_in_a_text_is_hidden_or_looks_like_something_else(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("columns", [1, 2, 3, 10])
@pytest.mark.parametrize("text", ["", "abc" * 9, "中文" * 9, "a\n\nb", "👪" * 5 + "x"])
def test_a_broken_text_is_whole_and_fits(text: str, columns: int) -> None:
    pieces = broken(text, columns)
    assert "".join(pieces) == text.replace("\n", "")
    assert all(cells(piece) <= max(columns, 2) for piece in pieces)
