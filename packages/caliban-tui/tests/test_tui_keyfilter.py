"""The bytes of a terminal as keys, however they come in pieces."""

from __future__ import annotations

import random

import pytest

from caliban_tui.keys.filter import KeyFilter, sequence_names
from caliban_tui.keys.stroke import PASTE, KeyStroke


class Clock:
    """A clock that a test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def strokes(*chunks: bytes, flush: bool = True) -> tuple[list[KeyStroke], list[bytes]]:
    """The strokes and the answers of a terminal that sends `chunks`."""
    answers: list[bytes] = []
    keys = KeyFilter(answers.append)
    pressed = [stroke for chunk in chunks for stroke in keys.feed(chunk)]
    return pressed + (keys.flush() if flush else []), answers


def names(*chunks: bytes) -> list[str]:
    """The names of the keys."""
    return [stroke.name for stroke in strokes(*chunks)[0]]


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"a", "a"),
        ("ä".encode(), "ä"),
        ("👩‍👩‍👧".encode()[:4], "👩"),
        (b"\r", "enter"),
        (b"\n", "c-j"),
        (b"\t", "tab"),
        (b"\x7f", "backspace"),
        (b"\x08", "backspace"),
        (b"\x03", "c-c"),
        (b"\x1f", "c-_"),
        (b"\x00", "c-space"),
        (b"\x1b", "escape"),
        (b"\x1b[A", "up"),
        (b"\x1bOA", "up"),
        (b"\x1b[[A", "f1"),
        (b"\x1bOP", "f1"),
        (b"\x1b[Z", "s-tab"),
        (b"\x1b[1;5D", "c-left"),
        (b"\x1b[1;3A", "a-up"),
        (b"\x1b\x1b[A", "a-up"),
        (b"\x1b\r", "a-enter"),
        (b"\x1bo", "a-o"),
        (b"\x1bO", "a-O"),
        (b"\x1b]", "a-]"),
        ("\x1bä".encode(), "a-ä"),
        (b"\x1b[13;2u", "s-enter"),
        (b"\x1b[13;2:1u", "s-enter"),
        (b"\x1b[27;2;13~", "s-enter"),
        (b"\x1b[13u", "enter"),
        (b"\x1b[57414u", "enter"),
        (b"\x1b[13;5u", "c-enter"),
        (b"\x1b[13;3u", "a-enter"),
        (b"\x1b[99;5u", "c-c"),
        (b"\x1b[27;5;99~", "c-c"),
        (b"\x1b[99;69u", "c-c"),
        (b"\x1b[105;5u", "tab"),
        (b"\x1b[91;5u", "escape"),
        (b"\x1b[27u", "escape"),
        (b"\x1b[9;2u", "s-tab"),
        (b"\x1b[127;5u", "a-backspace"),
        (b"\x1b[32;2u", " "),
        (b"\x1b[97:65;2u", "A"),
        (b"\x1b[228;2u", "Ä"),
        (b"\x1b[57400u", "1"),
        (b"\x1b[1;129A", "up"),
        (b"\x1b[3;129~", "delete"),
        (b"\x1b[1;133C", "c-right"),
        (b"\x1b[<64;10;10M", "scroll-up"),
        (b"\x1b[<65;10;10M", "scroll-down"),
    ],
)
def test_a_sequence_is_the_key_that_it_stands_for(data: bytes, key: str) -> None:
    assert names(data) == [key]
    assert names(*(bytes([byte]) for byte in data)) == [key]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[I",
        b"\x1b[O",
        b"\x1b]10;rgb:ffff/ffff/ffff\x07",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1b[?62;1;4c",
        b"\x1b[>41;354;0c",
        b"\x1b[?2026;2$y",
        b"\x1b[?1u",
        b"\x1b[24;80R",
        b"\x1b[8;24;80t",
        b"\x1b[?997;1n",
        b"\x1b_Gi=31;OK\x1b\\",
        b"\x1bP1+r544e=787465726d\x1b\\",
    ],
)
def test_an_answer_is_told_whole_and_never_typed(data: bytes) -> None:
    assert strokes(data) == ([], [data])
    assert strokes(*(bytes([byte]) for byte in data)) == ([], [data])


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[99;5:3u",
        b"\x1b[1;1:3A",
        b"\x1b[57441;2u",
        b"\x1b[97;9u",
        b"\x1b[1114112u",
        b"\x1b[55296u",
        b"\x1b[99999999999999999999u",
        b"\x1b[<0;10;10M",
        b"\x1b[M !!",
        b"\x1b[12;34",
        b"\x1b[",
        b"\x1b]11;rgb:",
        b"\x1b[999z",
        b"\x1b[[Q",
        b"\x1b[?",
        b"\xff\xfe",
        b"\xc2\x9b",
        b"\x1b[" + b"1" * 300 + b"u",
    ],
)
def test_what_is_no_key_is_dropped(data: bytes) -> None:
    assert strokes(data)[0] == []


def test_a_key_behind_a_sequence_that_breaks_off_is_a_key() -> None:
    assert names(b"\x1b[12\rx") == ["enter", "x"]
    assert names(b"\x1b]11;rgb\x1b[A") == ["up"]
    assert names(b"\x1b\x1b") == ["escape", "escape"]
    assert names(b"\x1b\x1bx") == ["escape", "a-x"]


def test_an_escape_waits_for_what_may_follow_it() -> None:
    keys = KeyFilter()
    assert keys.feed(b"\x1b") == []
    assert keys.flush() == [KeyStroke("escape")]
    assert keys.flush() == []
    assert keys.feed(b"[A") == [KeyStroke("["), KeyStroke("A")]


PIECES = (
    "aé漢👩‍👩‍👧 ".encode(),
    b"\r\x03\x1b[A\x1b[1;3A\x1b\x1b[B",
    b"\x1b[13;2u\x1b[27;2;13~\x1b[99;5u",
    b"\x1b[I\x1b]11;rgb:00/00/00\x07\x1b[?62c",
    b"\x1b[200~pasted\r\ntext \x1b[31m\x1b[201~",
    b"\x1b[99999z\x1b[12\x18",
)


def test_any_chunking_gives_the_same_strokes_and_answers() -> None:
    chance = random.Random(7)
    for _ in range(300):
        data = b"".join(chance.sample(PIECES, k=5)) + b"x"
        whole = strokes(data)
        places = sorted(chance.sample(range(len(data)), k=min(6, len(data))))
        chunks = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
        assert strokes(*chunks) == whole, chunks


def test_bytes_without_any_sense_never_raise_and_keep_nothing_open() -> None:
    chance = random.Random(11)
    for _ in range(500):
        answers: list[bytes] = []
        keys = KeyFilter(answers.append)
        for _ in range(4):
            keys.feed(bytes(chance.choices(b"\x1b\x1b\x1b[[]O?;:<~uMcR$ya1\x07\x18\r\xc3\xa4\xff", k=9)))
        keys.flush()
        assert keys.feed(b"ok") == [KeyStroke("o"), KeyStroke("k")]


def pasted(*chunks: bytes) -> list[KeyStroke]:
    return strokes(*chunks)[0]


def test_a_paste_is_one_stroke_with_newlines_of_ours() -> None:
    assert pasted(b"\x1b[200~a\r\nb\rc\nd\x1b[201~") == [KeyStroke(PASTE, "a\nb\nc\nd")]


def test_what_is_behind_the_end_of_a_paste_in_a_paste_does_not_act() -> None:
    evil = b"\x1b[200~a\x1b[201~\rrm\r\x03\x1b[201~"
    for place in range(len(evil)):
        for stroke in pasted(evil[:place], evil[place:]):
            assert stroke.name == PASTE or stroke.is_character, (place, stroke)


def test_keys_behind_a_paste_are_keys_once_nothing_more_comes() -> None:
    keys = KeyFilter()
    assert keys.feed(b"\x1b[200~a\x1b[201~b\r") == [KeyStroke(PASTE, "a"), KeyStroke("b")]
    assert keys.flush() == [KeyStroke("enter")]
    assert keys.feed(b"\r") == [KeyStroke("enter")]


def test_two_pastes_one_behind_the_other_stay_two() -> None:
    both = b"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~"
    assert pasted(both) == [KeyStroke(PASTE, "a"), KeyStroke(PASTE, "b")]


def test_a_paste_without_an_end_does_not_keep_the_keyboard() -> None:
    clock = Clock()
    keys = KeyFilter(clock=clock)
    assert keys.feed(b"\x1b[200~lost") == []
    assert keys.flush() == []
    clock.now_s = 10
    assert keys.feed(b"x\x03") == [KeyStroke(PASTE, "lost"), KeyStroke("x"), KeyStroke("c-c")]


def test_much_at_once_is_a_paste_though_the_terminal_does_not_say_so() -> None:
    assert pasted(b"line\r" * 300) == [KeyStroke(PASTE, "line\n" * 300)]


def test_every_sequence_of_prompt_toolkit_has_a_name() -> None:
    table = sequence_names()
    assert len(table) > 200
    assert not [name for name in table.values() if name.startswith("<") and "scroll" not in name]
