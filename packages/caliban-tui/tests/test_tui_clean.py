"""Text of others, before it is drawn."""

from __future__ import annotations

import re
import unicodedata

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_tui.clean import in_line, neutral
from caliban_tui.line import StyledText, plain, text_of
from caliban_tui.width import cells, fit, fold_line, line_cells, rows_of, wrap

EVIL = st.text(
    alphabet="ab \n\t\r\x00\x07\x08\x0b\x0c\x18\x1a\x1b[]PX^_\\;:?<=>$ 0123mHJKhlu@~"
    "\x7f\x80\x84\x85\x90\x98\x9b\x9c\x9d\x9e\x9f"
    "\u200b\u200d\u200e\u202e\u2028\u2066\ufeff\ufe0f\U000e0041\ud800\udfff漢é\u0301",
    max_size=60,
)


def is_obeyed(char: str) -> bool:
    """C0, DEL, C1, bidi controls, line separators, surrogates, tags: by Unicode's own classes."""
    joins = "\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd"
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or (
        unicodedata.category(char) == "Cf" and char not in joins
    )


@settings(max_examples=examples(400), deadline=None)
@given(EVIL)
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    shown = neutral(text)
    assert [char for char in shown if is_obeyed(char) and char != "\n"] == []
    assert neutral(shown) == shown
    assert [char for char in in_line(text) if is_obeyed(char)] == []
    shown.encode()


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_every_control_character_goes_and_the_words_around_it_stay(code: int) -> None:
    shown = neutral(f"before{chr(code)}after\nnext")
    assert re.fullmatch(r"before[ \n]*(?:a?fter)\nnext", shown)
    assert neutral(f"before\x1b{chr(code)}\nafter").replace("\n", "") == "beforeafter" or code == 9


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://e.org\x1b\\here\x1b]8;;\x1b\\", "here"),
        ("\x9d52;c;aGk=\x9ctext", "text"),
        ("\x1bP1$r0m\x1b\\text", "text"),
        ("\x1b_Ga=T;AAAA\x1b\\text", "text"),
        ("\x1b]0;a title that never ends\nall of this", "0;a title that never ends\nall of this"),
        ("\x1b[2J\x1b[Hgone?", "gone?"),
        ("\x1b[1;3", ""),
        ("\x1b", ""),
        ("\x1bc\x1b(0text", "text"),
        ("N\x08NA\x08AM\x08ME _\x08a", "NAME a"),
        ("safe\x08\x08\x08\x08rm", "saferm"),
        ("10 %\r20 %\r\nready", "10 %\n20 %\nready"),
        ("a\tb", "a    b"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\ud83d", "\ufffd"),
        ("e" + "\u0301" * 200, "e" + "\u0301" * 16),
        ("👨\u200d👩\u200d👧 ❤\ufe0f", "👨\u200d👩\u200d👧 ❤\ufe0f"),
        ("\x1b[\x1b[31m31mtext", "31mtext"),
    ],
)
def test_what_is_shown_of_a_sequence(text: str, shown: str) -> None:
    assert neutral(text) == shown


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(
        ["\x1b[38;2;1;2;3mx", "\x1b]8;;http://e.org/a\x1b\\x", "\x1bPq#0;2;0;0;0\x1b\\x", "\x9b2Jx"]
    ),
    st.data(),
)
def test_a_sequence_that_is_cut_anywhere_leaves_nothing_to_obey(sequence: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(sequence)))
    for piece in (sequence[:cut], sequence[cut:]):
        assert [char for char in neutral(piece) if is_obeyed(char)] == []


@pytest.mark.parametrize(
    "piece",
    [
        "\x1b]",
        "\x1b[1",
        "\x1bP",
        "a\x08",
        "_\x08",
        "\x90",
        "\u0301",
        "\r",
        "\x1b ",
        "\x1b",
        "x",
        "漢",
        "\x9d0;",
        " ",
    ],
)
def test_megabytes_of_anything_are_read_once(piece: str) -> None:
    # What is not linear does not end at this size.
    text = piece * (2_000_000 // len(piece))
    assert len(neutral(text)) <= len(text)


def test_a_word_of_megabytes_is_wrapped_in_one_go() -> None:
    assert len(wrap("x" * 4_000_000, 80)) == 50_000
    assert len(wrap("漢" * 200_000, 80)) == 5_000
    assert len(wrap("word " * 400_000, 80)) == 25_000


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet="abc  漢é👨\u200d❤\ufe0f\u0301", max_size=60), st.integers(1, 30))
def test_wrapped_lines_fit_and_lose_no_word(text: str, columns: int) -> None:
    lines = wrap(text, columns)
    assert all(cells(line) <= max(columns, 2) for line in lines)
    assert "".join("".join(lines).split(" ")) == "".join(text.split(" "))


def test_blanks_at_the_beginning_of_a_line_stay() -> None:
    assert wrap("    four words of code", 12) == ("    four", "words of", "code")
    assert wrap("  ", 10) == ("  ",)
    assert wrap("", 10) == ("",)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.text(alphabet="ab漢é❤\ufe0f", max_size=20), max_size=4), st.integers(2, 30))
def test_a_line_has_as_many_rows_as_it_is_folded_into(texts: list[str], columns: int) -> None:
    line = tuple(StyledText(text) for text in texts)
    rows = fold_line(line, columns)
    assert len(rows) == rows_of(line, columns)
    assert "".join(map(text_of, rows)) == text_of(line)
    assert all(line_cells(row) <= columns for row in rows)


def test_what_terminals_measure_otherwise_is_cut_before_the_edge() -> None:
    family = "👨\u200d👩\u200d👧"
    assert fit(plain(family * 3), 6) == plain(family)
    assert fit(plain("漢字"), 4) == plain("漢字")
