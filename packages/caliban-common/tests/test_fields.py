"""Front matter key by key: what it gives, and what its errors say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.errors import DataError
from caliban_common.fields import HeadFields

WORD = r"[A-Za-z]\w*"


def fields(head: str, body: str = "body") -> HeadFields:
    return HeadFields("f.md", f"---\n{head}\n---\n{body}\n".encode())


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf---\r\nname: x\r\n--- \r\nbody",
        b"---\nname: x\n---\nbody\n",
        b"---\nname: x\n...\n\n\nbody\n\n",
        "---\nname: x\n---\nbody".encode("utf-16"),
        b"---\nNAME: 'x'\n---\nbody",
    ],
)
def test_a_head_is_seen_whatever_stands_around_it(data):
    read = HeadFields("f.md", data)
    assert (read.text("name", max_chars=9), read.body, read.is_whole) == ("x", "body", True)


def test_a_byte_that_is_no_text_is_replaced_and_told():
    read = HeadFields("f.md", b"---\nname: x\n---\nl\xe9ger")
    assert (read.body, read.is_whole) == ("l\ufffdger", False)


@pytest.mark.parametrize(
    ("head", "key", "value"),
    [
        ("d: Use for marketing work: writing", "d", "Use for marketing work: writing"),
        ("d: words # and a comment", "d", "words"),
        ("d: @file and *star", "d", "@file and *star"),
        ("d: |\n  one\n  two", "d", "one two"),
        ("d: a\u202eb\x07", "d", "a\ufffdb\ufffd"),
        ("d: no", "d", "no"),
        ("d:", "d", ""),
    ],
)
def test_text_is_one_line_of_what_was_meant(head, key, value):
    assert fields(head).text(key, max_chars=100) == value


@pytest.mark.parametrize(
    ("head", "read", "words"),
    [
        ("a: 1\nb: [x]", lambda f: f.text("b", max_chars=9), "f.md:3: `b` must be text"),
        ("a: 1", lambda f: f.text("b", max_chars=9, required=True), "f.md:1: `b` is missing"),
        ("a:", lambda f: f.text("a", max_chars=9, required=True), "f.md:2: `a` must not be empty"),
        ("a: " + "x" * 20, lambda f: f.text("a", max_chars=9), "f.md:2: `a` must have at most 9 characters"),
        (
            "# c\n\na: yes",
            lambda f: f.flag("a", default=False),
            "f.md:4: `a` must be true or false, not 'yes'",
        ),
        ("a: {b: c}", lambda f: f.flag("a", default=False), "f.md:2: `a` must be true or false"),
        ("a: {b: c}", lambda f: f.items("a", WORD, "words"), "f.md:2: `a` must be words"),
        ("a: [x, '-']", lambda f: f.items("a", WORD, "words"), "f.md:2: `a` must be words, not '-'"),
        ("a: x, !", lambda f: f.items("a", WORD, "words"), "f.md:2: `a` must be words, not 'x, !'"),
    ],
)
def test_an_error_says_file_line_key_and_what_was_expected(head, read, words):
    with pytest.raises(DataError) as caught:
        read(fields(head))
    assert caught.value.message.startswith(words)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "expected a line of ---"),
        (b"name: x", "expected a line of ---"),
        (b"---\nname: x", "has no end"),
        (b"---\nname: x\nname: y\n---\n", "stands twice"),
        (b"---\nkeep_it: x\nkeep-it: y\n---\n", "stands twice"),
        (b"---\nno key at all\n---\n", "no `key: value`"),
        (b"---\n\td: x\n---\n", "no `key: value`"),
        (b"---\na: " + b"[" * 50 + b"]" * 50 + b"\n---\n", "nested more than"),
        (b"---\na: " + b"x" * 70_000 + b"\n---\n", "more than 65,536 characters"),
    ],
)
def test_a_file_without_a_head_that_can_be_read_is_refused(data, words):
    with pytest.raises(DataError) as caught:
        HeadFields("f.md", data)
    assert words in caught.value.message
    assert caught.value.message.startswith("f.md:")


def test_items_are_those_of_a_list_or_of_text():
    for head in ("a: [x, y]", "a: x, y", "a: x y", "a:\n  - x\n  - y", "a: x,,y,"):
        assert fields(head).items("a", WORD, "words") == ("x", "y")
    assert fields("b: 1").items("a", WORD, "words") == ()
    assert fields("A_b: 1\nc: 2").others(("c",)) == ("a-b",)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data):
    try:
        read = HeadFields("f.md", b"---\n" + data)
        read.text("a", max_chars=9), read.flag("b", default=False), read.items("c", WORD, "words")
    except DataError as error:
        assert error.message.startswith("f.md:")
