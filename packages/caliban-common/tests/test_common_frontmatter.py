"""Front matter as people write it, YAML or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.errors import DataError
from caliban_common.frontmatter import split_front_matter


@pytest.mark.parametrize(
    ("text", "head", "body"),
    [
        ("no front matter\n", {}, "no front matter"),
        ("---\nname: a\n---\nthe body\n", {"name": "a"}, "the body"),
        ("---\r\nname: a\r\n---\r\nthe\r\nbody\r\n", {"name": "a"}, "the\r\nbody"),
        ("---\n---\nbody", {}, "body"),
        ("---\nname: a\n---", {"name": "a"}, ""),
        ("---\nname: a\n...\nbody", {"name": "a"}, "body"),
        ("---\ntools: [Read, Grep]\n---\n", {"tools": ["Read", "Grep"]}, ""),
        ("---\ntools:\n  - Read\n  - Grep\n---\n", {"tools": ["Read", "Grep"]}, ""),
        (
            "---\nnumber: 5\nflag: no\nday: 2026-01-02\n---\n",
            {"number": "5", "flag": "no", "day": "2026-01-02"},
            "",
        ),
        ("---\ntext: |\n  one\n  two\n---\n", {"text": "one\ntwo"}, ""),
        ("---\nbody: x\n---\nan\n\n---\n\nother", {"body": "x"}, "an\n\n---\n\nother"),
        (
            "---\ndescription: Use when: it rains\nname: a\n---\n",
            {"description": "Use when: it rains", "name": "a"},
            "",
        ),
        ("---\npaths: **/*.py\n---\n", {"paths": "**/*.py"}, ""),
        ("---\nhint: [msg] [n]\nname: 'a b'\n---\n", {"hint": "[msg] [n]", "name": "a b"}, ""),
        ("---\na: b: c\n  and more\n# a remark\n\n---\n", {"a": "b: c\nand more"}, ""),
        ("---\na: !!python/object:os.system x\n---\n", {"a": "x"}, ""),
    ],
)
def test_front_matter_is_plain_data_and_the_body_is_what_follows(text: str, head: object, body: str) -> None:
    assert split_front_matter(text) == (head, body)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nname: a\n", "the front matter has no end"),
        ("---\na: b: c\n:::\n---\n", "line 3 of the front matter is no `key: value`: :::"),
        ("---\nname: a\nname: b\n---\n", "'name' stands twice in the front matter"),
        ("---\na: " + "[" * 20 + "]" * 20 + "\n---\n", "the front matter is nested more than 8 deep"),
        ("---\na: " + "x" * 70_000 + "\n---\n", "the front matter has more than 65,536 characters"),
    ],
)
def test_what_is_no_front_matter_is_said_in_words(text: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        split_front_matter(text)
    assert caught.value.message == words


def test_aliases_are_not_expanded() -> None:
    bomb = "---\na: &a [x, x]\nb: [*a, *a]\n---\n"
    assert split_front_matter(bomb) == ({"a": "&a [x, x]", "b": "[*a, *a]"}, "")


@given(st.text(alphabet="-:#[]{}&*!|>'\"%@` \n\tab0", max_size=80))
def test_whatever_stands_there_is_data_or_an_error_of_ours(text: str) -> None:
    try:
        head, body = split_front_matter(f"---\n{text}\n---\nbody")
    except DataError:
        return
    assert isinstance(head, dict) and isinstance(body, str)
    assert all(isinstance(key, str) for key in head)
