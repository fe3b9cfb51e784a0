"""Files of output styles: what is read of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_output_styles import OutputStyle, StyleRefused, builtin_styles, make_styles, read_style

PATH = Path("output-styles/x.md")


def read(head: str, body: str = "body") -> OutputStyle:
    return read_style(PATH, f"---\n{head}\n---\n{body}\n".encode(), "user")


@pytest.mark.parametrize("spelling", ["keep_coding_instructions", "keep-coding-instructions"])
def test_a_style_is_read_in_both_spellings(spelling):
    assert read(f"name: x\ndescription: d\n{spelling}: false") == OutputStyle(
        name="x", description="d", scope="user", body="body", path=PATH, keeps_coding=False
    )
    assert read("name: x\ndescription: d").keeps_coding


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("description: d", ":1: `name` is missing"),
        ("name: x", ":1: `description` is missing"),
        ("name: y\ndescription: d", ":2: `name` must be the name of the file, 'x', not 'y'"),
        ("name: ../x\ndescription: d", ":2: `name` must be letters"),
        (
            "name: x\ndescription: d\nkeep_coding_instructions: maybe",
            ":4: `keep-coding-instructions` must be true",
        ),
    ],
)
def test_what_is_no_style_is_refused_with_file_line_and_key(head, words):
    with pytest.raises(StyleRefused) as caught:
        read(head)
    assert caught.value.message.startswith(f"{PATH}{words}")


def test_what_only_plugins_may_do_is_noted():
    (note,) = read("name: x\ndescription: d\nforce_for_plugin: true").notes
    assert "force-for-plugin" in note


def test_the_first_of_a_name_counts_and_the_built_in_ones_have_words():
    mine = read("name: x\ndescription: d")
    styles = make_styles([mine, OutputStyle(name="x", description="other"), *builtin_styles()])
    assert styles.find("x") is mine and styles.find("X") is mine
    assert [style.description for style in styles.shadowed] == ["other"]
    assert [bool(style.block()) for style in builtin_styles()] == [False, True, True, True]


@given(st.binary(max_size=300))
def test_any_bytes_are_a_style_or_refused(data):
    try:
        assert read_style(PATH, b"---\nname: x\ndescription: d\n" + data, "user").name == "x"
    except StyleRefused as error:
        assert str(PATH) in error.message
