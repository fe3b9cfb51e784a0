"""Words broken into lines: the quick road gives what the other one does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.line import text_of
from caliban_tui.markdown import words
from caliban_tui.markdown.words import WordSpan, wrapped
from caliban_tui.width import line_cells

STYLES = st.sampled_from(("", "bold", "code"))
SPANS = st.lists(
    st.builds(
        WordSpan,
        st.text(alphabet="abc ", max_size=9),
        STYLES,
        st.sampled_from(("", "https://example.org")),
        st.booleans(),
    ),
    max_size=6,
)


@given(spans=SPANS, columns=st.integers(1, 24), hard=st.booleans())
def test_a_simple_row_is_broken_as_any_other(spans: list[WordSpan], columns: int, hard: bool) -> None:
    for row in words._rows(spans):
        if words._is_simple(row, columns):
            assert words._simple_lines(row, columns) == list(words._lines(row, columns, hard=hard))


@given(
    spans=st.lists(st.builds(WordSpan, st.text(alphabet="ab \né界", max_size=9), STYLES), max_size=6),
    columns=st.integers(2, 24),
)
def test_no_word_is_lost_and_no_line_is_too_wide(spans: list[WordSpan], columns: int) -> None:
    lines = wrapped(spans, columns, hard=True)
    assert all(line_cells(line) <= columns for line in lines)
    text = "".join(span.text for span in spans)
    assert "".join(map(text_of, lines)).replace(" ", "") == text.replace(" ", "").replace("\n", "")


def test_a_blank_between_words_of_one_style_has_it_too() -> None:
    (line,) = wrapped([WordSpan("a "), WordSpan("bold move", "bold"), WordSpan(" b")], 80)
    assert [(segment.text, segment.style) for segment in line] == [
        ("a ", ""),
        ("bold move", "bold"),
        (" b", ""),
    ]
