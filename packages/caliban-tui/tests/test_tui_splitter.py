"""A reply becomes the same blocks however it was cut into deltas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.markdown.splitter import (
    BLOCK_CHARS,
    FENCE_LINES,
    LINE_CHARS,
    OpenReply,
    closed,
    fed,
)
from caliban_tui.transcript.blocks import ReplyBlock

PIECES = st.sampled_from(
    [
        "word ", "**bold** ", "`code` ", "\n", "\n\n", "# ", "- ", "1. ", "2) ", "  ", "    ", "> ",
        "```", "~~~",
        "```python\n", "| a | b |\n", "|---|---|\n", "===\n", "---\n", "[x]: http://e.org\n", "\r\n", "\t",
        "<div>\n", '"""\n', "/* ", " */\n", "* * *\n", "a" * 3000, "é", "👩‍👧", "\x00", "\x1b[2J",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=60).map("".join)


def blocks_of(text: str, cuts: list[int] | None = None) -> list[ReplyBlock]:
    reply, done = OpenReply(), []
    place = 0
    for size in cuts or ():
        reply, blocks = fed(reply, text[place : place + size])
        done += blocks
        place += size
    reply, blocks = fed(reply, text[place:])
    return [*done, *blocks, *closed(reply)]


@given(TEXTS, st.lists(st.integers(1, 12), max_size=80))
def test_any_chunking_gives_the_same_blocks(text: str, cuts: list[int]):
    assert blocks_of(text, cuts) == blocks_of(text)


@given(TEXTS)
def test_no_word_is_lost_or_said_twice(text: str):
    blocks = blocks_of(text)
    markdown = "".join(block.markdown for block in blocks)
    assert "".join(markdown.split()) == "".join(text.split())
    assert [block.is_first for block in blocks] == [True, *[False] * (len(blocks) - 1)][: len(blocks)]


def markdown_of(text: str) -> list[str]:
    return [block.markdown for block in blocks_of(text)]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("# a\nb\n## c\n", ["# a", "b", "## c"]),
        ("Title\n===\nmore", ["Title\n===", "more"]),
        ("Title\n---\nmore", ["Title\n---", "more"]),
        ("a\n\n---\nb", ["a", "---", "b"]),
        ("- a\n- b\n  - c\n\n  d\n- e", ["- a", "- b\n  - c\n\n  d", "- e"]),
        ("- a\nlazy\n\nnot", ["- a\nlazy", "not"]),
        ("1. a\n```\ncode\n```\n2. b", ["1. a", "```\ncode\n```", "2. b"]),
        ("- x\n  ```\n  - y\n\n  ```\n  z\n- w", ["- x\n  ```\n  - y\n\n  ```\n  z", "- w"]),
        ("text\n- item", ["text", "- item"]),
        ("text\n2. no item", ["text\n2. no item"]),
        ("above\n| a | b |\n|---|---|\n| 1 | 2 |\n\nb", ["above", "| a | b |\n|---|---|\n| 1 | 2 |", "b"]),
        ("a | b\n--- | ---\n1 | 2", ["a | b\n--- | ---\n1 | 2"]),
        ("| a |\n|---|---|\n", ["| a |\n|---|---|"]),
        ("<div>\n| a | b |\n|---|---|\n", ["<div>", "| a | b |\n|---|---|"]),
        ("> q\nlazy\n\n> r", ["> q\nlazy", "> r"]),
        ("```py\na\n\n\nb\n```\nc", ["```py\na\n\n\nb\n```", "c"]),
        ("````\n```\n````\nx", ["````\n```\n````", "x"]),
        ("```\nnever closed", ["```\nnever closed"]),
        ("    code\n\n    more\ntext", ["    code\n\n    more", "text"]),
        ("* * *\n* a", ["* * *", "* a"]),
        ("[x]: http://e.org\n", ["[x]: http://e.org"]),
        ("<div>\n<p>\n", ["<div>\n<p>"]),
        ("\n\n", []),
        ("a\r\nb\r\n\r\nc", ["a\nb", "c"]),
    ],
)
def test_where_blocks_end(text: str, blocks: list[str]):
    assert markdown_of(text) == blocks


def test_the_items_of_an_ordered_list_are_numbered_on_and_say_how_they_stand():
    blocks = blocks_of("1. a\n1. b\n\n1. c\n\n5) d\n")
    assert [(block.ordinal, block.is_joined) for block in blocks] == [
        (1, False), (2, True), (3, False), (5, False),
    ]  # fmt: skip


def test_a_long_fence_gives_up_its_older_lines_and_never_in_the_middle_of_a_long_string():
    lines = [f"line {number}" for number in range(FENCE_LINES)]
    reply, blocks = fed(OpenReply(), "```py\n" + "\n".join(lines) + "\n")
    assert [block.markdown for block in blocks] == ["```py\n" + "\n".join(lines[: FENCE_LINES // 2])]
    reply, more = fed(reply, '"""\n' + "\n".join(lines * 2) + "\n")
    assert more and all('"""' not in block.markdown for block in more)
    assert {block.fence for block in more} == {"```py"}
    (end,) = closed(reply)
    assert end.markdown.startswith('"""') and end.fence == "```py"


def test_a_long_paragraph_gives_up_its_older_lines():
    lines = [f"line {number}" for number in range(40)]
    for sign in ("", "> "):
        blocks = blocks_of("\n".join(sign + line for line in lines))
        assert [block.markdown.count("\n") + 1 for block in blocks] == [8] * 5
        assert [block.is_joined for block in blocks] == [False, True, True, True, True]


def test_what_is_open_is_bounded_whatever_comes():
    for text in ("x" * 100_000, "- " + "  a\n" * 100_000, "> a\n" * 50_000, "```\n" + "y" * 100_000):
        reply, _ = fed(OpenReply(), text)
        assert len(reply.text) <= BLOCK_CHARS + LINE_CHARS + 1
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 50_000
    blocks = blocks_of(table)
    assert len(blocks) > 1
    assert all(block.markdown.startswith("| a | b |\n|---|---|\n| 1") for block in blocks)
