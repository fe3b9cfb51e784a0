"""What is kept of a stream: never more than its bound, and never half a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_process.output import Capture, CapturedOutput, OutputLimit


@given(st.lists(st.binary(max_size=40_000), max_size=6))
def test_what_is_kept_never_exceeds_the_bound(chunks):
    capture = Capture(OutputLimit())
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    output = capture.output
    assert output.total_bytes == len(whole) == len(output.kept) + output.omitted_bytes
    assert whole.startswith(output.head) and whole.endswith(output.tail)
    shown = output.text()
    assert len(shown) <= 30 * 1024 + 60 and "\0" not in shown
    shown.encode("utf-8")


@pytest.mark.parametrize("shift", range(8))
@pytest.mark.parametrize("char", ["é", "日", "😀"])
def test_a_cut_splits_no_character(char, shift):
    capture = Capture(OutputLimit())
    capture.feed(b"x" * shift + char.encode() * 20_000)
    shown = capture.output.text()
    assert "left out" in shown and "\ufffd" not in shown


def test_a_limit_without_a_tail_keeps_the_beginning():
    capture = Capture(OutputLimit(head_bytes=4, tail_bytes=0))
    assert [capture.feed(chunk) for chunk in (b"ab", b"cde", b"f")] == [True] * 3
    assert capture.output == CapturedOutput(head=b"abcd", total_bytes=6)


def test_a_limit_that_refuses_says_so_with_the_first_byte_too_many():
    capture = Capture(OutputLimit(head_bytes=2, tail_bytes=2, refuse=True))
    assert [capture.feed(chunk) for chunk in (b"abc", b"d", b"e")] == [True, True, False]
    assert capture.is_refused
