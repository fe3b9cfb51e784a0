"""Secrets taken out of text: in every form, at every cut, and for nothing where there are none."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.mask import MASK, Masker
from caliban_common.masked import masked_data, masked_message, masked_output
from caliban_common.message import ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.tool import ToolOutput

SECRET = 'sk-Zq3/8+"\\é_wT5vLr0KcXn2BhYp9MdGf7JsAe4Ui6Ow1'
secrets = st.text(st.characters(codec="utf-8"), min_size=16, max_size=150).filter(
    lambda text: not text.isspace()
)
around = st.text(st.characters(codec="utf-8"), max_size=30)


def test_every_form_of_a_secret_is_masked():
    data = SECRET.encode()
    written = [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower().replace(quote(SECRET, safe="").lower(), quote(SECRET, safe="")),
        data.hex(),
        data.hex().upper(),
    ]
    masker = Masker([SECRET])
    assert [masker.text(f"<{text}>") for text in written] == [f"<{MASK}>"] * len(written)


@pytest.mark.parametrize("encode", [base64.encodebytes, base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "x" * 40, "y" * 57])
@pytest.mark.parametrize("after", ["", "\n", "zz"])
def test_base64_is_masked_wherever_the_secret_begins_and_the_lines_break(encode, before, after):
    text = encode((before + SECRET + after).encode()).decode()
    shown = Masker([SECRET]).text(text)
    assert MASK in shown
    assert len(shown.replace(MASK, "")) <= len(encode((before + after).encode())) + 8


@pytest.mark.parametrize("cut", range(20, len(SECRET)))
def test_a_cut_leaves_no_long_piece_of_a_secret(cut):
    masker = Masker([SECRET])
    assert masker.text(f"head {SECRET[:cut]}") == f"head {MASK}"
    assert masker.text(f"{SECRET[-cut:]} tail") == f"{MASK} tail"


@given(st.lists(secrets, min_size=1, max_size=3), st.data())
def test_a_text_in_pieces_is_masked_as_the_whole_and_keeps_the_rest(values, data):
    masker = Masker(values)
    parts = data.draw(st.lists(st.one_of(around, st.sampled_from(values)), max_size=6))
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    edges = [0, *cuts, len(text)]
    stream = masker.stream()
    shown = "".join(stream.feed(text[a:b]) for a, b in pairwise(edges)) + stream.end()
    assert not any(value in shown and value not in MASK for value in values)
    if masker.text(text) == text:
        assert shown == text


@given(around, secrets)
def test_a_text_without_a_secret_is_the_same_object(text, value):
    if value[:8] not in text:
        assert Masker([value]).text(text) is text or Masker([value]).holds(text)


def test_what_is_a_word_is_no_secret():
    masker = Masker(["", "none", "test-key", "lm-studio", "abc123", " " * 20])
    assert (bool(masker), masker.text("none test-key lm-studio abc123")) == (
        False,
        "none test-key lm-studio abc123",
    )
    assert Masker(["hunter42"]).text("a hunter42 b") == f"a {MASK} b"


def test_a_secret_that_comes_later_is_masked_from_then_on():
    masker = Masker()
    stream = masker.stream()
    masker.add(SECRET)
    assert stream.feed(SECRET[:10]) + stream.feed(SECRET[10:]) + stream.end() == MASK
    assert (masker.knows(SECRET), masker.knows("x"), repr(masker)) == (True, False, "Masker(1 values)")


def test_a_secret_across_two_blocks_is_masked():
    blocks = (
        TextBlock(text="a " + SECRET[:9]),
        ImageBlock.of("image/png", "eA=="),
        TextBlock(text=SECRET[9:]),
    )
    output = masked_output(ToolOutput(content=blocks, details={"n": 1}), Masker([SECRET]))
    assert output.text == f"a {MASK}"
    assert output.content[1] is blocks[1]


def test_a_message_is_masked_where_it_holds_text_and_stays_itself_otherwise():
    masker = Masker([SECRET])
    clean = Message(role="user", content=(TextBlock(text="x"), ToolResultBlock(tool_use_id="1", content=())))
    assert masked_message(clean, masker) is clean
    dirty = Message(
        role="assistant",
        content=(
            ToolUseBlock(id="1", name="Bash", input={"command": [SECRET, 1]}, raw_input=f"{{{SECRET}"),
            ToolResultBlock(tool_use_id="1", content=(TextBlock(text=SECRET),)),
        ),
        id="m",
    )
    assert masked_message(dirty, masker) == Message(
        role="assistant",
        content=(
            ToolUseBlock(id="1", name="Bash", input={"command": [MASK, 1]}, raw_input=f"{{{MASK}"),
            ToolResultBlock(tool_use_id="1", content=(TextBlock(text=MASK),)),
        ),
        id="m",
    )
    assert masked_data({"a": ({"b": SECRET},), "c": None}, masker) == {"a": ({"b": MASK},), "c": None}
