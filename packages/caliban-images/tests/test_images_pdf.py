"""A PDF as a model takes it: itself, some of its pages, or its text."""

from __future__ import annotations

import base64
from io import BytesIO

import media_kit
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from caliban_common.message import DocumentBlock, TextBlock
from caliban_images import MediaLimits, MediaRefused, PdfWindow, prepare_pdf

THREE = media_kit.pdf("first", "second", "third")
READS, BLIND = MediaLimits(), MediaLimits(reads_pdf=False)


def pages(block: object) -> list[str]:
    assert isinstance(block, DocumentBlock)
    reader = PdfReader(BytesIO(base64.b64decode(block.data)))
    return [page.extract_text().strip() for page in reader.pages]


def test_a_model_that_reads_pdfs_gets_the_file_as_it_is():
    prepared = prepare_pdf(THREE, READS, title="a.pdf")
    assert isinstance(prepared.block, DocumentBlock)
    assert base64.b64decode(prepared.block.data) == THREE
    assert (prepared.block.title, prepared.shown) == ("a.pdf", "pages 1-3 of 3")


@pytest.mark.parametrize(
    ("window", "texts", "shown"),
    [
        (PdfWindow(first=2), ["second", "third"], "pages 2-3 of 3"),
        (PdfWindow(first=1, count=1), ["first"], "page 1 of 3"),
        (PdfWindow(first=3, count=9), ["third"], "page 3 of 3"),
    ],
)
def test_a_part_of_it_is_a_pdf_of_its_own(window, texts, shown):
    prepared = prepare_pdf(THREE, READS, title="a.pdf", window=window)
    assert (pages(prepared.block), prepared.shown) == (texts, shown)
    read = prepare_pdf(THREE, BLIND, title="a.pdf", window=window)
    assert isinstance(read.block, TextBlock)
    assert [text in read.block.text for text in ("first", "second", "third")] == [
        text in texts for text in ("first", "second", "third")
    ]
    assert read.shown == f"the text of {shown}"


def test_pages_that_are_more_to_go_through_than_anybody_waits_for_are_left_out_by_name():
    document = media_kit.pdf("first", "x" * 7_000_000, "third")
    prepared = prepare_pdf(document, BLIND, title="a.pdf")
    assert isinstance(prepared.block, TextBlock)
    assert prepared.block.text == (
        "--- page 1 ---\nfirst\n\n[cut off here: page 2 takes too long to be read]"
    )
    last = prepare_pdf(document, BLIND, title="a.pdf", window=PdfWindow(first=3))
    assert isinstance(last.block, TextBlock) and last.block.text == "--- page 3 ---\nthird"


def test_a_page_without_text_says_so():
    prepared = prepare_pdf(media_kit.pdf(""), BLIND, title="a.pdf")
    assert isinstance(prepared.block, TextBlock) and "(no text on this page)" in prepared.block.text


@pytest.mark.parametrize(
    ("data", "limits", "words"),
    [
        (THREE[:-40], READS, "cut off"),
        (b"%PDF-1.7\nnothing at all\n%%EOF", READS, "corrupt"),
        (media_kit.pdf("x", password="p"), READS, "encrypted"),
        (b"no pdf", READS, "no PDF"),
        (THREE, MediaLimits(pdf_pages=2), "3 pages, and the model takes at most 2 pages at once"),
        (THREE, MediaLimits(pdf_bytes=100), "too large to send"),
    ],
)
def test_what_is_wrong_is_told(data, limits, words):
    with pytest.raises(MediaRefused, match=words):
        prepare_pdf(data, limits, title="a.pdf")


def test_a_page_past_the_end_is_told():
    with pytest.raises(MediaRefused, match="page 9 is past the end: the PDF has 3 pages"):
        prepare_pdf(THREE, READS, title="a.pdf", window=PdfWindow(first=9))


@given(
    edits=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=8)), min_size=1, max_size=6),
    limits=st.sampled_from([READS, BLIND]),
    first=st.integers(1, 3),
)
@settings(deadline=None, max_examples=examples(200))
def test_any_damage_gives_a_document_or_words(edits, limits, first):
    data = THREE
    for place, new in edits:
        at = 5 + int(place * (len(data) - 5))
        data = data[:at] + new + data[at + len(new) :]
    try:
        prepared = prepare_pdf(data, limits, title="a.pdf", window=PdfWindow(first=first))
    except MediaRefused as refused:
        assert refused.message
        return
    assert prepared.size_bytes >= 0 and prepared.shown
