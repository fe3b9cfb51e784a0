"""Links by name, footnotes, quotes within quotes and tasks in a reply's Markdown, however it was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.line import text_of
from caliban_tui.markdown.references import MAX_REFERENCES, defined
from caliban_tui.markdown.splitter import LINE_CHARS, OpenReply, closed, fed
from caliban_tui.render.blocks import block_lines
from caliban_tui.transcript.blocks import ReplyBlock


def blocks(text: str, size: int = 0) -> tuple[ReplyBlock, ...]:
    reply, done = OpenReply(), []
    for place in range(0, len(text), size or len(text) or 1):
        reply, more = fed(reply, text[place : place + (size or len(text))])
        done += more
    return (*done, *closed(reply))


def drawn(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each line, and where its links lead, each place once."""
    return [
        (text_of(line), tuple(dict.fromkeys(segment.link for segment in line if segment.link)))
        for block in blocks(text)
        for line in block_lines(block, 70)
    ]


def test_a_name_that_was_given_before_leads_to_its_address_in_every_spelling() -> None:
    text = '[The  Docs]: https://e.org/a "title"\n[b]: <https://e.org/b>\n\n[x][the docs], [B][] and [b]\n'
    assert drawn(text)[-1] == (
        "x (https://e.org/a), B (https://e.org/b) and b (https://e.org/b)",
        ("https://e.org/a", "https://e.org/b"),
    )


def test_the_line_that_gives_a_name_is_seen_and_leads_there_itself() -> None:
    assert drawn("[b]: https://e.org/b") == [("", ()), ("[b]: https://e.org/b", ("https://e.org/b",))]


def test_a_name_that_is_given_later_changes_nothing_that_is_printed() -> None:
    lines = drawn("see [x][b]\n\n[b]: https://e.org/b\n")
    assert lines[1] == ("see [x][b]", ()) and lines[-1][1] == ("https://e.org/b",)
    assert drawn("see [x][b]\n[b]: https://e.org/b\n")[1] == (
        "see x (https://e.org/b)",
        ("https://e.org/b",),
    )


def test_the_first_address_of_a_name_counts_and_none_that_a_terminal_should_not_follow() -> None:
    text = "[b]: https://e.org/1\n[B]: https://e.org/2\n[c]: javascript:alert(1)\n\n[x][b] [y][c]\n"
    assert drawn(text)[-1] == ("x (https://e.org/1) y (javascript:alert(1))", ("https://e.org/1",))


def test_code_gives_no_names_and_shows_what_stands_in_it() -> None:
    text = "```\n[b]: https://e.org/b\n```\n\n    [b]: https://e.org/b\n\n- `[b]: x`\n\n[x][b]\n"
    lines = [line for line, _ in drawn(text)]
    assert lines.count("[b]: https://e.org/b") == 2 and lines[-1] == "[x][b]"
    assert not any("\\" in line for line in lines)


def test_footnotes_are_words_and_no_links() -> None:
    lines = drawn("word[^1] and [^n]\n\n[^1]: https://e.org/note\n[^n]: more\n")
    assert [line for line, _ in lines if line] == [
        "word[^1] and [^n]",
        "[^1]: https://e.org/note",
        "[^n]: more",
    ]


def test_quotes_within_quotes_have_a_bar_each() -> None:
    text = "[d]: https://e.org\n\n> a\n> > b [q][d]\n> > > c\n"
    lines = [line for line, _ in drawn(text) if line.startswith("│") and line.strip("│ ")]
    assert lines == ["│ a", "│ │ b q (https://e.org)", "│ │ │ c"]


def test_tasks_have_a_box_in_the_place_of_the_point() -> None:
    text = "- [ ] one\n- [x] *two*\n  - [X] three\n1. [ ] four\n- [five](http://x.org)\n- [ ]\n- [y] six\n"
    assert [line for line, _ in drawn(text) if line] == [
        "☐ one",
        "☑ two",
        "  ☑ three",
        "1. ☐ four",
        "• five (http://x.org)",
        "• [ ]",
        "• [y] six",
    ]


PIECES = st.sampled_from(
    [
        "[a]: http://e.org",
        "[a]",
        "[x][a]",
        "]:",
        "[",
        "[^1]: n",
        "\n",
        "\n\n",
        "```\n",
        "- [x] ",
        "> ",
        "\x1b]8;;",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 7))
def test_however_it_is_cut_the_blocks_are_the_same_and_garbage_draws_no_control(text: str, size: int) -> None:
    assert blocks(text, size) == blocks(text)
    for block in blocks(text):
        for line in block_lines(block, 30):
            assert "\x1b" not in text_of(line)
            assert all("\x1b" not in segment.link for segment in line)


@pytest.mark.parametrize("size", [0, 1000])
def test_a_line_that_is_cut_for_its_length_gives_names_alike(size: int) -> None:
    text = "x" * LINE_CHARS + "[a]: http://e.org/\n\n[q][a]\n" + "[b]: h" + "y" * 5000 + "\n\n[r][b]\n"
    assert blocks(text, size) == blocks(text)


def test_there_is_an_end_to_names_and_to_their_length() -> None:
    text = "".join(f"[n{n}]: http://e.org/{n}\n" for n in range(MAX_REFERENCES + 5))
    reply, _ = fed(OpenReply(), text)
    assert len(reply.references) == MAX_REFERENCES
    for line in (
        "[]: x",
        "[ a]: x",
        "[a]:",
        "[a]: x y",
        f"[{'a' * 300}]: x",
        f"[a]: {'x' * 3000}",
        "[a[b]]: x",
    ):
        assert defined(line) is None
